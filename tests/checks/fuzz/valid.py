"""Valid files to begin with: the examples of config/, a file with every key, and exports.

The files and environment variables that the examples use exist; ``check`` accepts all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from gateway.commands.catalog.file import export_text, secrets_text
from gateway.page.passwords import password_line
from tests.auth.tokens import jwk, key_set
from tests.commands.catalog_samples import sample
from tests.tls.pki import Pki

EXAMPLES: Final = Path(__file__).parents[3] / "config"
ENVIRONMENT: Final = {"BROKER_PASSWORD": "secret"}

_ABSOLUTE: Final = ("/etc/kafka-gateway", "/var/log/kafka-gateway", "./tls")

_EVERYTHING: Final = """\
gateway_id: gw
clusters:
  - name: main
    bootstrap_servers: ["127.0.0.1:9092", "[::1]:9092"]
    node_ids: ["1-3", 10]
    security:
      protocol: SASL_SSL
      tls: {ca: brokers-ca.pem, certificate: la.pem, key: la.key, verify_hostname: false}
      sasl: {mechanism: PLAIN, username: gateway, password: {file: key-password}}
namespaces: [team-a, "team-a:inner"]
workers: 2
drain_seconds: 1.5
socket.request.max.bytes: 1048576
catalog:
  max_staleness: 30
  replication_factor: 3
  key_file: keys
  security:
    protocol: SASL_PLAINTEXT
    sasl: {mechanism: SCRAM-SHA-256, username: catalog, password: {env: BROKER_PASSWORD}}
listeners:
  - name: users
    port: 9192
    broker_base_port: 9300
    advertised_host: localhost
    spelling: legal
    home: team-a
    escape: true
    list_subtree: true
    gateway_port: 9400
    max.connections: 1000
    max.connections.per.ip.overrides: {192.0.2.7: 20, "2001:DB8::7": 30}
    max.connection.creation.rate: 40
    security_protocol: SASL_PLAINTEXT
    sasl:
      mechanisms: [PLAIN, SCRAM-SHA-256, OAUTHBEARER]
      users: {alice: {file: key-password}, bob: {env: BROKER_PASSWORD}}
      oauthbearer:
        jwks: https://localhost/keys.json
        audience: [kafka]
        principal_claim: email
        required_claims: {scope: kafka}
        clock_skew_seconds: 5
        refresh_seconds: 60
authorization:
  authorizer.class.name: tests.acls.custom.ListAuthorizer
  super.users: ["User:root"]
  configs: {url: "http://localhost", list: [1, 2.5, true, null], map: {a: b}}
unauthenticated: {max_bytes: 4096, max_seconds: 5, max_share_per_ip: 0.25}
principals: {"User:carol": {home: team-a}}
policies:
  everywhere: {create.topic.policy.class.name: "tests.policies.classes:Obliging"}
  namespaces: {team-a: {max_topics: 5, name_pattern: "[a-z]+"}}
metrics:
  port: 9405
  max_namespaces: 5
  auth: {passwords: passwords, token: {file: token}}
traffic_log: {directory: log/traffic, topic: __kafka_gateway_traffic, window_seconds: 2}
audit: {directory: log/audit, max_file_bytes: 5000, max_files: 3, max_queued_events: 100}
"""

_NAMESPACES: Final = """\
format: 1
catalog_format: 1
only: namespaces
below: org
namespaces:
  org: {configs: {retention.ms: '1'}}
  org:apache:
acls:
- type: TOPIC
  pattern: LITERAL
  name: 'org:'
  entries: [{permission: ALLOW, operation: READ, principal: User:alice}]
policies:
  org: {max_topics: 5, name_pattern: "[a-z]+"}
"""


class Sample(NamedTuple):
    """A valid file: the command that reads it, its name, and its content."""

    reader: str
    name: str
    content: Any


def samples() -> list[Sample]:
    """Every valid file. ``reader`` is ``config``, ``export`` or ``secrets``."""
    found = []
    for path in sorted(EXAMPLES.glob("*.yaml")):
        text = path.read_text()
        for directory in _ABSOLUTE:
            text = text.replace(directory, ".")
        found.append(Sample("config", path.name, unshared(yaml.safe_load(text))))
    found.append(Sample("config", "everything.yaml", yaml.safe_load(_EVERYTHING)))
    found.append(Sample("export", "catalog.yaml", yaml.safe_load(export_text(sample()))))
    found.append(Sample("export", "namespaces.yaml", yaml.safe_load(_NAMESPACES)))
    found.append(Sample("secrets", "secrets.yaml", yaml.safe_load(secrets_text(sample()))))
    return found


def unshared(value: Any) -> Any:
    """A copy without shared values, as aliases make them."""
    if isinstance(value, dict):
        return {key: unshared(inner) for key, inner in value.items()}
    return [unshared(inner) for inner in value] if isinstance(value, list) else value


def write_files(directory: Path) -> None:
    """Write the files that valid files name, by paths that are relative to the directory."""
    pki = Pki(directory / "pki")
    hosts = ("kafka.example", "*.kafka.example", "127.0.0.1", "localhost")
    server = pki.ours.server("kafka.example", hosts)
    authority = pki.ours.file.read_text()
    files: Mapping[str, str] = {
        **dict.fromkeys(("brokers-ca.pem", "services-ca.pem", "gateways-ca.pem"), authority),
        "kafka.example.pem": server.certificate.read_text(),
        "kafka.example.key": _encrypted(server.key.read_bytes(), "open sesame"),
        "key-password": "open sesame\n",
        "jwks.json": key_set(jwk("ES256")),
        "keys": f"k1 {'11' * 32}\n",
        "passwords": f"{password_line('alice', 'correct horse')}\n",
        "token": "0123456789abcdef\n",
    }
    for name, text in files.items():
        (directory / name).write_text(text)
    for gateway in ("root", "la", "la-tracking"):
        own = pki.ours.peer(gateway)
        (directory / f"{gateway}.pem").write_bytes(own.certificate.read_bytes())
        (directory / f"{gateway}.key").write_bytes(own.key.read_bytes())


def _encrypted(key: bytes, password: str) -> str:
    made = load_pem_private_key(key, None)
    encryption = BestAvailableEncryption(password.encode())
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()
