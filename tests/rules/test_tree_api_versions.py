"""gateway.rules.api_versions.in_tree: the versions that a node of a cluster serves for all
clusters."""

from __future__ import annotations

from typing import Any

from gateway.apis.table import APIS, DIVIDED
from gateway.rules import api_versions
from protocol import messages
from protocol.messages import made
from protocol.schema import api_key_of

METADATA, PRODUCE = api_key_of("MetadataRequest"), api_key_of("ProduceRequest")


def served(metadata: int, produce: int, level: int, epoch: int) -> Any:
    """An ApiVersionsResponse of a broker."""
    keys = [
        {"api_key": METADATA, "min_version": 0, "max_version": metadata},
        {"api_key": PRODUCE, "min_version": 3, "max_version": produce},
    ]
    feature = {"name": "metadata.version", "max_version_level": level, "min_version_level": 1}
    body = made(
        "ApiVersionsResponse",
        4,
        {"api_keys": keys, "finalized_features": [feature], "finalized_features_epoch": epoch},
    )
    return messages.parse("ApiVersionsResponse", 4, body)


OLD, NEW = served(12, 11, 21, 40), served(13, 13, 29, 7)


def told(node: Any, reach: list[Any]) -> Any:
    body = api_versions.in_tree(4, node, reach, APIS, DIVIDED)
    return messages.parse("ApiVersionsResponse", 4, body)


def highest(response: Any, key: int) -> int:
    return int(next(each.max_version for each in response.api_keys if each.api_key == key))


def test_what_every_node_answers_is_what_all_clusters_serve() -> None:
    for node in (OLD, NEW):
        assert highest(told(node, [OLD, NEW]), METADATA) == 12


def test_a_cluster_with_which_nothing_is_in_common_takes_no_api_from_all() -> None:
    """Such as a cluster whose gateway responds with arbitrary versions."""
    only = {"api_key": METADATA, "min_version": 40, "max_version": 41}
    strange = messages.parse(
        "ApiVersionsResponse", 4, made("ApiVersionsResponse", 4, {"api_keys": [only]})
    )
    assert highest(told(NEW, [NEW, strange]), METADATA) == 13


def test_what_one_node_answers_is_what_its_cluster_serves() -> None:
    assert highest(told(OLD, [OLD, NEW]), PRODUCE) == 11
    assert highest(told(NEW, [OLD, NEW]), PRODUCE) == 13


def test_finalized_features_are_the_same_on_every_node() -> None:
    for node in (OLD, NEW):
        response = told(node, [OLD, NEW])
        (feature,) = response.finalized_features
        assert (feature.max_version_level, response.finalized_features_epoch) == (21, 7)


def test_a_cluster_that_tells_no_features_leaves_none() -> None:
    ancient = messages.parse(
        "ApiVersionsResponse", 0, made("ApiVersionsResponse", 0, {"api_keys": []})
    )
    assert told(NEW, [NEW, ancient]).finalized_features == ()
