"""The versions that a node serves, and those that all serve, with ranges of Kafka 4.3.1 and
3.9.1."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.cluster.served import ServedByNode, common
from protocol import messages
from tests.cluster.answers import served

PRODUCE, METADATA, JOIN_GROUP, HEARTBEAT_848, SHARE_FETCH = 0, 3, 11, 68, 78
OF_4_3 = {PRODUCE: (3, 13), METADATA: (0, 13), JOIN_GROUP: (2, 9), SHARE_FETCH: (1, 2)}
OF_3_9 = {PRODUCE: (0, 11), METADATA: (0, 12), JOIN_GROUP: (0, 9), HEARTBEAT_848: (0, 0)}
BOTH = {PRODUCE: (3, 11), METADATA: (0, 12), JOIN_GROUP: (2, 9)}
NEW = served(OF_4_3, {"metadata.version": 29, "share.version": 1}, epoch=7)
OLD = served(OF_3_9, {"metadata.version": 21}, epoch=5)


def ranges(response: Any) -> dict[int, tuple[int, int]]:
    return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}


def levels(response: Any) -> dict[str, tuple[int, int]]:
    return {
        each.name: (each.min_version_level, each.max_version_level)
        for each in response.finalized_features
    }


@pytest.mark.parametrize("responses", [[NEW, OLD], [OLD, NEW], [OLD, NEW, OLD]])
def test_what_all_serve(responses: list[Any]) -> None:
    found = common(responses)
    assert ranges(found) == BOTH
    assert levels(found) == {"metadata.version": (21, 21)}
    assert found.finalized_features_epoch == 5
    assert [(one.name, one.max_version) for one in found.supported_features] == [
        ("metadata.version", 21)
    ]
    assert messages.write(found)


def test_what_one_serves_alone() -> None:
    assert common([NEW]) is NEW


def test_ranges_that_do_not_meet_are_no_api() -> None:
    assert ranges(common([served({METADATA: (0, 3)}), served({METADATA: (4, 9)})])) == {}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_node_from_before_features_leaves_none(version: int) -> None:
    """ApiVersions v3 came with Kafka 2.4."""
    found = common([NEW, served({METADATA: (0, 7)}, version=version)])
    assert ranges(found) == {METADATA: (0, 7)}
    assert not hasattr(found, "finalized_features")


def test_what_a_node_serves_is_that_nodes() -> None:
    nodes = ServedByNode()
    nodes.learn(1, NEW)
    nodes.learn(2, OLD)
    assert nodes.by(1).ranges == OF_4_3
    assert nodes.by(2).ranges == OF_3_9
    assert nodes.by(1).response is NEW


def test_a_node_that_was_never_met_serves_what_all_do() -> None:
    nodes = ServedByNode()
    nodes.learn(1, NEW)
    nodes.learn(2, OLD)
    assert nodes.by(3).ranges == nodes.by(None).ranges == nodes.by_all().ranges == BOTH
    assert nodes.by_all() is nodes.by_all()


def test_nothing_is_known_at_first() -> None:
    nodes = ServedByNode()
    assert nodes.by(1).response is nodes.by_all().response is None
    assert nodes.by_all().ranges == {}


def test_what_some_node_serves_counts_while_none_is_known() -> None:
    """The versions of a bootstrap server with a name of its own."""
    nodes = ServedByNode()
    nodes.learn_of_any(NEW)
    assert nodes.by(1).ranges == nodes.by_all().ranges == OF_4_3
    nodes.learn(2, OLD)
    assert nodes.by(1).ranges == nodes.by_all().ranges == OF_3_9


def test_a_node_in_doubt_counts_among_all_and_not_alone() -> None:
    nodes = ServedByNode()
    nodes.learn(1, NEW)
    nodes.learn(2, OLD)
    nodes.doubt(1)
    assert nodes.by(1).ranges == BOTH
    assert nodes.by_all().ranges == BOTH
    nodes.learn(1, OLD)
    assert nodes.by(1).ranges == nodes.by_all().ranges == OF_3_9


def test_a_node_that_is_gone_counts_no_more() -> None:
    nodes = ServedByNode()
    nodes.learn(1, NEW)
    nodes.learn(2, OLD)
    nodes.doubt(2)
    nodes.keep([1])
    assert nodes.by_all().ranges == OF_4_3
    nodes.learn(2, NEW)
    assert nodes.by(2).ranges == OF_4_3


def test_the_same_answer_again_changes_nothing() -> None:
    nodes = ServedByNode()
    nodes.learn(1, NEW)
    nodes.learn(2, OLD)
    before = nodes.by_all()
    nodes.learn(2, served(OF_3_9, {"metadata.version": 21}, epoch=5))
    assert nodes.by_all() is before


def test_one_more_node_of_a_known_version_changes_nothing() -> None:
    nodes = ServedByNode()
    nodes.learn(1, NEW)
    nodes.learn(2, OLD)
    before = nodes.by_all()
    nodes.learn(3, served(OF_3_9, {"metadata.version": 21}, epoch=5))
    assert nodes.by_all() is before
    assert nodes.by(3) is nodes.by(2)
    nodes.learn(2, NEW)
    nodes.learn(3, NEW)
    assert nodes.by_all().ranges == OF_4_3
