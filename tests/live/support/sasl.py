"""A gateway with listeners that require a login, and clients that log in."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from scramp import ScramClient

from devkit.certificates import Authority
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.auth.tokens import AUDIENCE, jwk, key_set, token
from tests.live.support import clients
from tests.live.support.clients import SECONDS
from tests.live.support.wire import ConnectionEnded, Wire

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
SCRAM = {
    "SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256,
    "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512,
}
PASSWORDS = {"alice": "wonderland", "bob": "builder"}
"""PLAIN's users; their SCRAM credentials have the same passwords."""

SHORT_SECONDS = 6
"""How long a session lasts on the listener ``short``."""


class SecuredGateway:
    """A gateway whose listeners ``sasl``, ``tls`` and ``short`` accept every mechanism.

    ``open`` requires no login. The directory has PLAIN's passwords and the issuer's public keys.
    """

    def __init__(self, brokers: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="kafka-gateway-sasl-"))
        for user, password in PASSWORDS.items():
            (self.directory / user).write_text(f"{password}\n")
        self.jwks = self.directory / "jwks.json"
        self.jwks.write_text(key_set(jwk("ES256")))
        self.authority = Authority(self.directory)
        self.process = GatewayProcess(
            brokers,
            [
                Listener("open", "asks nobody"),
                Listener("sasl", "asks everybody", security=self._security()),
                Listener("tls", "asks everybody, over TLS", security=self._tls()),
                Listener(
                    "short",
                    "asks everybody again and again",
                    security=self._security(max_reauth_seconds=float(SHORT_SECONDS)),
                ),
            ],
            ["team-a", "team-b"],
            overrides={
                "principals": {"User:alice": {"home": "team-a"}},
                "unauthenticated": {"max_seconds": 4.0, "max_connections": 50},
            },
        )

    def _security(self, **more: object) -> dict[str, Any]:
        return {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl": {
                "mechanisms": list(MECHANISMS),
                "users": {user: {"file": str(self.directory / user)} for user in PASSWORDS},
                "oauthbearer": {
                    "jwks": str(self.jwks),
                    "audience": [AUDIENCE],
                    "clock_skew_seconds": 0.0,
                },
                **more,
            },
        }

    def _tls(self) -> dict[str, Any]:
        shown = self.authority.server("gateway")
        tls = {"certificate": str(shown.certificate), "key": str(shown.key)}
        return {**self._security(), "security_protocol": "SASL_SSL", "tls": tls}

    @property
    def open(self) -> str:
        """The address of the listener without a login."""
        return self.process.bootstrap_servers("open")

    @property
    def sasl(self) -> str:
        """The address of the listener that requires a login."""
        return self.process.bootstrap_servers("sasl")

    @property
    def tls(self) -> str:
        """The address of the listener that requires a login over TLS."""
        return self.process.bootstrap_servers("tls")

    @property
    def short(self) -> str:
        """The address of the listener whose sessions last a few seconds."""
        return self.process.bootstrap_servers("short")

    def __enter__(self) -> Self:
        self.process.start()
        for user, password in PASSWORDS.items():
            for mechanism in SCRAM:
                set_password(self.open, user, password, mechanism)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.process.__exit__(kind, error, trace)
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)


def set_password(servers: str, user: str, password: str, mechanism: str = "SCRAM-SHA-256") -> None:
    """Set a user's SCRAM credential, as ``kafka-configs --entity-type users`` does."""
    info = ScramCredentialInfo(SCRAM[mechanism], 4_096)
    change = UserScramCredentialUpsertion(user, info, password.encode())
    clients.done(clients.admin(servers).alter_user_scram_credentials([change]))


def delete_user(servers: str, user: str, mechanism: str = "SCRAM-SHA-256") -> None:
    """Delete a user's SCRAM credential."""
    change = UserScramCredentialDeletion(user, SCRAM[mechanism])
    clients.done(clients.admin(servers).alter_user_scram_credentials([change]))


def settings(
    mechanism: str, user: str = "alice", password: str | None = None, **claims: Any
) -> dict[str, Any]:
    """The settings with which a confluent-kafka client logs in; ``claims`` are a token's."""
    common = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        return {**common, "oauth_cb": oauth_cb(user, **claims)}
    password = PASSWORDS[user] if password is None else password
    return {**common, "sasl.username": user, "sasl.password": password}


def oauth_cb(user: str, seconds: float = 300.0, **claims: Any) -> Any:
    """A callback that returns a fresh token each time; ``seconds`` is its lifetime."""

    def fresh(_: str) -> tuple[str, float]:
        ends = int(time.time() + seconds)
        return token(sub=user, exp=ends, **claims), float(ends)

    return fresh


def admin(servers: str, mechanism: str, user: str = "alice", **more: Any) -> AdminClient:
    """An admin client that logs in."""
    return AdminClient(clients.settings(servers) | settings(mechanism, user, **more))


def listed(client: AdminClient) -> set[str]:
    """The topics that a client lists."""
    client.poll(0)  # calls oauth_cb for a token
    return set(client.list_topics(timeout=SECONDS).topics)


def log_in(wire: Wire, mechanism: str, user: str = "alice", **claims: Any) -> Any:
    """Log in by hand; the last SaslAuthenticate response."""
    assert not wire.ask("SaslHandshake", 1, mechanism=mechanism).error_code
    return prove(wire, mechanism, user, **claims)


def prove(wire: Wire, mechanism: str, user: str = "alice", **claims: Any) -> Any:
    """The tokens of a login; the last response."""
    if mechanism == "OAUTHBEARER":
        bearer = f"n,,\x01auth=Bearer {token(sub=user, **claims)}\x01\x01"
        return wire.ask("SaslAuthenticate", 2, auth_bytes=bearer.encode())
    if mechanism == "PLAIN":
        plain = f"\0{user}\0{PASSWORDS.get(user, user)}"
        return wire.ask("SaslAuthenticate", 2, auth_bytes=plain.encode())
    client = ScramClient([mechanism], user, PASSWORDS.get(user, user))
    first = wire.ask("SaslAuthenticate", 2, auth_bytes=client.get_client_first().encode())
    client.set_server_first(first.auth_bytes.decode())
    last = wire.ask("SaslAuthenticate", 2, auth_bytes=client.get_client_final().encode())
    if not last.error_code:
        client.set_server_final(last.auth_bytes.decode())
    return last


def is_served(wire: Wire) -> bool:
    """Whether a connection gets a response that requires a login."""
    try:
        return not wire.ask("Metadata", 4, topics=[], allow_auto_topic_creation=False).topics
    except (ConnectionEnded, BrokenPipeError, ConnectionResetError):
        return False


def seconds_to_end(wire: Wire) -> float:
    """The seconds from now until the gateway closes a connection."""
    started = time.monotonic()
    wire.wait_for_end()
    return time.monotonic() - started


def count(gateway: SecuredGateway, metric: str, **labels: str) -> float:
    """The sum of a counter over the labels that are not given."""
    wanted = [f'{name}="{value}"' for name, value in labels.items()]
    return sum(
        float(line.rpartition(" ")[2])
        for line in gateway.process.metrics().splitlines()
        if line.startswith(f"kafka_gateway_{metric}{{") and all(one in line for one in wanted)
    )
