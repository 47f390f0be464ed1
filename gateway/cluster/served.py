"""The API versions and features that the brokers of a cluster serve, by node.

Brokers differ while a cluster is upgraded, node after node. Each node has its own versions; for a
node that is not known, or may be any node, the versions that *all* known nodes serve are safe.
Pure: ApiVersionsResponses in, ranges and ApiVersionsResponses out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

Ranges = Mapping[int, tuple[int, int]]
"""API key -> (lowest, highest) version."""


class Served(NamedTuple):
    """An ApiVersionsResponse, and the versions in it; ``response`` is None while nothing is
    known."""

    response: Any
    ranges: Ranges


NOTHING = Served(None, {})


class ServedByNode:
    """The versions that each node of a cluster serves, as far as it has responded.

    A node that is in doubt may have come back with another version of Kafka: its last response
    counts for the versions of all nodes, and not as its own.
    """

    def __init__(self) -> None:
        self._nodes: dict[int, Served] = {}
        self._doubted: set[int] = set()
        self._any = NOTHING
        self._all: Served | None = None

    def learn(self, node_id: int, response: Any) -> None:
        """Note a node's response to ApiVersions."""
        self._doubted.discard(node_id)
        same = (one for one in self._nodes.values() if one.response == response)
        served = next(same, None)
        if served is None or self._nodes.get(node_id, served) is not served:
            self._all = None  # a new response, or a response in the place of another
        self._nodes[node_id] = served or _served(response)

    def learn_of_any(self, response: Any) -> None:
        """Note a response to ApiVersions of an unknown node, which counts as long as no node is
        known."""
        if response is not self._any.response:
            self._any = _served(response)

    def doubt(self, node_id: int) -> None:
        """Note that a node's connection has ended: it may come back upgraded, or downgraded."""
        self._doubted.add(node_id)

    def keep(self, node_ids: Collection[int]) -> None:
        """Forget all nodes but these."""
        for gone in self._nodes.keys() - node_ids:
            del self._nodes[gone]
            self._all = None
        self._doubted.intersection_update(node_ids)

    def by_all(self) -> Served:
        """The versions that all known nodes serve; the same object until they change."""
        if not self._nodes:
            return self._any
        if self._all is None:
            # Nodes with the same response share an object, so that responses are compared, not
            # nodes.
            distinct = {id(one): one.response for one in self._nodes.values()}
            self._all = _served(common([*distinct.values()]))
        return self._all

    def by(self, node_id: int | None) -> Served:
        """The versions that a node serves; for an unknown node, or any (None), that all known nodes
        serve."""
        known = None if node_id is None else self._nodes.get(node_id)
        return self.by_all() if known is None or node_id in self._doubted else known


def common(responses: Sequence[Any]) -> Any:
    """The ApiVersionsResponse of a node that serves the versions that all of these serve, and no
    more.

    An API or supported feature has the versions that all serve, and is left out without any.
    Finalized features are the features in all responses, each at its lowest level, with the lowest
    epoch. Features are in ApiVersions from v3 on, so a node before Kafka 2.4 has no features.
    """
    least = min(responses, key=lambda one: int(one.__version__))
    others = [one for one in responses if one is not least]
    if not others:
        return least
    changes: dict[str, Any] = {
        "api_keys": _shared(least, others, "api_keys", "api_key", "min_version", "max_version")
    }
    if hasattr(least, "supported_features"):
        changes["supported_features"] = _shared(
            least, others, "supported_features", "name", "min_version", "max_version"
        )
        changes["finalized_features"] = _lowest_levels(least, others)
        epochs = (one.finalized_features_epoch for one in responses)
        changes["finalized_features_epoch"] = min(epochs)
    return replace(least, **changes)


def _shared(
    least: Any, others: Sequence[Any], array: str, key: str, lowest: str, highest: str
) -> tuple[Any, ...]:
    """The entries of an array of ranges that all have, each with the versions that all have."""
    found = [{getattr(each, key): each for each in getattr(one, array)} for one in others]
    entries = []
    for entry in getattr(least, array):
        same = [one.get(getattr(entry, key)) for one in found]
        if None in same:
            continue
        first = max(getattr(each, lowest) for each in (entry, *same))
        last = min(getattr(each, highest) for each in (entry, *same))
        if first <= last:
            entries.append(replace(entry, **{lowest: first, highest: last}))
    return tuple(entries)


def _lowest_levels(least: Any, others: Sequence[Any]) -> tuple[Any, ...]:
    found = [{each.name: each for each in one.finalized_features} for one in others]
    return tuple(
        replace(
            entry,
            max_version_level=min(each.max_version_level for each in (entry, *same)),
            min_version_level=min(each.min_version_level for each in (entry, *same)),
        )
        for entry in least.finalized_features
        if None not in (same := [one.get(entry.name) for one in found])
    )


def _served(response: Any) -> Served:
    ranges = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
    return Served(response, ranges)
