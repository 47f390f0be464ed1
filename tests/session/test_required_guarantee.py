"""Produce requests that a policy rejects for less than the guarantee that it requires."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import Alias, TopicEntry
from gateway.config.policies import PolicySettings
from gateway.exchanges.exchange import Refresh, Unanswerable
from gateway.names import LogicalName
from gateway.policies.tree import Policies
from tests.session.guarantees import (
    BOTH,
    GOOD,
    NUMBERED,
    OWN,
    PLAIN,
    STRICT,
    flows,
    pair,
    weak,
)
from tests.session.pair import Pair, request_frame
from tests.session.producing import produce, produced


def test_all_acks_are_required() -> None:
    made = pair(**STRICT)
    assert made.ask("Produce", 9, produce({"team-a:orders": [GOOD]}, acks=1)) is None
    (topic,) = made.answer("Produce", 9).responses
    (partition,) = topic.partition_responses
    assert (topic.name, partition.error_code) == ("team-a:orders", 44)
    assert "acks=all only" in partition.error_message
    counted = flows(made)
    assert counted[OWN].weak == {"acks1_refused": 1}
    assert counted[""].denials == {"producer_guarantee": 1}
    assert counted[""].errors == {44: 1}


def test_before_version_8_there_is_the_code_alone() -> None:
    made = pair(**STRICT)
    assert made.ask("Produce", 7, produce({"team-a:orders": [GOOD]}, 7, acks=1)) is None
    (topic,) = made.answer("Produce", 7).responses
    assert topic.partition_responses[0].error_code == 44


def test_by_topic_id_too() -> None:
    made = pair([OWN, "plain"], **STRICT)
    seen = made.ask("Produce", 13, produce({"1": [GOOD], "2": [GOOD]}, 13, acks=1))
    assert (seen.acks, len(seen.topic_data)) == (1, 1)
    got = made.reply("Produce", 13, produced({"2": [0]}, 13))
    codes = [topic.partition_responses[0].error_code for topic in got.responses]
    assert codes == [44, 0]
    assert "Topic 'team-a:orders'" in got.responses[0].partition_responses[0].error_message


def test_acks_0_has_no_response_to_carry_it() -> None:
    made = pair(**STRICT)
    with pytest.raises(Unanswerable, match=r"acks=0 was rejected: .*acks=all only"):
        made.send(request_frame("Produce", 9, produce({"team-a:orders": [GOOD]}, acks=0)))
    assert made.to_broker() == b""
    assert weak(made) == {OWN: {"acks0_refused": 1}}


def test_who_sees_a_topic_by_an_alias_alone_is_not_told_where_it_is() -> None:
    entry = TopicEntry(
        OWN,
        LogicalName("team-b", "secret"),
        topic_id=bytes(15) + b"\7",
        aliases=(Alias(LogicalName("team-a", "orders"), 1 << 60, None),),
    )
    policies = Policies(PolicySettings.model_validate({"namespaces": {"team-b": BOTH}}))
    made = Pair(home="team-a", topics=[OWN], entries=[entry], policies=policies)
    for version, acks in ((9, 1), (9, -1)):
        assert made.ask("Produce", version, produce({"orders": [PLAIN]}, acks=acks)) is None
        (topic,) = made.answer("Produce", version).responses
        (partition,) = topic.partition_responses
        assert (topic.name, partition.error_code) == ("orders", 44)
        assert partition.error_message.startswith("This topic ")
        assert "(policies: producer." in partition.error_message
        assert "team-b" not in partition.error_message


def test_rejected_once_however_often_it_is_decided() -> None:
    made = pair(**STRICT)
    asked = produce({"team-a:orders": [PLAIN], "nowhere:x": [GOOD]}, acks=1)
    made.session.client_data(request_frame("Produce", 9, asked))
    assert made.session.waiting is Refresh.CATALOG
    assert weak(made) == {}
    made.resume()
    assert weak(made) == {OWN: {"acks1_refused": 1, "not_idempotent_refused": 1}}


def test_idempotence_is_required_of_every_partition() -> None:
    made = pair(**NUMBERED)
    assert made.ask("Produce", 9, produce({"team-a:orders": [GOOD, PLAIN]})) is None
    (topic,) = made.answer("Produce", 9).responses
    assert [each.error_code for each in topic.partition_responses] == [44, 44]
    assert "enable.idempotence=true" in topic.partition_responses[0].error_message
    assert weak(made) == {OWN: {"not_idempotent_refused": 1}}


def test_idempotent_producers_pass() -> None:
    made = pair(**STRICT)
    assert made.ask("Produce", 9, produce({"team-a:orders": [GOOD, None, GOOD]})) is not None
    assert weak(made) == {}


def test_acks_are_raised_where_idempotence_is_required() -> None:
    made = pair(**NUMBERED)
    assert made.ask("Produce", 9, produce({"team-a:orders": [GOOD]}, acks=1)).acks == -1
