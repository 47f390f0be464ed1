"""Requests and responses as another version of their API, for a volume whose brokers do not serve
the version that the client speaks.

``at_version`` translates the request, ``response_at`` its response back. What the other version of
a request cannot say is a ProtocolError, as Kafka's own clients raise UnsupportedVersionException
for what is not ignorable: a request that means something else is never sent. Of a response, what
the client's version does not have is left out, and what the broker did not say gets the default
that Kafka's schema has for it.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final

from gateway.rules.declaration import TOPIC_ID, Declaration
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import changed, element_class, has_field, make
from protocol.pausing import paced

_MANY_KEYS: Final = 4
"""The first version of FindCoordinator that asks for several keys at once (KIP-699)."""

_BY_ID: Final = 6
"""The first version of DeleteTopics that can name topics by id (KIP-516)."""

_DEFAULT_COUNTS: Final = 4
"""The first version of CreateTopics that knows the brokers' default counts (KIP-464)."""

_DEFAULT_COUNT = -1


def at_version(api: Declaration, from_version: int, to_version: int, body: bytes) -> bytes:
    """A request as another version.

    Raises ProtocolError, with a sentence, where that version cannot say the same.
    """
    if from_version == to_version:
        return body
    message = f"{api.name}Request"
    cls = messages.message_class(message, to_version)
    request = messages.parse(message, from_version, body)
    where = f"{api.name} version {from_version} to version {to_version}"
    values = _REQUESTS.get(api.name, _as_it_is)(request, from_version, to_version, where)
    return messages.write(changed(_strictly(cls, request, where, values.keys()), values))


def response_at(
    api: Declaration, from_version: int, to_version: int, body: bytes, request_body: bytes
) -> bytes:
    """A response as another version; ``request_body`` is the client's request, at ``to_version``,
    whose key an older FindCoordinator response does not repeat. Raises ProtocolError."""
    if from_version == to_version:
        return body
    name = f"{api.name}Response"
    cls = messages.message_class(name, to_version)
    response = messages.parse(name, from_version, body)
    made = _as(cls, response)
    if api.name == "FindCoordinator":
        request = messages.parse(f"{api.name}Request", to_version, request_body)
        made = _coordinators(made, response, request)
    return messages.write(made)


# -- requests that differ by more than fields ------------------------------------------------------


def _as_it_is(request: Any, before: int, after: int, where: str) -> dict[str, object]:
    return {}


def _metadata(request: Any, before: int, after: int, where: str) -> dict[str, object]:
    """The topics of a Metadata request: v0 requests all by an empty array, which later versions
    take for none."""
    if before == 0 and not request.topics:
        return {"topics": None}
    if after > 0 or request.topics:
        return {}
    if request.topics is not None:
        raise _not_expressible(where, "a request for no topics")
    return {"topics": ()}


def _find_coordinator(request: Any, before: int, after: int, where: str) -> dict[str, object]:
    if before < _MANY_KEYS <= after:
        return {"coordinator_keys": (request.key,), "key": ""}
    if before < _MANY_KEYS or after >= _MANY_KEYS:
        return {}
    if len(request.coordinator_keys) != 1:
        raise _not_expressible(where, f"{len(request.coordinator_keys)} keys in one request")
    return {"key": request.coordinator_keys[0], "coordinator_keys": ()}


def _delete_topics(request: Any, before: int, after: int, where: str) -> dict[str, object]:
    if before < _BY_ID <= after:
        return {"topics": [{"name": name} for name in request.topic_names], "topic_names": ()}
    if before < _BY_ID or after >= _BY_ID:
        return {}
    for topic in request.topics:
        if topic.topic_id is not None or topic.name is None:
            raise _not_expressible(where, f"{TOPIC_ID}={topic.topic_id}")
    return {"topic_names": [topic.name for topic in request.topics], "topics": ()}


def _create_topics(request: Any, before: int, after: int, where: str) -> dict[str, object]:
    if before < _DEFAULT_COUNTS or after >= _DEFAULT_COUNTS:
        return {}
    for topic in request.topics:
        counts = topic.num_partitions, topic.replication_factor
        if _DEFAULT_COUNT in counts and not topic.assignments:
            raise _not_expressible(where, f"the brokers' default counts for '{topic.name}'")
    return {}


_REQUESTS: Final = {
    "CreateTopics": _create_topics,
    "DeleteTopics": _delete_topics,
    "FindCoordinator": _find_coordinator,
    "Metadata": _metadata,
}


def _coordinators(made: Any, response: Any, request: Any) -> Any:
    """The one coordinator of a response, where only one of the versions has an array of them."""
    several = has_field(type(made), "coordinators")
    if several == has_field(type(response), "coordinators"):
        return made
    if several:
        (key,) = request.coordinator_keys
        one = _as(element_class(type(made), "coordinators"), response)
        return changed(made, {"coordinators": (changed(one, {"key": key}),)})
    if len(response.coordinators) != 1:
        raise ProtocolError(f"{len(response.coordinators)} coordinators answer one key")
    one = response.coordinators[0]
    names = (field.name for field in fields(one))
    return changed(made, {name: getattr(one, name) for name in names})


# -- by fields -------------------------------------------------------------------------------------


def _as(cls: type, entity: Any) -> Any:
    """A message, or a part of one, as ``cls``, the class of another version."""
    return make(cls, {name: _part(cls, name, value) for name, value in _common(cls, entity)})


def _part(cls: type, name: str, value: Any) -> Any:
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        element = element_class(cls, name)
        return tuple(_as(element, each) for each in paced(value))
    return _as(element_class(cls, name), value) if is_dataclass(value) else value


def _strictly(cls: type, entity: Any, where: str, but: Any = ()) -> Any:
    """As ``_as``, where nothing ``but`` these fields may be lost."""
    values: dict[str, Any] = {}
    for field in fields(entity):
        name, value = field.name, getattr(entity, field.name)
        if not has_field(cls, name):
            said = bool(value) if field.default is MISSING else value != field.default
            if said and name not in but:
                raise _not_expressible(where, f"{name}={value}")
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            element = element_class(cls, name)
            values[name] = tuple(_strictly(element, each, where) for each in paced(value))
        elif is_dataclass(value):
            values[name] = _strictly(element_class(cls, name), value, where)
        else:
            values[name] = value
    made = make(cls, values)
    for name, value in values.items():
        if value is None and name not in but and getattr(made, name) is not None:
            raise _not_expressible(where, f"{name}=null")
    return made


def _common(cls: type, entity: Any) -> list[tuple[str, Any]]:
    names = (field.name for field in fields(entity))
    return [(name, getattr(entity, name)) for name in names if has_field(cls, name)]


def _not_expressible(where: str, what: str) -> ProtocolError:
    return ProtocolError(
        f"{where}: that version has no way to say {what}. The cluster that this part of the "
        "request is for does not serve the client's version; upgrade it, or leave this out."
    )
