"""If a member of a KIP-848 group may no longer describe one of its topics, and the names that its
expression matches change, the heartbeat names no topic, because KafkaApis authorizes only the names
of a request; so the member goes on, without the topic."""

from __future__ import annotations

from tests.session.allowing import Allowing
from tests.session.pair import Pair, topic_id
from tests.session.test_heartbeat import accept, ask

RIGHTS = [
    "READ GROUP app",
    "DESCRIBE TOPIC team-a:orders",
    "DESCRIBE TOPIC team-a:new",
    "DESCRIBE TOPIC team-b:x",
]


def test_a_new_match_beside_a_name_that_was_revoked() -> None:
    pair = Pair(topics=["team-a..orders", "team-b..x"], authorizer=Allowing(RIGHTS))
    ask(pair, 0, "team-a:.*", subscribed_topic_names=("team-b:x",))
    accept(pair)
    pair.authorizer = Allowing(RIGHTS[:3])
    pair.catalog_changed()
    pair.facts.index.learn(b"team-a..new", topic_id(9).bytes)
    assert ask(pair, 1).subscribed_topic_names == ("team-a..new", "team-a..orders")
    accept(pair)
    assert ask(pair, 1).subscribed_topic_names is None
