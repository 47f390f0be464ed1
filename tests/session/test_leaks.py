"""No flat name, foreign name or broker's address reaches a client, from any field of any API."""

from __future__ import annotations

from dataclasses import replace

import pytest

from protocol.errors import ProtocolError
from tests.session import samples
from tests.session.pair import Pair, request_frame, response_frame, topic_id

FOREIGN = "team-b..secret"
OWN = "team-a..orders"
CASES = [pytest.param(*case, id=f"{case[0]}-v{case[1]}") for case in samples.decided()]

ANSWERS_WHAT_WAS_ASKED = {
    *("Fetch", "ShareFetch"),
    *("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs"),
}
"""Their responses drop no topic: a topic that was not requested ends the connection."""


def exchanged(pair: Pair, api: str, version: int, topic: str, flat: str, number: int) -> bytes:
    """The bytes that the client gets if it requests ``topic`` and the broker's response has
    ``flat``."""
    pair.send(request_frame(api, version, samples.request(api, version, topic, topic_id(1))))
    sent = pair.to_broker()
    rejected = bool(pair.view.settings.home) and api in samples.NOT_UNDER_A_HOME
    if rejected or api in samples.MADE_HERE or (api, version) == samples.CLIENT_METRICS:
        assert not sent
        return pair.to_client()
    assert sent, "the broker was not asked"
    sent_as = int.from_bytes(sent[6:8], "big")
    reply = samples.response(api, sent_as, flat, topic_id(number), pair.view.id_prefix.decode())
    pair.session.broker_data(response_frame(api, sent_as, reply))
    return pair.to_client()


@pytest.mark.parametrize(("api", "version"), CASES)
def test_foreign_topics_of_a_response_are_not_shown(api: str, version: int) -> None:
    pair = Pair(home="team-a", topics=[OWN, FOREIGN])
    try:
        seen = exchanged(pair, api, version, "orders", FOREIGN, 2)
    except ProtocolError:
        assert api in ANSWERS_WHAT_WAS_ASKED
        seen = pair.to_client()
    assert FOREIGN.encode() not in seen
    assert b"secret" not in seen
    assert b"internal" not in seen


@pytest.mark.parametrize("spelling", ["colon", "legal"])
@pytest.mark.parametrize(("api", "version"), CASES)
def test_own_topics_are_shown_without_flat_names(api: str, version: int, spelling: str) -> None:
    home = spelling == "colon"
    pair = Pair(
        home="team-a" if home else "",
        spelling="colon" if home else "legal",
        topics=[OWN, FOREIGN],
    )
    seen = exchanged(pair, api, version, "orders" if home else OWN, OWN, 1)
    assert seen
    assert b"internal" not in seen
    if home:
        assert b"team-a" not in seen


ANSWERS_IDS = (
    *("DescribeGroups", "DeleteGroups", "ConsumerGroupDescribe", "ShareGroupDescribe"),
    *(
        "StreamsGroupDescribe",
        "OffsetFetch",
        "DescribeShareGroupOffsets",
        "DescribeTransactions",
        "FindCoordinator",
    ),
)
"""APIs whose responses name the groups or transactional ids that were requested."""


@pytest.mark.parametrize("home", ["", "team-a"])
@pytest.mark.parametrize("api", ANSWERS_IDS)
def test_ids_that_were_not_requested_end_the_connection(api: str, home: str) -> None:
    """Nobody has looked at the client's rights on them."""
    version = max(version for name, version in samples.decided() if name == api)
    pair = Pair(home=home, topics=[OWN])
    asked = samples.request(api, version, "orders" if home else OWN, topic_id(1))
    pair.send(request_frame(api, version, asked))
    assert pair.to_broker()
    reply = samples.response(
        api, version, OWN, topic_id(1), f"{pair.view.id_prefix.decode()}other-"
    )
    with pytest.raises(ProtocolError):
        pair.session.broker_data(response_frame(api, version, reply))
    assert pair.to_client() == b""


@pytest.mark.parametrize(("api", "version"), CASES)
def test_requests_carry_flat_names_alone(api: str, version: int) -> None:
    pair = Pair(topics=["team-a..orders"])
    asked = samples.request(api, version, "team-a:orders", topic_id(1))
    pair.send(request_frame(api, version, asked))
    assert b"team-a:" not in pair.to_broker()


@pytest.mark.parametrize("resource_type", [-1, 0, 1, 4, 8, 16, 32])
@pytest.mark.parametrize(("api", "version"), [("DescribeConfigs", 4), ("AlterConfigs", 2)])
def test_configs_of_what_is_no_topic_end_the_connection(
    api: str, version: int, resource_type: int
) -> None:
    """No such resource was forwarded, so no client may see the broker's name for it."""
    pair = Pair(topics=[samples.PLAIN, FOREIGN])
    asked = samples.request(api, version, samples.forwarded(api, "orders"), topic_id(1))
    pair.send(request_frame(api, version, asked))
    assert pair.to_broker()
    reply = samples.response(api, version, FOREIGN, topic_id(2), "")
    (field,) = (name for name in ("results", "responses") if hasattr(reply, name))
    odd = [replace(one, resource_type=resource_type) for one in getattr(reply, field)]
    assert odd
    frame = response_frame(api, version, replace(reply, **{field: tuple(odd)}))
    with pytest.raises(ProtocolError, match="answers for what is no topic"):
        pair.session.broker_data(frame)
    assert FOREIGN.encode() not in pair.to_client()
