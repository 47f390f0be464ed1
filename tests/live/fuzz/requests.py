"""Random well-formed requests of every served API and version, made from the schema.

Both sides of a comparison get the same requests, which depend only on the random generator: a seed
gives the same sequence again.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from protocol.schema import FieldSpec, StructSpec, message_spec
from tests.live.fuzz.values import ANY, UNKNOWN_ID, VALUES, Ref

WEIGHTS: Final[Mapping[str, int]] = {
    "Fetch": 40,
    "Produce": 15,
    "Metadata": 12,
    "ListOffsets": 12,
    "OffsetForLeaderEpoch": 8,
    "OffsetCommit": 8,
    "OffsetFetch": 8,
    "JoinGroup": 8,
    "SyncGroup": 6,
    "Heartbeat": 6,
    "InitProducerId": 6,
    "ConsumerGroupHeartbeat": 6,
}
"""How often an API is drawn; all others 3 times."""

_ELSE: Final = 3
_MOST_STEPS: Final = 14
_MOST_AT_ONCE: Final = 4

ALONE: Final = frozenset(
    {
        "CreateTopics",
        "DeleteTopics",
        "InitProducerId",
        "AddPartitionsToTxn",
        "AddOffsetsToTxn",
        "EndTxn",
        "TxnOffsetCommit",
    }
)
"""APIs whose effects are visible a moment later: nothing is pipelined with them."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request; ``values`` has a value for every field of its version."""

    api: str
    version: int
    values: Mapping[str, Any]

    @property
    def silent(self) -> bool:
        """Whether Kafka sends no response to the request."""
        return self.api == "Produce" and self.values["acks"] == 0


Burst = list[Request]
"""Requests that are sent without waiting for a response in between."""


LAST_BY_NAME: Final = 12
"""The last version of Produce that names topics (KIP-516)."""

Served = Mapping[str, tuple[int, int]]
"""The first and last version of each API that both sides serve."""


class Requests:
    """Draws requests with a random generator."""

    def __init__(self, rng: random.Random, served: Served) -> None:
        self._rng = rng
        self._served = {**served}
        # A producer with sequence numbers uses names only or ids only (docs/names.md).
        by_id = rng.random() < 0.3
        first, last = served["Produce"]
        self._served["Produce"] = (last, last) if by_id else (first, min(last, LAST_BY_NAME))

    def sequence(self) -> list[Burst]:
        """The bursts that are sent over one connection."""
        bursts: list[Burst] = [[]]
        for _ in range(self._rng.randint(1, _MOST_STEPS)):
            request = self.request()
            alone = request.api in ALONE or request.silent
            full = alone or len(bursts[-1]) >= self._rng.randint(1, _MOST_AT_ONCE)
            last = bursts[-1][-1] if bursts[-1] else None
            if full or (last and (last.api in ALONE or last.silent)):
                bursts.append([])
            bursts[-1].append(request)
        return [burst for burst in bursts if burst]

    def request(self) -> Request:
        """A random request of any API."""
        apis = sorted(self._served)
        (api,) = self._rng.choices(apis, [WEIGHTS.get(api, _ELSE) for api in apis])
        version = self._rng.randint(*self._served[api])
        spec = message_spec(f"{api}Request", version).body
        return self._tamed(Request(api, version, self._struct(api, spec)))

    def _struct(self, api: str, spec: StructSpec) -> dict[str, Any]:
        return {field.name: self._field(api, field) for field in (*spec.fields, *spec.tagged)}

    def _field(self, api: str, field: FieldSpec) -> Any:
        if not field.array:
            if field.struct is not None and field.nullable and self._rng.random() < 0.8:
                return None
            return self._one(api, field)
        if field.nullable and self._rng.random() < 0.15:
            return None
        least = int(field.name in _NEVER_EMPTY)
        count = max(self._rng.choice((0, 1, 1, 1, 1, 2, 2, 3)), least)
        drawn = {_what(item): item for item in (self._one(api, field) for _ in range(count))}
        return list(drawn.values())

    def _one(self, api: str, field: FieldSpec) -> Any:
        if field.struct is not None:
            return self._struct(api, field.struct)
        value = self._rng.choice(values_of(api, field))
        if value is None and (field.array or not may_be_null(field)):
            return b"" if field.type in ("bytes", "records") else ""
        return value

    def _tamed(self, request: Request) -> Request:
        """The request without values whose effect depends on time, each excluded for a reason."""
        values = dict(request.values)
        match request.api:
            case "AlterConfigs" | "IncrementalAlterConfigs" | "CreatePartitions":
                values["validate_only"] = True  # brokers apply changes a moment later
            case "CreateTopics" if self._rng.random() < 0.9 and "validate_only" in values:
                values["validate_only"] = True  # creating is slow
            case "Produce" if request.silent:
                # A broker applies the valid part, but the gateway closes the connection before
                # that.
                values["topic_data"] = [t for t in values["topic_data"] if _is_there(t)]
            case "JoinGroup" if values["group_id"] and not isinstance(values["member_id"], Ref):
                # A second member would make the first member rejoin, in an order that depends on
                # chance.
                values["group_id"] = Ref("fresh_group")
            case "DescribeTopicPartitions" if not values["topics"]:
                values |= {"response_partition_limit": 2_000, "cursor": None}  # others' are listed
            case "DescribeTopicPartitions" if values["cursor"]:
                values["cursor"] = {**values["cursor"], "topic_name": values["topics"][0]["name"]}
            case "DescribeLogDirs" if values["topics"] is None:
                values["topics"] = []  # deleted topics are on disk a moment longer
            case "ElectLeaders" if values["topic_partitions"] is None:
                values["topic_partitions"] = []  # all topics: each side has others, too
            case "ListConfigResources" if not values.get("resource_types", True):
                values["resource_types"] = [16]  # the same
            case "Metadata" | "DeleteTopics" if values.get("topics"):
                values["topics"] = self._by_name_or_id(request, values["topics"])
            case _:
                pass
        return replace(request, values=values)

    def _by_name_or_id(self, request: Request, topics: list[Any]) -> list[Any]:
        """All topics by name or all by id, which is how a broker reads them."""
        if "topic_id" not in topics[0]:
            return topics
        by_id = self._rng.random() < 0.4 and request.version >= _NAMED_BY_ID[request.api]
        if by_id:
            named = [{**t, "name": None, "topic_id": t["topic_id"] or UNKNOWN_ID} for t in topics]
        else:
            named = [{**t, "name": t["name"] or "missing", "topic_id": None} for t in topics]
        return list({repr(topic): topic for topic in named}.values())


_NAMED_BY_ID: Final = {"Metadata": 12, "DeleteTopics": 6}
"""The first version in which topics may be named by their ids (KIP-516)."""


def _is_there(topic: dict[str, Any]) -> bool:
    return isinstance(topic.get("name", topic.get("topic_id")), Ref)


_NEVER_EMPTY: Final = frozenset({"partitions", "partition_data", "partition_indexes"})
"""Arrays of partitions: some APIs drop a topic without partitions."""

_TOLD_APART_BY: Final = ("name", "topic", "topic_id", "index", "partition", "partition_index")


def _what(item: Any) -> str:
    """The subject of an array's item.

    If a request names a subject twice, a broker rejects it or takes the last, but the gateway
    handles the items one by one.
    """
    if not isinstance(item, dict):
        return repr(item)
    if "resource_name" in item:
        return repr((item.get("resource_type"), item["resource_name"]))
    return repr(next((item[key] for key in _TOLD_APART_BY if item.get(key) is not None), item))


def values_of(api: str, field: FieldSpec) -> list[Any]:
    """The values that a field is drawn from."""
    end = ".".join(field.path.split(".")[-2:])
    for key in (f"{api}:{field.path}", f"{api}:{field.name}", end, field.name):
        if key in VALUES:
            return VALUES[key]
    return ANY[field.type]


def may_be_null(field: FieldSpec) -> bool:
    """Whether a field that is no array has a value that kio represents as None."""
    return field.nullable or field.type == "uuid"
