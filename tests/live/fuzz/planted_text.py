"""Requests of every API and version with text that is not UTF-8 in a single field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from protocol.schema import FieldSpec, StructSpec, message_spec
from tests.live.fuzz.requests import Request, may_be_null, values_of
from tests.live.fuzz.sides import Side
from tests.live.fuzz.values import FIRST, TIMEOUT, Ref

BAD: Final = {
    "continuation": b"\x80",
    "overlong": b"\xc0\xaf",
    "truncated": b"\xe2\x82",
    "surrogate": b"\xed\xa0\x80",
}
"""Bytes that are not UTF-8, by the kind of error."""

_STEM: Final = "qzx"
_PLACE: Final = "~"
"""A placeholder in the request for a byte that is inserted once it is written."""

_NAMED: Final = frozenset({"group", "id", "topic", "subscription", "assignment"})
"""Kinds of symbols for a lane's names."""

_EMBEDDED: Final = frozenset({"metadata", "assignment"})
"""Fields of bytes that hold names of topics (the consumer protocol)."""

_BASE: Final[Mapping[str, Any]] = {
    "CreateTopics:topics.name": Ref("temporary"),
    "DeleteTopics:topic_names": Ref("temporary"),
    "DeleteTopics:topics.name": Ref("temporary"),
    "configs.name": "retention.ms",
    "value": "86400000",
    "ListGroups:states_filter": "Empty",
    "ListGroups:types_filter": "classic",
    "SaslHandshake:mechanism": "PLAIN",
    "replica_id": -1,
    "log_start_offset": -1,
    "records": b"",
    "host": "*",
    "principal": "User:nobody",
}
"""The default value of a field, if it is not the first that the fuzz draws from."""

_UNCHANGED: Final[Mapping[str, Mapping[str, Any]]] = {
    "CreateTopics": {"validate_only": True, "timeout": TIMEOUT},
    "CreatePartitions": {"validate_only": True},
    "ConsumerGroupHeartbeat": {"topic_partitions": []},
    "AlterConfigs": {"validate_only": True},
    "IncrementalAlterConfigs": {"validate_only": True},
}
"""Values that keep a request without effect."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A ``request`` whose field at ``path`` ends in ``bad`` bytes.

    ``shown`` is the same request for the table of differences, in which text is plain unless it
    names a topic.
    """

    request: Request
    shown: Request
    path: str
    kind: str

    @property
    def bad(self) -> bytes:
        """The bytes at the end of the field."""
        return BAD[self.kind]

    def __str__(self) -> str:
        return f"{self.request.api} v{self.request.version} {self.path} ({self.kind})"


def cases(api: str, version: int) -> Iterator[Planted]:
    """A request for each field that may have text, and each way not to be UTF-8."""
    spec = message_spec(f"{api}Request", version).body
    base = {**_struct(api, spec), **_of(api, spec)}
    for path in _texts(spec):
        for kind, bad in BAD.items():
            text = _STEM + _PLACE * len(bad)
            request, shown = (
                Request(api, version, _settled(api, _planted(spec, base, path, partial(put, text))))
                for put in (_text_like, _plainly)
            )
            yield Planted(request, shown, path, kind)


class PlantingSide(Side):
    """A side that puts ``bad`` bytes into the requests that it sends."""

    bad = b""

    def written(self, body: bytes) -> bytes:
        place = (_STEM + _PLACE * len(self.bad)).encode()
        assert body.count(place) == 1, body
        return body.replace(place, _STEM.encode() + self.bad)


def _of(api: str, spec: StructSpec) -> dict[str, Any]:
    names = {field.name for field in spec.fields}
    return {k: v for k, v in _UNCHANGED.get(api, {}).items() if k in names}


def _struct(api: str, spec: StructSpec) -> dict[str, Any]:
    return {field.name: _value(api, field) for field in (*spec.fields, *spec.tagged)}


def _value(api: str, field: FieldSpec) -> Any:
    one = _one(api, field)
    return [one] if field.array else one


def _one(api: str, field: FieldSpec) -> Any:
    if field.struct is not None:
        return _struct(api, field.struct)
    end = ".".join(field.path.split(".")[-2:])
    for key in (f"{api}:{field.path}", f"{api}:{field.name}", end, field.name):
        if key in _BASE:
            return _BASE[key]
    value = values_of(api, field)[0]
    if value is None and (field.array or not may_be_null(field)):
        return b"" if field.type in ("bytes", "records") else ""
    return value


def _texts(spec: StructSpec) -> Iterator[str]:
    """The paths of fields with text, or with names among bytes."""
    for field in (*spec.fields, *spec.tagged):
        if field.struct is not None:
            yield from _texts(field.struct)
        elif field.type == "string" or (field.type == "bytes" and field.name in _EMBEDDED):
            yield field.path


def _planted(
    spec: StructSpec, values: Mapping[str, Any], path: str, text: Callable[[FieldSpec, Any], Any]
) -> dict[str, Any]:
    """The values with a new value at ``path``, which is a lane's name if the old value was."""
    planted = dict(values)
    for field in (*spec.fields, *spec.tagged):
        before = planted[field.name]
        if field.struct is not None and path.startswith(f"{field.path}."):
            inner = before[0] if field.array else before
            new: Any = _planted(field.struct, inner, path, text)
        elif field.path == path:
            old = before[0] if field.array else before
            new = text(field, old)
        else:
            continue
        planted[field.name] = [new] if field.array else new
    return planted


def _text_like(text: str, field: FieldSpec, old: Any) -> Any:
    """The text, as a lane's name if the old value is such a name."""
    if "group" in field.name or field.name.endswith("transactional_id"):
        return Ref("id", text)
    if not isinstance(old, Ref):
        return text
    if old.kind == "temporary":
        return Ref("topic", text)
    return replace(old, name=text) if old.kind in _NAMED else text


def _plainly(text: str, field: FieldSpec, old: Any) -> Any:
    return text


def _settled(api: str, values: dict[str, Any]) -> dict[str, Any]:
    """Topics by name and not by id, if a request may have both."""
    if api in ("Metadata", "DeleteTopics"):
        for topic in values.get("topics") or ():
            if "topic_id" in topic:
                topic["topic_id"] = None
    if api == "DescribeTopicPartitions" and values["cursor"]["topic_name"] == Ref("topic", FIRST):
        values["cursor"] = None
    return values
