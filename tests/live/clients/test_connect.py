"""Kafka Connect: a worker in distributed mode, with a connector that writes to a topic."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from devkit import java
from devkit.gateway_process import GatewayProcess
from devkit.ports import free_port
from devkit.process import ManagedProcess
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools

pytestmark = pytest.mark.long("brokers")

Names = Callable[[str], str]

RECORDS: Final = 50
"""Written ten a second, so that even on a busy machine the worker reads back its first topic-status
records before it writes the last record."""
_STOP_SECONDS: Final = 120.0
_CONVERTER: Final = "org.apache.kafka.connect.storage.StringConverter"
_OPTIONS: Final = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@contextmanager
def worker(servers: str, prefix: str, directory: Path) -> Iterator[str]:
    """The REST address of a running worker, whose internal topics' names begin with ``prefix``."""
    port = free_port()
    settings = {
        "bootstrap.servers": servers,
        "group.id": "connect",
        "key.converter": _CONVERTER,
        "value.converter": _CONVERTER,
        "config.storage.topic": f"{prefix}connect-configs",
        "offset.storage.topic": f"{prefix}connect-offsets",
        "status.storage.topic": f"{prefix}connect-status",
        "config.storage.replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "plugin.discovery": "only_scan",
        "listeners": f"http://127.0.0.1:{port}",
    }
    file = directory / "connect.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    classes = java.compile_java(java_tools.SOURCES / "TickConnector.java", "mirror-maker")
    command = java.java_command(
        "org.apache.kafka.connect.cli.ConnectDistributed",
        [str(file)],
        classes=classes,
        options=_OPTIONS,
        jar_set="mirror-maker",
    )
    process = ManagedProcess("Kafka Connect", command, directory / "log")
    address = f"127.0.0.1:{port}"
    try:
        wait_until(lambda: rest(address, "/connectors") == [], "Kafka Connect", clients.SECONDS)
        yield address
        process.terminate(_STOP_SECONDS)
    finally:
        process.kill()


def rest(address: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """The response of Connect's REST interface, or None if it returns an error or no response."""
    connection = http.client.HTTPConnection(address, timeout=clients.SECONDS)
    data = None if body is None else json.dumps(body)
    method = "GET" if body is None else "POST"
    try:
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        return json.loads(text) if answer.status < 400 else None
    except (http.client.HTTPException, OSError):
        return None
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("listener", "own", "topics"),
    [
        ("home-a", "", True),
        ("legal", "team-a..", True),
        # Connect splits its keys, status-topic-TOPIC:connector-NAME, at the first colon.
        ("colon", "team-a:", False),
    ],
    ids=["home", "legal", "colon"],
)
def test_a_connector(
    gateway: GatewayProcess,
    unique: Names,
    tmp_path: Path,
    listener: str,
    own: str,
    topics: bool,
) -> None:
    servers, prefix = gateway.bootstrap_servers(listener), f"{own}{unique('c')}-"
    topic = f"{own}{unique('ticks')}"
    clients.create(servers, topic)
    with worker(servers, prefix, tmp_path) as address:
        config = {"connector.class": "TickConnector", "topic": topic, "count": str(RECORDS)}
        created = rest(address, "/connectors", {"name": "tick", "config": config})
        assert created is not None
        written = clients.consume(servers, topic, RECORDS, unique("readers"))
        assert written == [f"tick-{left}" for left in reversed(range(RECORDS))]
        if topics:
            wait_until(
                lambda: _topics(address) == [topic], "the connector's topic", clients.SECONDS
            )
        assert _topics(address) == ([topic] if topics else [])
        wait_until(lambda: _states(address) == ["RUNNING"], "the task to run", clients.SECONDS)
    kept = [
        record.key().decode()
        for record in _all(servers, f"{prefix}connect-status", unique("status"))
        if record.key().startswith(b"status-topic-")
    ]
    assert set(kept) == {f"status-topic-{topic}:connector-tick"}
    # Otherwise a status for each record until the worker has read the first status back.
    assert (len(kept) == RECORDS) is not topics


def _topics(address: str) -> Any:
    """The topics of the connector, as Connect reports them."""
    return rest(address, "/connectors/tick/topics")["tick"]["topics"]


def _states(address: str) -> list[str]:
    """The states of the connector's tasks, as far as the worker has read them back."""
    return [task["state"] for task in rest(address, "/connectors/tick/status")["tasks"]]


def _all(servers: str, topic: str, group: str) -> list[Any]:
    with clients.consumer(servers, group) as client:
        client.subscribe([topic])
        first = clients.take(client, 1)
        place = client.assignment()[0]
        end = client.get_watermark_offsets(place, timeout=clients.SECONDS)[1]
        records = list(first)
        while (records[-1].offset() or 0) < end - 1:
            records += clients.take(client, 1)
        return records
