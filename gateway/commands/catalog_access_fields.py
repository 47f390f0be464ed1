"""ACLs and SCRAM credentials as fields of a YAML file, and back: exact, and without defaults.

The salt and the keys of a credential are hexadecimal digits; they go to the secrets' file alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final, TypeVar

from gateway.acl_model import (
    MAX_ENTRIES,
    WILDCARD,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourceAcls,
    ResourcePattern,
    ResourceType,
)
from gateway.catalog.entities import ScramCredential
from gateway.commands.yaml_values import Value, required

MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")

_SECRETS: Final = ("salt", "stored_key", "server_key")

_Code = TypeVar("_Code", bound=IntEnum)


def acl_fields(acls: ResourceAcls) -> dict[str, Any]:
    """Its fields, what it is about first."""
    return {
        "type": acls.pattern.type.name,
        "pattern": acls.pattern.pattern_type.name,
        "name": acls.pattern.name,
        "entries": [_entry_fields(entry) for entry in sorted(acls.entries)],
    }


def read_acls(value: Value) -> ResourceAcls:
    """The reverse. Raises BadValue."""
    fields = value.fields("type", "pattern", "name", "entries")
    kind = _code(required(value, fields, "type"), ResourceType, above=ResourceType.ANY)
    pattern_type = _code(required(value, fields, "pattern"), PatternType, above=PatternType.MATCH)
    name = required(value, fields, "name").text()
    if not name:
        fields["name"].refuse("is empty; write a name, or '*' for all")
    entries = list(map(_entry, required(value, fields, "entries").items()))
    if not 0 < len(entries) <= MAX_ENTRIES:
        count = f"{len(entries):,}"
        fields["entries"].refuse(f"are {count}; a pattern has 1 to {MAX_ENTRIES:,}")
    return ResourceAcls(ResourcePattern(kind, pattern_type, name), frozenset(entries))


def secret_fields(credential: ScramCredential) -> dict[str, Any]:
    """All of a credential, what it is for first."""
    return {
        "user": credential.user,
        "mechanism": credential.mechanism,
        "iterations": credential.iterations,
        **{name: getattr(credential, name).hex() for name in _SECRETS},
    }


def public_fields(credential: ScramCredential) -> dict[str, Any]:
    """What anybody may read of a credential."""
    return {"iterations": credential.iterations}


def read_credential(value: Value) -> ScramCredential:
    """The reverse of :func:`secret_fields`. Raises BadValue, which never holds what was read."""
    fields = value.fields("user", "mechanism", "iterations", *_SECRETS)
    mechanism = required(value, fields, "mechanism")
    if mechanism.text() not in MECHANISMS:
        mechanism.refuse(f"is none of {', '.join(MECHANISMS)}; write one of them")
    user = required(value, fields, "user")
    if not user.text():
        user.refuse("is empty; write the user's name")
    return ScramCredential(
        user.text(),
        mechanism.text(),
        required(value, fields, "iterations").number(),
        *(_secret(value, fields, name) for name in _SECRETS),
    )


def _entry_fields(entry: AclEntry) -> dict[str, Any]:
    fields = {
        "permission": entry.permission.name,
        "operation": entry.operation.name,
        "principal": entry.principal,
    }
    return fields if entry.host == WILDCARD else {**fields, "host": entry.host}


def _entry(value: Value) -> AclEntry:
    fields = value.fields("permission", "operation", "principal", "host")
    principal = required(value, fields, "principal")
    kind, colon, name = principal.text().partition(":")
    if not (kind and colon and name):
        principal.refuse("is no principal; write it like User:alice")
    host = fields["host"].text() if "host" in fields else WILDCARD
    if not host:
        fields["host"].refuse("is empty; write an IP address, or leave it out for all")
    return AclEntry(
        principal.text(),
        host,
        _code(required(value, fields, "operation"), Operation, above=Operation.ANY),
        _code(required(value, fields, "permission"), Permission, above=Permission.ANY),
    )


def _code(value: Value, codes: type[_Code], above: _Code) -> _Code:
    """One of Kafka's names; those up to ``above`` stand in filters alone."""
    known = {code.name: code for code in codes if code > above}
    found = known.get(value.text())
    if found is None:
        value.refuse(f"is none of {', '.join(known)}; write one of them")
    return found


def _secret(value: Value, fields: Mapping[str, Value], name: str) -> bytes:
    found = required(value, fields, name)
    try:
        return bytes.fromhex(found.text())
    except ValueError:
        found.refuse("is not in hexadecimal digits; write it as kafka-gateway catalog export does")
