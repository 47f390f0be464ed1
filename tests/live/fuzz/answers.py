"""Responses as trees that can be compared.

Values that differ between two clusters by nature are replaced by symbols (the first session that
was given, the id of topic ``a``), and lists are in a fixed order.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tests.live.fuzz.values import assignment, subscription

MISSING: Final = "(missing)"

LEFT_OUT: Final = frozenset(
    {
        "throttle_time",  # no quotas here
        "error_message",  # the gateway has messages of its own where it decides
        "api_keys",  # the gateway serves fewer APIs (docs/apis.md)
        "supported_features",
        "finalized_features",
        "finalized_features_epoch",
        "zk_migration_ready",
        "transaction_start_time",
        "log_dir",  # directories are numbered, and hidden under a home (docs/apis.md)
        "total_bytes",
        "usable_bytes",
    }
)
"""Fields that differ between a broker and a gateway."""

_NAMED: Final = frozenset(
    {"name", "topic", "topic_name", "resource_name", "subscribed_topic_names", "key"}
)
_EMBEDDED: Final = frozenset({"metadata", "assignment", "member_metadata", "member_assignment"})
_MEMBERS: Final = frozenset({"member_id", "leader"})
_NODES: Final = frozenset(
    {
        "node_id",
        "broker_id",
        "controller_id",
        "leader_id",
        "replica_nodes",
        "replica_id",
        "replicas",
        "adding_replicas",
        "removing_replicas",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
        "preferred_read_replica",
    }
)
_NODE_BITS: Final = 16
_IDENTITY: Final = (
    "name",
    "topic",
    "topic_id",
    "topic_name",
    "group_id",
    "transactional_id",
    "key",
    "resource_type",
    "resource_name",
    "config_name",
    "member_id",
    "partition_index",
    "partition",
    "index",
    "node_id",
    "user",
)
"""Fields that identify the items of a list."""


class Symbols:
    """The names and ids that a side has for things of both sides, in a sequence of requests.

    ``prefix`` precedes the names of topics on this side. ``address`` is its broker's. ``number`` is
    its cluster's in a tree, with which node ids begin (DESIGN.md). ``left_out`` are the fields that
    are not compared.
    """

    def __init__(
        self,
        prefix: str,
        address: str,
        lane: str,
        number: int = 0,
        left_out: frozenset[str] = LEFT_OUT,
    ) -> None:
        self.left_out = left_out
        self.prefix = prefix
        self.address = address
        self.number = number
        self.lane = lane
        self.topic_ids: dict[uuid.UUID, str] = {}
        self.sessions: list[int] = []
        self.producers: list[int] = []
        self.members: list[str] = []

    def name(self, shown: str) -> str:
        """A topic's name without this side's prefix."""
        return shown.removeprefix(self.prefix) if self.prefix else shown

    def node_id(self, node_id: int | None) -> int | None:
        """A broker's id as this side's clients write it; None stands for a null array of ids."""
        if node_id is None or node_id < 0:
            return node_id
        return self.number << _NODE_BITS | node_id

    def id_of(self, name: str) -> uuid.UUID | None:
        """The newest topic id of a name."""
        return next((i for i, n in reversed(self.topic_ids.items()) if n == name), None)

    def tree(self, entity: Any) -> Any:
        """A response to be compared."""
        if not dataclasses.is_dataclass(entity):
            return self._value("", entity)
        found: dict[str, Any] = {}
        created = getattr(entity, "topic_id", None)
        name = getattr(entity, "name", None)
        if created is not None and name and created not in self.topic_ids:
            self.topic_ids[created] = self.name(name)
        for field in dataclasses.fields(entity):
            if field.name not in self.left_out:
                found[field.name] = self._value(field.name, getattr(entity, field.name))
        if "host" in found and "port" in found:
            here = f"{found.pop('host')}:{found['port']}" == self.address
            found["port"] = "the broker's" if here else found["port"]
        return found

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            items = [self._value(name, item) for item in value if not self._is_foreign(item)]
            return _joined(sorted(items, key=_identity))
        if dataclasses.is_dataclass(value):
            return self.tree(value)
        if isinstance(value, uuid.UUID):
            return self.topic_ids.get(value, str(value))
        if isinstance(value, str):
            return self._text(name, value)
        if name in _NODES and self.number and isinstance(value, int) and value >= 0:
            number, node_id = divmod(value, 1 << _NODE_BITS)
            return node_id if number == self.number else f"node {node_id} of {number}"
        if name == "session_id":
            return _symbol("session", self.sessions, value) if value else 0
        if name == "producer_id":
            return _symbol("producer", self.producers, value) if value >= 0 else value
        if name in _EMBEDDED and isinstance(value, bytes):
            return self._without_prefix(value)
        return value

    def _text(self, name: str, value: str) -> str:
        if name in _NAMED:
            return self.name(value)
        if name == "error_message" and self.prefix:
            return value.replace(self.prefix, "")
        if name in _MEMBERS and value and _is_made(value):
            return _symbol("member", self.members, value)
        return "(the cluster's)" if name == "cluster_id" else value

    def _without_prefix(self, data: bytes) -> bytes:
        for name in ("a", "b"):
            own = f"{self.lane}-{name}"
            for made in (subscription, assignment):
                if data == made(self.prefix + own):
                    return made(own)
        return data

    def _is_foreign(self, item: Any) -> bool:
        """Whether an item is not this lane's: Kafka's own, or of a lane that runs at the same time.

        Or a broker of another cluster of a tree.
        """
        if not dataclasses.is_dataclass(item):
            return False
        if self.number and hasattr(item, "host") and not hasattr(item, "error_code"):
            node_id = getattr(item, "node_id", getattr(item, "broker_id", 0))
            return bool(node_id >> _NODE_BITS != self.number)
        names = (getattr(item, each, None) for each in ("name", "group_id", "transactional_id"))
        name = next(filter(None, names), None)
        if not isinstance(name, str):
            return False
        own = name.removeprefix(self.prefix).startswith(f"{self.lane}-")
        return name.startswith("__") or ("lane" in name and not own)


def _joined(items: list[Any]) -> list[Any]:
    """Merge topics, because a broker's Fetch response has a topic's errors apart from its
    records."""
    joined: list[Any] = []
    for item in items:
        last: Any = joined[-1] if joined else None
        if _has_partitions(item) and _has_partitions(last) and _identity(item) == _identity(last):
            both = [*last["partitions"], *item["partitions"]]
            last["partitions"] = sorted(both, key=_identity)
        else:
            joined.append(item)
    return joined


def _has_partitions(item: Any) -> bool:
    return isinstance(item, dict) and "partitions" in item


def _is_made(member_id: str) -> bool:
    """Whether a broker made a member's id: it ends in a UUID, or has Kafka's own form."""
    return len(member_id) >= 22


def _symbol(kind: str, known: list[Any], value: Any) -> str:
    if value not in known:
        known.append(value)
    return f"{kind} {known.index(value)}"


def _identity(item: Any) -> str:
    if isinstance(item, Mapping):
        return repr([item[key] for key in _IDENTITY if key in item])
    return repr(item)


class Leaf(NamedTuple):
    """A place in which two responses differ; ``path`` has no positions in it."""

    path: str
    expected: Any
    got: Any


def differences(expected: Any, got: Any, path: str = "") -> Iterator[Leaf]:
    """Every place in which two trees differ."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in sorted(expected.keys() | got.keys(), key=lambda key: (key != "error_code", key)):
            below = f"{path}.{key}" if path else key
            yield from differences(expected.get(key, MISSING), got.get(key, MISSING), below)
    elif isinstance(expected, list) and isinstance(got, list):
        yield from _in_lists(expected, got, path)
    elif expected != got:
        yield Leaf(path, expected, got)


def _in_lists(expected: list[Any], got: list[Any], path: str) -> Iterator[Leaf]:
    rest = [*got]
    for item in expected:
        identity = _identity(item)
        found = next((other for other in rest if _identity(other) == identity), None)
        if found is None:
            yield Leaf(f"{path}[]", item, MISSING)
            continue
        rest.remove(found)
        yield from differences(item, found, f"{path}[]")
    for item in rest:
        yield Leaf(f"{path}[]", MISSING, item)
