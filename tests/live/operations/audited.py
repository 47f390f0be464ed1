"""A gateway with users, ACLs and an audit log, and readers of its audit log."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.audit.cloud_events import checked
from tests.live.support import clients, java_tools

AUDIT_TOPIC = "__kafka_gateway_audit"
ADMIN, ALICE = "admin", "alice"
PASSWORDS = {ADMIN: "an-admins-password", ALICE: "the-password-of-alice"}

Event = dict[str, Any]


def gateway(
    kafka: KafkaCluster, directory: Path, *, workers: int = 1, **audit: object
) -> GatewayProcess:
    """A gateway, not started yet.

    ``admin`` is a super user, ``alice`` has the rights of ACLs.
    """
    users = {}
    for name, password in PASSWORDS.items():
        (directory / name).write_text(password)
        users[name] = {"file": str(directory / name)}
    listener = Listener(
        "clients",
        "users log in",
        list_namespaces=True,
        security={
            "security_protocol": "SASL_PLAINTEXT",
            "sasl": {"mechanisms": ["PLAIN", "SCRAM-SHA-256"], "users": users},
        },
    )
    settings = {"directory": str(directory / "audit"), "topic": AUDIT_TOPIC, **audit}
    overrides = {
        "gateway_id": "gw-1",
        "authorization": {"super.users": [f"User:{ADMIN}"]},
        "audit": settings,
        "traffic_log": {"enabled": False},
    }
    return GatewayProcess(
        kafka.bootstrap_servers, [listener], ["team-a"], workers=workers, overrides=overrides
    )


def login(user: str, password: str | None = None) -> dict[str, str | int | bool]:
    """Further settings of a client that logs in."""
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": user,
        "sasl_password": PASSWORDS[user] if password is None else password,
    }


def admin(servers: str, user: str = ADMIN) -> AdminClient:
    """An admin client of a user. Keep it, because its requests fail when it is collected."""
    return AdminClient(clients.settings(servers, client_id=f"{user}-client", **login(user)))


def command_config(directory: Path, user: str = ADMIN) -> Path:
    """The file with which Kafka's own tools log in."""
    return java_tools.login_file(directory, user, PASSWORDS[user])


def in_files(directory: Path) -> list[Event]:
    """Every event of the files, including files that are still being written."""
    events = []
    for path in sorted((directory / "audit").glob("*.jsonl*")):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        events += [checked(line) for line in whole.splitlines()]
    return events


def in_topic(kafka: KafkaCluster) -> list[tuple[bytes, dict[str, str | bytes | None], Event]]:
    """Key, headers and event of every record in the audit topic, from the broker itself."""
    client = Consumer(clients.settings(kafka.bootstrap_servers, group_id="auditor"))
    try:
        partitions = client.list_topics(AUDIT_TOPIC, clients.SECONDS).topics[AUDIT_TOPIC].partitions
        found = []
        for number in partitions:
            start, end = client.get_watermark_offsets(TopicPartition(AUDIT_TOPIC, number))
            client.assign([TopicPartition(AUDIT_TOPIC, number, start)])
            for record in clients.take(client, end - start):
                headers = record.headers() or []
                assert isinstance(headers, list)
                key, value = record.key() or b"", record.value() or b""
                found.append((key, dict(headers), checked(value)))
        return found
    finally:
        client.close()


def await_events(
    directory: Path, matching: Callable[[Event], bool], what: str, count: int = 1
) -> list[Event]:
    """The events of the files that match, once there are ``count``."""

    def found() -> list[Event] | None:
        events = [event for event in in_files(directory) if matching(event)]
        return events if len(events) >= count else None

    events = wait_until(found, what, clients.SECONDS)
    assert events is not None
    return events
