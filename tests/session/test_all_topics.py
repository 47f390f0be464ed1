"""All topics by Metadata: the broker's listing, reduced to the topics that the client may list when
the response comes."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any
from unittest.mock import Mock, patch

import pytest

from gateway.apis.topics import metadata_messages
from gateway.apis.topics.all_topics import LONG, MANY
from gateway.catalog.entities import Freeze
from gateway.catalog.freezes import Frozen
from gateway.exchanges.exchange import Refresh
from gateway.views.views import Listing, Listings
from gateway.virtual_brokers import PeerBrokers
from protocol import messages
from protocol.messages import element_class, has_field, make
from tests.session import changing
from tests.session.allowing import Allowing
from tests.session.pair import NAMESPACES, Pair, request_frame, topic_id

OWN = ["team-a..orders", "team-a..gone", "team-a..x"]
OTHERS = [f"team-b..t{number}" for number in range(MANY)]
UNKNOWN_TOPIC = 3
FREEZE = Freeze("f", "run", 9, ("team-a:orders",))


def ask(pair: Pair, version: int) -> Any:
    """The broker's request for all topics."""
    return pair.ask("Metadata", version, all_topics(version))


def all_topics(version: int) -> Any:
    cls = messages.message_class("MetadataRequest", version)
    return make(cls, {"topics": () if version == 0 else None})


def reply(version: int, *names: str, gone: tuple[str, ...] = ()) -> Any:
    cls = messages.message_class("MetadataResponse", version)
    topic = element_class(cls, "topics")
    errors = {name: 0 for name in names} | dict.fromkeys(gone, UNKNOWN_TOPIC)
    return make(
        cls,
        {
            "topics": tuple(
                make(topic, {"name": name, "error_code": code, "topic_id": topic_id(number)})
                for number, (name, code) in enumerate(errors.items(), start=500)
            )
        },
    )


def listed(response: Any) -> list[tuple[str, int]]:
    return [(topic.name, topic.error_code) for topic in response.topics]


@pytest.mark.parametrize("version", [0, 1, 3, 4, 9, 12])
def test_who_sees_few_of_many_gets_those_that_the_broker_lists(version: int) -> None:
    pair = Pair(home="team-a", topics=[*OWN, *OTHERS])
    seen = ask(pair, version)
    assert seen.topics == (() if version == 0 else None)
    there = reply(version, "team-a..orders", "team-a..x", *OTHERS)
    assert listed(pair.reply("Metadata", version, there)) == [("orders", 0), ("x", 0)]


def test_a_topic_of_any_cluster_that_is_gone_is_not_an_error() -> None:
    pair = Pair(topics=OWN)
    ask(pair, 12)
    got = pair.reply("Metadata", 12, reply(12, "team-a..x", gone=("team-a..gone",)))
    assert listed(got) == [("team-a:x", 0)]


def test_the_catalog_is_read_and_the_topics_are_not() -> None:
    """A listing of the gateway's own would cost the broker as much as the answer."""
    for version, refresh in ((12, Refresh.CATALOG), (9, Refresh.TOPICS)):
        pair = Pair(topics=OWN)
        pair.session.client_data(request_frame("Metadata", version, all_topics(version)))
        assert pair.session.waiting is refresh


def test_a_right_that_is_lost_meanwhile_counts() -> None:
    pair = changing.pair("DESCRIBE TOPIC team-a:orders", "DESCRIBE TOPIC team-a:x", topics=OWN)
    ask(pair, 12)
    pair.authorizer = Allowing(["DESCRIBE TOPIC team-a:x"])
    pair.catalog_changed()
    assert not pair.reset
    got = pair.reply("Metadata", 12, reply(12, *OWN))
    assert listed(got) == [("team-a:x", 0)]


def test_a_catalog_that_is_out_of_date_meanwhile_empties_no_listing() -> None:
    pair = Pair(topics=OWN)
    ask(pair, 12)
    pair.close_view()
    got = pair.reply("Metadata", 12, reply(12, "team-a..x", "new"))
    assert listed(got) == [("team-a:x", 0)]


def test_a_new_topic_that_a_namespace_to_come_may_own_is_not_shown() -> None:
    pair = Pair(namespaces=NAMESPACES, topics=OWN)
    ask(pair, 12)
    got = pair.reply("Metadata", 12, reply(12, "plain", "team-a..new", "unborn..x"))
    assert listed(got) == [("plain", 0), ("team-a:new", 0)]


def test_a_frozen_topic_is_listed_until_it_changes_hands() -> None:
    for api, version, asked in (("Metadata", 12, None), ("DescribeTopicPartitions", 0, [])):
        pair = Pair(topics=["team-a..orders"])
        pair.see(pair.view.successor(pair.catalog.snapshot, frozen=Frozen.of([FREEZE])))
        cls = messages.message_class(f"{api}Request", version)
        values: dict[str, object] = {"topics": asked, "response_partition_limit": 9}
        pair.ask(api, version, make(cls, {k: v for k, v in values.items() if has_field(cls, k)}))
        cls = messages.message_class(f"{api}Response", version)
        topic = make(element_class(cls, "topics"), {"name": "team-a..orders"})
        got = pair.reply(api, version, make(cls, {"topics": (topic,)}))
        assert listed(got) == [("team-a:orders", 0)]


def test_what_was_made_of_the_same_bytes_is_given_again_until_anything_changes() -> None:
    """Change everything that a response is made of, and change it back."""
    names = [f"team-a..t{number}" for number in range(LONG // 20)]
    mine = ["DESCRIBE TOPIC team-a:t7", "DESCRIBE TOPIC team-a:t8"]
    pair = changing.pair(*mine, topics=names)
    walked = Mock(wraps=metadata_messages.entries)

    def listing(*topics: str, version: int = 12) -> list[str]:
        ask(pair, version)
        return [
            name for name, _ in listed(pair.reply("Metadata", version, reply(version, *topics)))
        ]

    with patch.object(metadata_messages, "entries", walked):
        assert listing(*names) == listing(*names) == ["team-a:t7", "team-a:t8"]
        assert walked.call_count == 1
        assert listing(*names[:8], *names[9:]) == ["team-a:t7"]
        assert listing(*names) == ["team-a:t7", "team-a:t8"]
        assert listing(*names, version=9) == ["team-a:t7", "team-a:t8"]
        assert walked.call_count == 4
        pair.authorizer = Allowing(["DESCRIBE TOPIC team-a:t9"])
        pair.catalog_changed()
        assert listing(*names) == listing(*names) == ["team-a:t9"]
        assert walked.call_count == 5


def test_a_new_topic_is_not_hidden_by_what_was_made_before_it_was_known() -> None:
    names = [f"team-a..t{number}" for number in range(LONG // 20)]
    pair = Pair(namespaces=NAMESPACES, topics=names)
    for there in ([], ["plain"]):
        ask(pair, 12)
        got = listed(pair.reply("Metadata", 12, reply(12, *names, "unborn..x", "plain")))
        assert len(got) == len(names) + 1 + len(there)


def test_addresses_that_changed_meanwhile_are_in_the_response() -> None:
    names = [f"team-a..t{number}" for number in range(LONG // 20)]
    pair = Pair(topics=names)
    cls = messages.message_class("MetadataResponse", 12)
    broker = make(element_class(cls, "brokers"), {"node_id": 1, "host": "b", "port": 9})
    response = replace(reply(12, *names), brokers=(broker,))
    ports = []
    for peer in (None, PeerBrokers("other:4000", ["1-3"]), None):
        pair.session.state.addresses.hand_over(peer)
        ask(pair, 12)
        (told,) = pair.reply("Metadata", 12, response).brokers
        ports.append((told.host, told.port))
    assert ports[0] == ports[2] != ports[1]
    assert ports[1] == ("other", 4000)


def test_a_kept_response_does_not_keep_the_listing_that_it_was_made_for() -> None:
    """A listing holds the decision about each topic of the cluster: far more than the bytes that
    count for the response of a client that sees few of them."""
    names = [f"team-a..t{number}" for number in range(LONG // 20)]
    pair = changing.pair("DESCRIBE TOPIC team-a:t7", topics=names)
    ask(pair, 12)
    pair.reply("Metadata", 12, reply(12, *names))
    assert pair.worker.kept_answers.size
    made_for = id(pair.session.state.listing())
    pair.worker.listings = Listings()
    gc.collect()
    assert made_for not in {id(one) for one in gc.get_objects() if isinstance(one, Listing)}
