"""The audit log's events as CloudEvents 1.0 in JSON (gateway/audit/fields.py)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeAlias

from gateway.audit.catalog_changes import CatalogChange
from gateway.audit.fields import (
    CONTENT_TYPE,
    MAX_CLAIMED,
    SCHEMA_VERSION,
    SPEC_VERSION,
    TYPES,
    Kind,
)
from gateway.flows import Denial, FlowSource
from protocol.schema import api_name, error_name

# CloudEvents: no control characters, surrogates or noncharacters in an attribute.
_NOT_IN_ATTRIBUTES: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]"
)


@dataclass(frozen=True, slots=True)
class AuthenticationFailure:
    """A client did not prove its identity. ``principal`` is its connection's principal until
    then."""

    listener: str
    address: str
    mechanism: str
    user: str | None
    reason: str
    principal: str


@dataclass(frozen=True, slots=True)
class Revocation:
    """A connection was closed because its client's right to be there has ended."""

    source: FlowSource
    reason: str


Happening: TypeAlias = Denial | AuthenticationFailure | Revocation | CatalogChange


KIND_OF: Final[Mapping[type[Happening], Kind]] = {
    Denial: "denied",
    AuthenticationFailure: "failed",
    Revocation: "revoked",
    CatalogChange: "changed",
}


class AuditEvent(NamedTuple):
    """An event with its id, and its ``time`` in seconds since 1970."""

    id: str
    time: float
    what: Happening


def cloud_event(source: str, event: AuditEvent) -> dict[str, Any]:
    """The whole event, in the order of :data:`ATTRIBUTES`. ``source`` is a URI reference."""
    subject, data = _content(event.what)
    moment = datetime.fromtimestamp(event.time, UTC)
    return {
        "specversion": SPEC_VERSION,
        "id": event.id,
        "source": source,
        "type": TYPES[KIND_OF[type(event.what)]],
        "time": moment.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "datacontenttype": CONTENT_TYPE,
        "subject": _NOT_IN_ATTRIBUTES.sub("\ufffd", subject),
        "data": {"schema_version": SCHEMA_VERSION, **data},
    }


def encode(source: str, event: AuditEvent) -> bytes:
    """The event as JSON, without a line end; in ASCII, also for other names."""
    return json.dumps(cloud_event(source, event), separators=(",", ":")).encode()


def principal_of(event: AuditEvent) -> str:
    """The principal of an event, by which events are kept in order."""
    match event.what:
        case Denial() | Revocation():
            return event.what.source.principal
        case AuthenticationFailure():
            return event.what.principal
        case CatalogChange():
            return event.what.actor.principal


def _content(what: Happening) -> tuple[str, dict[str, Any]]:
    """The subject and the data, in the order of :data:`FIELDS`."""
    match what:
        case Denial():
            data = _denied(what)
            subject = f"{data['resource_type'] or ''} {data['resource']}".strip()
            return subject or data["api"], data
        case AuthenticationFailure():
            return what.listener, _failed(what)
        case Revocation():
            return what.source.principal, _revoked(what)
        case CatalogChange():
            return f"{what.kind} {what.resource}".strip(), _changed(what)


def _denied(denial: Denial) -> dict[str, Any]:
    resource_type, _, named = denial.named.partition(" ")
    return {
        **_client(denial.source),
        "api": api_name(denial.api_key),
        "api_version": denial.version,
        "operation": denial.operation or None,
        "resource_type": resource_type or None,
        "resource": named or denial.resource,
        "path": denial.path,
        "spelled": denial.resource,
        "rule": denial.rule,
        "because": denial.because or None,
        "error_code": denial.code,
        "error": error_name(denial.code),
        "message": denial.message,
    }


def _failed(failure: AuthenticationFailure) -> dict[str, Any]:
    user = failure.user
    return {
        "principal": failure.principal,
        "address": failure.address,
        "listener": failure.listener,
        "mechanism": failure.mechanism,
        "claimed_user": None if user is None else user[:MAX_CLAIMED],
        "reason": failure.reason,
    }


def _revoked(revocation: Revocation) -> dict[str, Any]:
    return {**_client(revocation.source), "reason": revocation.reason}


def _client(source: FlowSource) -> dict[str, Any]:
    return {
        "principal": source.principal,
        "address": source.client_address,
        "listener": source.listener,
        "client_id": source.client_id,
        "software_name": source.software_name,
        "software_version": source.software_version,
        "cluster": source.place.cluster,
    }


def _changed(change: CatalogChange) -> dict[str, Any]:
    actor = change.actor
    return {
        "principal": actor.principal,
        "address": actor.address,
        "listener": actor.listener,
        "client_id": actor.client_id,
        "cluster": change.place.cluster,
        "api": actor.api,
        "resource_type": change.kind,
        "resource": change.resource,
        "path": change.path,
        "action": change.action,
        "before": change.before,
        "after": change.after,
        "catalog_version": change.version,
        "outcome": "committed" if change.certain else "unknown",
    }
