"""Translation of requests and responses to another version of their API, for a volume whose brokers
do not serve the client's version.

``at_version`` translates the request, ``response_at`` translates its response back. If the other
version cannot express the request, ``at_version`` raises ProtocolError, as Kafka clients raise
UnsupportedVersionException for a field that is not ignorable: a request with another meaning is
never sent. A response loses the fields that the client's version lacks, and a field that the
broker's version lacks gets the default of Kafka's schema.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from gateway.rules.declaration import Declaration
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import changed, element_class, has_field, make
from protocol.pausing import paced


def at_version(api: Declaration, from_version: int, to_version: int, body: bytes) -> bytes:
    """A request, translated to another version.

    Raises ProtocolError, with a sentence if that version cannot express the request.
    """
    if from_version == to_version:
        return body
    message = f"{api.name}Request"
    cls = messages.message_class(message, to_version)
    request = messages.parse(message, from_version, body)
    where = f"{api.name} version {from_version} to version {to_version}"
    values = api.translated(request, from_version, to_version, where)
    return messages.write(changed(_strictly(cls, request, where, values.keys()), values))


def response_at(
    api: Declaration, from_version: int, to_version: int, body: bytes, request_body: bytes
) -> bytes:
    """A response, translated to another version. ``request_body`` is the client's request at
    ``to_version``: an older FindCoordinator response does not repeat its key. Raises
    ProtocolError."""
    if from_version == to_version:
        return body
    name = f"{api.name}Response"
    cls = messages.message_class(name, to_version)
    response = messages.parse(name, from_version, body)
    made = as_class(cls, response)
    if api.translated_response is not None:
        request = messages.parse(f"{api.name}Request", to_version, request_body)
        made = api.translated_response(made, response, request)
    return messages.write(made)


# -- by fields -------------------------------------------------------------------------------------


def as_class(cls: type, entity: Any) -> Any:
    """A message, or a part of a message, as ``cls``, the class of another version."""
    return make(cls, {name: _part(cls, name, value) for name, value in _common(cls, entity)})


def _part(cls: type, name: str, value: Any) -> Any:
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        element = element_class(cls, name)
        return tuple(as_class(element, each) for each in paced(value))
    return as_class(element_class(cls, name), value) if is_dataclass(value) else value


def _strictly(cls: type, entity: Any, where: str, but: Any = ()) -> Any:
    """Like ``as_class``, but raises ProtocolError if a field other than ``but`` would be lost."""
    values: dict[str, Any] = {}
    for field in fields(entity):
        name, value = field.name, getattr(entity, field.name)
        if not has_field(cls, name):
            said = bool(value) if field.default is MISSING else value != field.default
            if said and name not in but:
                raise not_expressible(where, f"{name}={value}")
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
            raise not_expressible(where, f"{name}=null")
    return made


def _common(cls: type, entity: Any) -> list[tuple[str, Any]]:
    names = (field.name for field in fields(entity))
    return [(name, getattr(entity, name)) for name in names if has_field(cls, name)]


def not_expressible(where: str, what: str) -> ProtocolError:
    """The error of a request that another version cannot express."""
    return ProtocolError(
        f"{where}: that version has no way to say {what}. The cluster that this part of the "
        "request is for does not serve the client's version; upgrade it, or leave this out."
    )
