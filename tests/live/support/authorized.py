"""A gateway with ``authorization:`` and users, and the users' credentials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from devkit.broker_security import ANONYMOUS
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from gateway import acl_model as model
from tests.auth.tokens import AUDIENCE, jwk, key_set
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire

ADMIN: Final = "admin"
PASSWORDS: Final = {user: f"{user}-secret" for user in ("alice", "bob", "carol", ADMIN)}
SUPER_USERS: Final = (ANONYMOUS, f"User:{ADMIN}")
USERS_LISTENER: Final = "users"
_CONNECTIONS: Final = 8


def listener(secrets: Path, mechanisms: Sequence[str] = ("PLAIN",)) -> Listener:
    """The listener ``users``.

    PLAIN's passwords, and the keys of OAUTHBEARER's issuer, are written to ``secrets``.
    """
    users = {}
    for user, password in PASSWORDS.items():
        (secrets / user).write_text(f"{password}\n")
        users[user] = {"file": str(secrets / user)}
    sasl: dict[str, object] = {"mechanisms": list(mechanisms), "users": users}
    if "OAUTHBEARER" in mechanisms:
        keys = secrets / "jwks.json"
        keys.write_text(key_set(jwk("ES256")))
        sasl["oauthbearer"] = {"jwks": str(keys), "audience": [AUDIENCE], "clock_skew_seconds": 0.0}
    security = {"security_protocol": "SASL_PLAINTEXT", "sasl": sasl}
    return Listener(USERS_LISTENER, "users prove who they are", security=security)


def gateway(
    brokers: str,
    listener: Listener,
    namespaces: Sequence[str] = (),
    *,
    allow_everyone: bool = False,
    homes: Mapping[str, str] | None = None,
    workers: int = 1,
    more_listeners: Sequence[Listener] = (),
    **overrides: object,
) -> GatewayProcess:
    """A gateway, not started yet. ``admin`` is a super user; ``homes`` are users' homes."""
    principals = {f"User:{user}": {"home": home} for user, home in (homes or {}).items()}
    authorization = {
        "super.users": list(SUPER_USERS),
        "allow.everyone.if.no.acl.found": allow_everyone,
    }
    settings: dict[str, Any] = {
        "authorization": authorization,
        "principals": principals,
        "catalog": {"replication_factor": 1},
        **overrides,
    }
    listeners = [listener, *more_listeners]
    return GatewayProcess(brokers, listeners, namespaces, workers=workers, overrides=settings)


# -- logging in -------------------------------------------------------------------------------


def login(user: str) -> dict[str, str | int | bool]:
    """The settings with which a confluent-kafka client logs in by PLAIN."""
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": user,
        "sasl_password": PASSWORDS[user],
    }


def prove(wire: Wire, user: str) -> None:
    """Log in by hand, by PLAIN."""
    assert int(wire.ask("SaslHandshake", 1, mechanism="PLAIN").error_code) == 0
    proof = f"\0{user}\0{PASSWORDS[user]}".encode()
    answer = wire.ask("SaslAuthenticate", 2, auth_bytes=proof)
    assert int(answer.error_code) == 0, answer.error_message


def command_config(directory: Path, user: str = ADMIN) -> Path:
    """The file with which Kafka's own tools, and ours, log in."""
    return java_tools.login_file(directory, user, PASSWORDS[user])


@clients.kept(16)
def admin(servers: str, user: str = ADMIN) -> AdminClient:
    """A user's admin client, kept because its requests fail when it is collected."""
    return AdminClient(clients.settings(servers, **login(user)))


# -- ACLs -------------------------------------------------------------------------------------


def binding(acl: model.AclBinding) -> AclBinding:
    """An ACL in confluent-kafka's types, whose codes are those of the protocol."""
    pattern, entry = acl.pattern, acl.entry
    return AclBinding(
        ResourceType(int(pattern.type)),
        pattern.name,
        ResourcePatternType(int(pattern.pattern_type)),
        entry.principal,
        entry.host,
        AclOperation(int(entry.operation)),
        AclPermissionType(int(entry.permission)),
    )


def add_acls(servers: str, acls: Iterable[model.AclBinding], user: str = ADMIN) -> None:
    """Add ACLs. Raises KafkaException."""
    wanted = [binding(acl) for acl in acls]
    if wanted:
        for future in admin(servers, user).create_acls(wanted).values():
            future.result(clients.SECONDS)


def await_acls(servers: str, acls: Iterable[model.AclBinding]) -> None:
    """Wait until new connections list these ACLs.

    Enough connections that both workers almost surely have some, because the worker that adds ACLs
    responds before the others have read them.
    """
    wanted = {binding(acl) for acl in acls}
    for _ in range(_CONNECTIONS):
        client = AdminClient(clients.settings(servers, **login(ADMIN)))

        def known(client: AdminClient = client) -> bool:
            return {*client.describe_acls(_every(None)).result(clients.SECONDS)} >= wanted

        wait_until(known, f"{wanted}", clients.SECONDS)


def listed(servers: str) -> set[str]:
    """All ACLs, as ``ALLOW READ User:bob TOPIC:LITERAL:orders``."""
    found = admin(servers).describe_acls(_every(None)).result(clients.SECONDS)
    return {
        f"{one.permission_type.name} {one.operation.name} {one.principal}"
        f" {one.restype.name}:{one.resource_pattern_type.name}:{one.name}"
        for one in found
    }


def _every(user: str | None) -> AclBindingFilter:
    """The filter of all ACLs, or of all ACLs of a user."""
    return AclBindingFilter(
        ResourceType.ANY,
        None,  # type: ignore[arg-type]
        ResourcePatternType.ANY,
        None if user is None else f"User:{user}",  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def delete_acls(servers: str, user: str | None = None) -> None:
    """Delete all ACLs, or all ACLs of a user."""
    for future in admin(servers).delete_acls([_every(user)]).values():
        future.result(clients.SECONDS)


def delete_acl(servers: str, acl: model.AclBinding) -> None:
    """Delete exactly this ACL."""
    one = binding(acl)
    named = AclBindingFilter(
        one.restype,
        one.name,
        one.resource_pattern_type,
        one.principal,
        one.host,
        one.operation,
        one.permission_type,
    )
    for future in admin(servers).delete_acls([named]).values():
        assert len(future.result(clients.SECONDS)) == 1
