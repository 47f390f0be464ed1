"""TLS, SASL and Kafka's own authorizer for the brokers of a test.

The listener PLAINTEXT stays beside the others: brokers and controllers use it, as
``User:ANONYMOUS``, and so do tests that inspect the brokers directly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ANONYMOUS = "User:ANONYMOUS"
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
PROTOCOLS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")

_SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_MECHANISMS = ("PLAIN", *_SCRAM)
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}


@dataclass(frozen=True, slots=True)
class BrokerTls:
    """PEM files of the brokers, which share a certificate: its chain, its key (PKCS #8, not
    encrypted). ``client_ca`` is the authority of clients' certificates; ``client_auth`` is Kafka's
    ``ssl.client.auth``."""

    certificate: Path
    key: Path
    client_ca: Path | None = None
    client_auth: str = "none"


@dataclass(frozen=True, slots=True)
class BrokerSecurity:
    """Listeners beside PLAINTEXT, users, and their authorization.

    ``plain_users`` and ``scram_users`` map names to passwords; SCRAM users have both hashes.
    ``unsecured_oauthbearer``: tokens without a signature are accepted, like Kafka's development
    default. Without ``authorizer`` every operation is allowed; with it, ``super_users`` are allowed
    every operation, and others the operations that ACLs allow.
    """

    protocols: Sequence[str] = ("SASL_PLAINTEXT",)
    plain_users: Mapping[str, str] = field(default_factory=dict)
    scram_users: Mapping[str, str] = field(default_factory=dict)
    unsecured_oauthbearer: bool = False
    tls: BrokerTls | None = None
    authorizer: bool = False
    super_users: Sequence[str] = (ANONYMOUS,)
    allow_everyone_if_no_acl_found: bool = False

    def properties(self, directory: Path) -> dict[str, str]:
        """The broker settings; a PEM key store is written to ``directory``."""
        settings: dict[str, str] = {}
        if self.authorizer:
            settings["authorizer.class.name"] = STANDARD_AUTHORIZER
            settings["super.users"] = ";".join(self.super_users)
            allowed = str(self.allow_everyone_if_no_acl_found).lower()
            settings["allow.everyone.if.no.acl.found"] = allowed
        if self.tls is not None:
            settings |= _tls_properties(self.tls, directory)
        mechanisms = [*_MECHANISMS, *(["OAUTHBEARER"] if self.unsecured_oauthbearer else [])]
        for protocol in self.protocols:
            if protocol.startswith("SASL_"):
                prefix = f"listener.name.{protocol.lower()}"
                settings[f"{prefix}.sasl.enabled.mechanisms"] = ",".join(mechanisms)
                for mechanism in mechanisms:
                    jaas = f"{prefix}.{mechanism.lower()}.sasl.jaas.config"
                    settings[jaas] = self._jaas(mechanism)
        return settings

    def format_arguments(self) -> list[str]:
        """The storage tool's arguments that create the SCRAM users when a node is formatted."""
        return [
            f"--add-scram={mechanism}=[name={name},password={password}]"
            for name, password in self.scram_users.items()
            for mechanism in _SCRAM
        ]

    def _jaas(self, mechanism: str) -> str:
        users = self.plain_users if mechanism == "PLAIN" else {}
        options = [f'user_{name}="{password}"' for name, password in users.items()]
        return " ".join([_LOGIN_MODULES[mechanism], "required", *options]) + ";"


def jaas_config(mechanism: str, username: str, password: str) -> str:
    """The ``sasl.jaas.config`` of a Java client."""
    return f'{_LOGIN_MODULES[mechanism]} required username="{username}" password="{password}";'


def _tls_properties(tls: BrokerTls, directory: Path) -> dict[str, str]:
    # Kafka requires the key and the chain in the same file.
    store = directory / "broker.pem"
    store.write_text(tls.key.read_text() + tls.certificate.read_text())
    store.chmod(0o600)
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "ssl.client.auth": tls.client_auth,
    }
    if tls.client_ca is not None:
        settings |= {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(tls.client_ca),
        }
    return settings
