"""Sends plain Kafka and the gateway the same requests, byte by byte."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from protocol import messages
from protocol.messages import element_class, has_field
from protocol.schema import api_key_of, message_versions
from tests.live.support import clients
from tests.live.support.wire import Wire

Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Pair:
    """The same broker, directly and through a gateway without namespaces."""

    kafka: KafkaCluster
    direct: Wire
    through: Wire
    broker: str
    shown: str

    def versions(self, name: str) -> list[int]:
        """The versions of an API that both serve, and do not only reject (Produce 0 to 2)."""
        key = api_key_of(f"{name}Request")
        ranges = [
            (entry.min_version, entry.max_version)
            for wire in (self.direct, self.through)
            for entry in wire.ask("ApiVersions", 0).api_keys
            if entry.api_key == key
        ]
        (low, high), (least, most) = ranges
        both = range(max(low, least), min(high, most) + 1)
        return [version for version in message_versions(f"{name}Request") if version in both]

    def answers(self, name: str, version: int, body: bytes) -> tuple[bytes, bytes]:
        """The gateway's response, and the expected response: the broker's, with other addresses."""
        key = api_key_of(f"{name}Request")
        expected = self.readdressed(self.direct.exchange(key, version, body))
        return self.through.exchange(key, version, body), expected

    def readdressed(self, body: bytes) -> bytes:
        """A direct response with the gateway's port in place of the broker's."""
        return body.replace(_address(self.broker), _address(self.shown))


def _address(address: str) -> bytes:
    """A host and a port as encoded in a response, without the length of the host."""
    host, _, port = address.rpartition(":")
    return host.encode() + struct.pack(">i", int(port))


@dataclass(frozen=True, slots=True)
class Twins:
    """Topics and groups of two equally long names: one of each for each way to the broker."""

    pair: Pair
    stem: str

    def same(self, name: str, version: int, values: Values) -> None:
        """Send it both ways; responses may differ only in the name, and in newly created ids."""
        key = api_key_of(f"{name}Request")
        answers = []
        for side, wire in (("a", self.pair.direct), ("b", self.pair.through)):
            ids = _known_ids(wire, values, self._named(side))
            body = request_body(name, version, _renamed(values, self._named(side)), ids)
            answer = wire.exchange(key, version, body)
            answers.append(_without_new_ids(name, version, answer))
        expected = self.pair.readdressed(answers[0])
        expected = expected.replace(self._named("a").encode(), self._named("b").encode())
        assert answers[1] == expected, (
            f"{name} v{version}\n{both_responses(name, version, answers[1], expected)}"
        )

    def await_stored(self, gone: bool = False) -> None:
        """Wait until the broker lists both topics, and leads them, or lists neither."""
        both = {self._named("a"), self._named("b")}

        def done() -> bool:
            stored = self.pair.kafka.topics()
            return stored.isdisjoint(both) if gone else stored >= both

        wait_until(done, f"both of {both}", clients.SECONDS)
        if not gone:
            clients.await_led(self.pair.kafka.bootstrap_servers, *both)

    def _named(self, side: str) -> str:
        return f"{self.stem}-twin-{side}"


TWIN = "(twin)"
"""A placeholder for the name of the topic, or the group."""


def _renamed(values: Any, name: str) -> Any:
    """``values`` with the name of either twin."""
    if isinstance(values, str):
        return values.replace(TWIN, name)
    if isinstance(values, Mapping):
        return {key: _renamed(value, name) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return type(values)(_renamed(value, name) for value in values)
    return values


def request_body(name: str, version: int, values: Values, ids: Mapping[str, uuid.UUID]) -> bytes:
    """A request; ``values`` may have fields that this version lacks."""
    cls = messages.message_class(f"{name}Request", version)
    return messages.write(_fitted(cls, values, ids))


def _fitted(cls: type, values: Values, ids: Mapping[str, uuid.UUID]) -> Any:
    fitting: dict[str, object] = {}
    for field, value in values.items():
        if not has_field(cls, field):
            continue
        if field == "topic_id" and isinstance(value, str):
            value = ids[value]
        elif isinstance(value, list):
            part = element_class(cls, field)
            value = tuple(_fitted(part, item, ids) for item in value)
        elif isinstance(value, dict):
            value = _fitted(element_class(cls, field), value, ids)
        fitting[field] = value
    return messages.build(cls, **fitting)


def _known_ids(wire: Wire, values: Any, name: str) -> dict[str, uuid.UUID]:
    """The topic id of a twin, if the request may name it."""
    return {name: id_of(wire, name)} if "'topic_id'" in repr(values) else {}


def id_of(wire: Wire, topic: str) -> uuid.UUID:
    """A topic's id, as a side returns it."""
    (found,) = wire.ask("Metadata", 12, topics=[{"name": topic}]).topics
    assert int(found.error_code) == 0
    topic_id: uuid.UUID = found.topic_id
    return topic_id


def _without_new_ids(name: str, version: int, answer: bytes) -> bytes:
    """A response with zeros for the ids that the broker has just created."""
    parsed = response(name, version, answer)
    for part in (parsed, *getattr(parsed, "groups", ())):
        for topic in (*getattr(part, "topics", ()), *getattr(part, "responses", ())):
            topic_id = getattr(topic, "topic_id", None)
            if topic_id is not None:
                answer = answer.replace(topic_id.bytes, bytes(16))
    return answer


def in_order(version: int, answer: bytes) -> bytes:
    """A Metadata response with its topics sorted by name, because a broker's have no order."""
    parsed = response("Metadata", version, answer)
    topics = tuple(sorted(parsed.topics, key=lambda topic: str(topic.name)))
    return messages.write(replace(parsed, topics=topics))


def response(name: str, version: int, answer: bytes) -> Any:
    """An answer as an entity."""
    return messages.parse(f"{name}Response", version, answer)


def both_responses(name: str, version: int, answer: bytes, expected: bytes) -> str:
    """Both responses, in a readable form."""
    return (
        f"{response(name, version, answer)}\nbut the broker:\n{response(name, version, expected)}"
    )


# -- a member of a group ----------------------------------------------------------------------

_TIMEOUT = timedelta(seconds=10)
_NO_USER_DATA = struct.pack(">i", -1)


def membership(
    wire: Wire, group: str, version: int, versions: Callable[[str], list[int]]
) -> list[bytes]:
    """Every response that the only member of a group gets in its life, with its id blotted out.

    ``version`` is JoinGroup's; other requests have the nearest version below it.
    """
    answers: list[bytes] = []
    member = {"group_id": group, "member_id": ""}

    def ask(name: str, **values: object) -> Any:
        at = max(v for v in versions(name) if v <= max(version, versions(name)[0]))
        body = request_body(name, at, {**member, **values}, {})
        answer = wire.exchange(api_key_of(f"{name}Request"), at, body)
        parsed = response(name, at, answer)
        member["member_id"] = getattr(parsed, "member_id", "") or member["member_id"]
        answers.append(_blotted(answer, member["member_id"]))
        return parsed

    topic = struct.pack(">hih", 0, 1, len("orders")) + b"orders"
    protocol = {"name": "range", "metadata": topic + _NO_USER_DATA}
    join = {
        "session_timeout": _TIMEOUT,
        "rebalance_timeout": _TIMEOUT,
        "protocol_type": "consumer",
        "protocols": [protocol],
    }
    joined = ask("JoinGroup", **join)
    if joined.generation_id < 0:  # from v4 on the first response assigns the id (KIP-394)
        joined = ask("JoinGroup", **join)
    assert int(joined.error_code) == 0
    generation = {"generation_id": joined.generation_id}
    assigned = topic + struct.pack(">iii", 1, 0, -1)
    assignment = {"member_id": member["member_id"], "assignment": assigned}
    ask("SyncGroup", **generation, assignments=[assignment])
    ask("Heartbeat", **generation)
    ask("LeaveGroup", members=[{"member_id": member["member_id"]}])
    ask("Heartbeat", **generation)
    return answers


def _blotted(answer: bytes, member_id: str) -> bytes:
    return answer.replace(member_id.encode(), b"?" * len(member_id)) if member_id else answer
