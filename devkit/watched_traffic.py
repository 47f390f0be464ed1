"""Valid and invalid traffic of clients at the gateways of ``devkit.watched``."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psutil
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from devkit.gateway_config import HOST
from devkit.topics import create_topics
from devkit.waiting import wait_until
from devkit.watched import ADS, NAMESPACES, PASSWORD, SEARCH, USER, Watched

CLICKS: Final = f"{SEARCH}:clicks"
FAR: Final = f":la:{SEARCH}:far"
WEAK_CLIENT: Final = "weak-producer"
_CATALOG_TOPIC: Final = "__kafka_gateway_catalog"
_SECONDS: Final = 60.0
_PAUSE: Final = 0.3
_LARGE: Final = 4_000
_LIST_GROUPS: Final = struct.pack(">ihhih", 10, 16, 0, 1, -1)
"""A ListGroups request, version 0, without a client id."""
_CORRUPT_BATCH: Final = struct.pack(
    ">qiibIhiqqqhii", 0, 49 + 7, -1, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1
) + bytes.fromhex("0c000000010000")
"""A record batch, version 2, of a record without a key, whose CRC is 0 and so is wrong."""


@contextmanager
def traffic(watched: Watched) -> Iterator[None]:
    """Run clients that work without a pause, and events that happen once: a worker dies, a producer
    writes junk to the catalog's topic, policies are reloaded, a broker joins that has no place."""
    stopping = threading.Event()
    _prepare(watched)
    clients = [
        threading.Thread(target=_repeat, args=(stopping, work), name=work.__name__, daemon=True)
        for work in (
            _Writer(watched).turn,
            _Reader(watched).turn,
            _Offender(watched).turn,
            _Users(watched).turn,
            _Stray(watched).turn,
            _Corrupter(watched).turn,
        )
    ]
    for client in clients:
        client.start()
    try:
        _happen_once(watched)
        yield
    finally:
        stopping.set()
        for client in clients:
            client.join(2 * _SECONDS)


def _repeat(stopping: threading.Event, turn: Callable[[], None]) -> None:
    while not stopping.wait(_PAUSE):
        # Most of their requests are rejected; it only matters that the gateway counts them.
        with suppress(KafkaException, OSError):
            turn()


def _admin(servers: str, **more: Any) -> AdminClient:
    # The log level keeps errors of its connections out of this program's output.
    return AdminClient({"bootstrap.servers": servers, "log_level": 0, **more})


def _prepare(watched: Watched) -> None:
    root, la = watched.root.bootstrap_servers("root"), watched.la.bootstrap_servers("la")
    topics = [NewTopic(CLICKS, 1, config={"max.message.bytes": "1000"})]
    topics += [NewTopic(f"{name}:topic", 1) for name in NAMESPACES if name not in {SEARCH, ADS}]
    for servers, wanted in ((root, topics), (la, [NewTopic(f"{SEARCH}:far", 1)])):
        admin = _admin(servers)
        names = create_topics(admin, wanted, _SECONDS)

        def listed(admin: AdminClient = admin, names: set[str] = names) -> bool:
            return names <= set(admin.list_topics(timeout=_SECONDS).topics)

        wait_until(listed, f"the topics at {servers}", _SECONDS)


def _happen_once(watched: Watched) -> None:
    root = watched.root.process.command_pid
    (*_, worker) = psutil.Process(root).children()
    worker.kill()
    os.kill(root, signal.SIGHUP)
    junk = Producer({"bootstrap.servers": watched.root_kafka.bootstrap_servers, "log_level": 0})
    junk.produce(_CATALOG_TOPIC, b"junk", b"nothing/that-is")
    junk.flush(_SECONDS)
    watched.add_broker_outside()


class _Writer:
    """A producer with acks=1, some of whose records are too large, and an idempotent producer that
    writes to each namespace, here and at the other gateway."""

    def __init__(self, watched: Watched) -> None:
        servers = watched.root.bootstrap_servers("root")
        common = {"bootstrap.servers": servers, "log_level": 0, "linger.ms": 0}
        weak = {"acks": "1", "client.id": WEAK_CLIENT, "message.max.bytes": 10 * _LARGE}
        self._weak = Producer({**common, **weak})
        self._strong = Producer({**common, "enable.idempotence": True})

    def turn(self) -> None:
        """Write some records by each producer."""
        for size in (10, 100, _LARGE):
            self._weak.produce(CLICKS, b"x" * size)
            self._weak.flush(_SECONDS)
        for topic in (CLICKS, FAR, *(f"{name}:topic" for name in NAMESPACES[2:])):
            self._strong.produce(topic, b"x")
        self._strong.flush(1.0)


class _Reader:
    """A consumer group that reads the written records, and commits."""

    def __init__(self, watched: Watched) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": watched.root.bootstrap_servers("root"),
                "group.id": "readers",
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 500,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([CLICKS, FAR])

    def turn(self) -> None:
        """Read all records that are there now."""
        while self._consumer.poll(0.1) is not None:
            pass


class _Offender:
    """Creates topics that rules, policies and classes reject, grants a deprecated operation, and
    requests topics of a mount whose gateway does not respond."""

    def __init__(self, watched: Watched) -> None:
        self._admin = _admin(watched.root.bootstrap_servers("root"))

    def turn(self) -> None:
        """Send each of these requests."""
        wanted = [
            NewTopic(f"{SEARCH}:wide", 50),
            NewTopic(f"{ADS}:topic", 1),
            NewTopic("nowhere:topic", 1),
            NewTopic(":gone:topic", 1),
        ]
        grant = AclBinding(
            ResourceType.BROKER,
            "kafka-cluster",
            ResourcePatternType.LITERAL,
            f"User:{USER}",
            "*",
            AclOperation.IDEMPOTENT_WRITE,
            AclPermissionType.ALLOW,
        )
        futures = self._admin.create_topics(wanted, operation_timeout=5, request_timeout=5)
        for future in (*futures.values(), *self._admin.create_acls([grant]).values()):
            with suppress(KafkaException):
                future.result(_SECONDS)
        for topic in (":gone:topic", f":la:{SEARCH}:unknown"):
            self._admin.list_topics(topic=topic, timeout=1.0)


class _Users:
    """Logs in with the right password and with a wrong password, more often than the listener
    allows, and sends requests that ACLs deny."""

    def __init__(self, watched: Watched) -> None:
        self._security = {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(watched.authority),
            "sasl.mechanism": "PLAIN",
            "sasl.username": USER,
        }
        self._servers = watched.root.bootstrap_servers("users")

    def turn(self) -> None:
        """Log in with both passwords, and send a request that ACLs deny."""
        for password in (PASSWORD, "wrong"):
            admin = _admin(self._servers, **self._security, **{"sasl.password": password})
            with suppress(KafkaException):
                admin.list_topics(topic=CLICKS, timeout=2.0)
            if password == PASSWORD:
                (future,) = admin.create_topics([NewTopic(f"{SEARCH}:denied", 1)]).values()
                with suppress(KafkaException):
                    future.result(5.0)


class _Stray:
    """Sends a request to the port of a place that has no broker."""

    def __init__(self, watched: Watched) -> None:
        (listener,) = (
            one for one in watched.root.plan.config["listeners"] if one["name"] == "root"
        )
        self._address = HOST, int(listener["broker_base_port"]) + 1

    def turn(self) -> None:
        """Send the request, and wait for the connection's end."""
        with socket.create_connection(self._address, _SECONDS) as connection:
            connection.sendall(_LIST_GROUPS)
            connection.recv(1)


class _Corrupter:
    """Writes a corrupt batch, which its broker rejects with CORRUPT_MESSAGE: an error that brokers
    return in every turn, while others occur by chance."""

    def __init__(self, watched: Watched) -> None:
        host, _, port = watched.root.bootstrap_servers("root").rpartition(":")
        self._address = host, int(port)
        topic = CLICKS.encode()
        body = struct.pack(">hhii", -1, -1, int(1_000 * _SECONDS), 1)
        body += struct.pack(f">h{len(topic)}sii", len(topic), topic, 1, 0)
        body += struct.pack(">i", len(_CORRUPT_BATCH)) + _CORRUPT_BATCH
        frame = struct.pack(">hhih", 0, 3, 1, -1) + body  # Produce, version 3, without a client id
        self._request = struct.pack(">i", len(frame)) + frame

    def turn(self) -> None:
        """Write the batch, and wait for the beginning of the response."""
        with socket.create_connection(self._address, _SECONDS) as connection:
            connection.sendall(self._request)
            connection.recv(4)
