"""A Kafka that authenticates the gateway, and clients, and has ACLs of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from devkit.broker import KafkaCluster
from devkit.broker_security import ANONYMOUS, PROTOCOLS, BrokerSecurity, BrokerTls
from devkit.certificates import Authority
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients

PASSWORDS = {
    "gateway": "gateway-secret",
    "gateway-catalog": "gateway-secret",
    "alice": "wonderland",
    "bob": "builder",
}
"""Users of PLAIN and SCRAM alike.

The gateway is a super user, the others have no rights; ``gateway-catalog`` has the same password,
so a single file has both.
"""

ANY = tuple(
    (kind, "*") for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
)
"""All resources of the types that ACLs name, except the cluster."""

_LOGIN_SECONDS = 2.0
"""How long a client tries to log in before another client does."""

LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED

_EVERY = AclBindingFilter(
    ResourceType.ANY,
    None,  # type: ignore[arg-type]
    ResourcePatternType.ANY,
    None,  # type: ignore[arg-type]
    None,  # type: ignore[arg-type]
    AclOperation.ANY,
    AclPermissionType.ANY,
)


class SecuredBrokers:
    """A broker with every protocol, where clients of PLAINTEXT are super users."""

    def __init__(
        self,
        *,
        super_users: Sequence[str] = ("User:gateway", "User:CN=gateway"),
        overrides: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="kafka-gateway-brokers-"))
        self.ca = Authority(self.directory / "ca")
        self.own = self.ca.client("gateway")
        server = self.ca.server()
        self.password = self.directory / "password"
        self.password.write_text(f"{PASSWORDS['gateway']}\n")
        security = BrokerSecurity(
            protocols=PROTOCOLS,
            plain_users=PASSWORDS,
            scram_users=PASSWORDS,
            unsecured_oauthbearer=True,
            tls=BrokerTls(server.certificate, server.key, self.ca.file, "requested"),
            authorizer=True,
            super_users=(ANONYMOUS, *super_users),
        )
        self.kafka = KafkaCluster(security=security, overrides=overrides)

    def __enter__(self) -> Self:
        self.kafka.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kafka.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def identity(self, protocol: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, Any]:
        """``clusters.security`` of a gateway that connects this way, as itself."""
        settings: dict[str, Any] = {"protocol": protocol}
        if protocol in ("SSL", "SASL_SSL"):
            settings["tls"] = {"ca": str(self.ca.file)}
        if protocol == "SSL":
            own = {"certificate": str(self.own.certificate), "key": str(self.own.key)}
            settings["tls"] |= own
        if protocol.startswith("SASL_"):
            settings["sasl"] = {
                "mechanism": mechanism,
                "username": "gateway",
                "password": {"file": str(self.password)},
            }
        return settings

    def gateway(
        self, security: dict[str, Any], listeners: Sequence[Listener] = (), **overrides: Any
    ) -> GatewayProcess:
        """A gateway that is not started yet, by default with the listener ``all``."""
        return GatewayProcess(
            self.kafka.servers(security["protocol"]),
            listeners or [Listener("all", "every namespace", list_namespaces=True)],
            ["org"],
            cluster_security=security,
            overrides=overrides,
        )

    def set_password(self, user: str, password: str) -> None:
        """Set a SCRAM-SHA-256 credential at the broker, and wait until the user can log in."""
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4_096)
        change = UserScramCredentialUpsertion(user, info, password.encode())
        admin = clients.admin(self.kafka.bootstrap_servers)
        clients.done(admin.alter_user_scram_credentials([change]))
        wait_until(lambda: self._lets_in(user, password), f"logins of {user}", clients.SECONDS)

    def _lets_in(self, user: str, password: str) -> bool:
        proof = login("SCRAM-SHA-256", user, password)
        servers = self.kafka.servers(proof["security.protocol"])
        try:
            AdminClient(clients.settings(servers, **proof)).list_topics(timeout=_LOGIN_SECONDS)
        except KafkaException:
            return False
        return True

    def allow(
        self,
        user: str,
        kind: ResourceType,
        name: str,
        *operations: AclOperation,
        pattern: ResourcePatternType = LITERAL,
    ) -> None:
        """Create ACLs at the broker, by the broker's names."""
        bindings = [
            AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
            for operation in operations
        ]
        admin = clients.admin(self.kafka.bootstrap_servers)
        made: dict[AclBinding, Future[None]] = admin.create_acls(bindings)
        for future in made.values():
            future.result(clients.SECONDS)
        # The controller responds before the broker applies them.
        wait_until(
            lambda: {*admin.describe_acls(_EVERY).result(clients.SECONDS)} >= {*bindings},
            f"the ACLs of {user} at the broker",
            clients.SECONDS,
        )


def login(
    mechanism: str, user: str, password: str | None = None, protocol: str = "SASL_PLAINTEXT"
) -> dict[str, Any]:
    """The settings with which a confluent-kafka client logs in."""
    return {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": PASSWORDS[user] if password is None else password,
    }
