"""The traffic in the test of the traffic log's totals.

Known numbers of records, through a gateway of two workers that is restarted in the middle. The
restart is a SIGTERM while a producer runs. The gateway answers every request that it has read, and
the client gets the response before the connection ends; unread requests have reached no broker. So
no broker gets anything twice, and the records acknowledged to the producer are the records counted.

A gateway's /metrics ends with it, so a request is held back until all others have been counted: a
Fetch that is answered by the first record of a topic. Its own counts are known to the byte. All
others have been counted when no worker listens any more (until then a client may reconnect to a
worker that learns late of the end) and each worker has reported after that.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.traffic_sums import Counts, Record, of_metrics, of_records, read_files
from devkit.waiting import DeadlineError, wait_until
from tests.live.operations import traffic_work
from tests.live.operations.held_fetch import hold, one_fetch
from tests.live.operations.traffic_totals import await_ends
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire

TRAFFIC_TOPIC = "__kafka_gateway_traffic"
LISTENERS = (
    Listener("colon", "names with colons"),
    Listener("legal", "the legal spelling", spelling="legal"),
    Listener("home", "team-a is home", home="team-a"),
)
NAMESPACES = ("team-a", "org:apache:kafka", "org:live", "held")

PLAIN, PYTHON, AIO, JAVA = "plain", "team-a..python", "team-a..aio", "team-a..java"
SENT, AIO_SENT, RAISED = "sent", "aio-sent", "team-a..raised"
ORDERS, TRANSACTIONAL = "org.apache.kafka..orders", "org.apache.kafka..transactions"
LIVE, HELD = "org.live..endless", "held..until-a-record"
TOPICS = (PLAIN, PYTHON, AIO, JAVA, SENT, AIO_SENT, RAISED, ORDERS, TRANSACTIONAL, LIVE, HELD)
COMMITTED, ABORTED, CONTROL = 140, 60, 2

Act: TypeAlias = Callable[[str], int]
"""The work of a client under the given client id; returns how many records it counts."""


@dataclass
class Story:
    """The result of the traffic. Topics are flat names, clients are client ids."""

    directory: Path
    produced: Counter[str] = field(default_factory=Counter)
    """The number of records acknowledged to each client."""
    topics: dict[str, str] = field(default_factory=dict)
    """The topic of each producer."""
    read: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of records that a reader received from a topic."""
    java: list[dict[str, Any]] = field(default_factory=list)
    """The output of ByteTotals.java."""
    metrics: list[Counts] = field(default_factory=list)
    """The counts of each of the two gateways; the first has the held request added."""
    runs: list[list[Record]] = field(default_factory=list)
    """The records in the files after each of them."""
    dropped: list[str] = field(default_factory=list)
    """Lines of /metrics about dropped records."""


class Teller:
    """Runs the traffic."""

    def __init__(self, kafka: KafkaCluster, directory: Path) -> None:
        self.story = Story(directory)
        self._kafka = kafka
        settings = {
            "directory": str(directory),
            "topic": TRAFFIC_TOPIC,
            "window_seconds": 1,
            # So small that files are rolled and compressed all the time.
            "max_file_bytes": 30_000,
            "max_files": 1_000,
        }
        self._gateway = GatewayProcess(
            kafka.bootstrap_servers,
            LISTENERS,
            NAMESPACES,
            workers=2,
            overrides={"traffic_log": settings, "gateway_id": "totals", "drain_seconds": 60},
        )

    def tell(self) -> Story:
        """Run the whole traffic, on two gateways in turn."""
        with self._gateway as gateway:
            colon = gateway.bootstrap_servers("colon")
            traffic_work.create(gateway.bootstrap_servers("legal"), *TOPICS)
            await_ends(self._kafka, dict.fromkeys(TOPICS, 0))
            self._produce()
            self._read("early")
            live = traffic_work.Endless(colon, "org:live:endless", "endless")
            with live:
                live.await_more(300)
                self._restart()
                live.await_more(300)
            self.story.produced["endless"] = live.acknowledged
            self.story.topics["endless"] = LIVE
            self._produce()
            self._read("late")
            self._run_java()
            self._wait_until_open(0)
            self._note_metrics()
        self.story.runs.append(read_files(self.story.directory))
        return self.story

    # -- clients' work ---------------------------------------------------------------------------

    def _produce(self) -> None:
        """Produce a few hundred records by each producer, in parallel."""
        colon, legal, home = map(self._gateway.bootstrap_servers, ("colon", "legal", "home"))
        of_org, confluent = "org:apache:kafka", traffic_work.confluent
        work: dict[str, tuple[str, Act]] = {
            "c-acks0": (SENT, self._sent(partial(confluent, colon, SENT, acks=0), SENT, 410)),
            "c-acks1": (ORDERS, partial(confluent, colon, f"{of_org}:orders", 320, acks=1)),
            "c-raised": (
                RAISED,
                self._sent(partial(confluent, home, "raised", acks=0), RAISED, 90),
            ),
            "c-idempotent": (
                PLAIN,
                partial(confluent, colon, PLAIN, 230, enable_idempotence=True),
            ),
            "python": (PYTHON, partial(traffic_work.kafka_python, legal, PYTHON, 150, acks=1)),
            "aio": (AIO, partial(traffic_work.aiokafka, colon, "team-a:aio", 270, acks="all")),
            "aio-acks0": (
                AIO_SENT,
                self._sent(partial(traffic_work.aiokafka, colon, AIO_SENT, acks=0), AIO_SENT, 130),
            ),
            "transactions": (
                TRANSACTIONAL,
                partial(
                    traffic_work.transactions,
                    colon,
                    f"{of_org}:transactions",
                    COMMITTED,
                    ABORTED,
                ),
            ),
        }
        with ThreadPoolExecutor(len(work)) as pool:
            told = {name: pool.submit(act, name) for name, (_, act) in work.items()}
        for name, (topic, _) in work.items():
            self.story.produced[name] += told[name].result()
            self.story.topics[name] = topic

    def _sent(self, act: Callable[..., int], topic: str, count: int) -> Act:
        """A producer with acks=0, which keeps its connection until all records are written.

        When a connection ends, a broker drops unread bytes.
        """
        ends = {topic: self._written(topic) + count}
        return partial(act, count, until=lambda: await_ends(self._kafka, ends))

    def _written(self, topic: str) -> int:
        """The records that a topic has now."""
        return sum(n for name, n in self.story.produced.items() if self.story.topics[name] == topic)

    def _read(self, when: str) -> None:
        """Read each topic from its beginning, with at least one reader."""
        colon, legal = map(self._gateway.bootstrap_servers, ("colon", "legal"))
        count, confluent = self._written, traffic_work.read
        orders, transactions = "org:apache:kafka:orders", "org:apache:kafka:transactions"
        data = count(TRANSACTIONAL)
        committed = data * COMMITTED // (COMMITTED + ABORTED)
        work: dict[tuple[str, str], Act] = {
            ("aio", PLAIN): partial(traffic_work.read_aiokafka, colon, PLAIN, count(PLAIN)),
            ("confluent", SENT): partial(confluent, colon, SENT, count(SENT)),
            ("aio", AIO_SENT): partial(
                traffic_work.read_aiokafka, colon, AIO_SENT, count(AIO_SENT)
            ),
            ("confluent", LIVE): partial(confluent, colon, "org:live:endless", count(LIVE)),
            ("python", PYTHON): partial(
                traffic_work.read_kafka_python, legal, PYTHON, count(PYTHON)
            ),
            ("confluent", AIO): partial(confluent, colon, "team-a:aio", count(AIO)),
            ("confluent", ORDERS): partial(confluent, colon, orders, count(ORDERS)),
            ("all", TRANSACTIONAL): partial(
                confluent, colon, transactions, data, isolation_level="read_uncommitted"
            ),
            ("committed", TRANSACTIONAL): partial(
                confluent, colon, transactions, committed, isolation_level="read_committed"
            ),
        }
        with ThreadPoolExecutor(len(work)) as pool:
            given = {
                (f"{when}-{who}", topic): pool.submit(act, f"{when}-{who}")
                for (who, topic), act in work.items()
            }
        for key, future in given.items():
            self.story.read[key] += future.result()

    def _run_java(self) -> None:
        classes = java.compile_java(java_tools.SOURCES / "ByteTotals.java")
        servers = self._gateway.bootstrap_servers("colon")
        count = ["500", "java-producer", "java-consumer"]
        args = [servers, "team-a:java", str(traffic_work.PARTITIONS), *count]
        ended = java.run_java("ByteTotals", args, seconds=240, classes=classes)
        assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
        self.story.java = [json.loads(line) for line in ended.lines]
        producer, consumer = self.story.java
        self.story.produced["java-producer"] = producer["records"]
        self.story.topics["java-producer"] = JAVA
        self.story.read["java-consumer", JAVA] = consumer["records"]

    # -- the gateway's work ----------------------------------------------------------------------

    def _restart(self) -> None:
        gateway = self._gateway
        process = gateway.process
        with Wire(gateway.bootstrap_servers("colon")) as wire:
            held = hold(wire, "held:until-a-record")
            os.kill(process.command_pid, signal.SIGTERM)
            wait_until(lambda: not self._listens(), "closed ports", clients.SECONDS)
            self._wait_until_open(1)
            self._note_metrics()
            clients.produce(self._kafka.bootstrap_servers, HELD, ["one"])
            answer = wire.frame()
            assert wire.wait_for_end() == b""
        wait_until(lambda: not process.running, "the end of the gateway", clients.SECONDS)
        assert process.returncode == 0
        self.story.metrics[0] += one_fetch("held", len(held), 4 + len(answer))
        self.story.runs.append(read_files(self.story.directory))
        gateway.kill()  # it has ended; its files stay
        gateway.start_again()

    def _listens(self) -> bool:
        """Whether a worker accepts connections."""
        return any(map(clients.accepts, self._gateway.plan.bootstrap_servers.values()))

    def _wait_until_open(self, count: int) -> None:
        """Wait until so many client connections are left."""

        def left() -> bool:
            lines = self._gateway.fresh_metrics().splitlines()
            found = [one for one in lines if one.startswith("kafka_gateway_open_connections{")]
            return sum(float(one.rpartition(" ")[2]) for one in found) == count

        wait_until(left, f"{count} connections", clients.SECONDS)

    def _note_metrics(self) -> None:
        """Note the gateway's metrics once the files have the same counts."""
        past = self.story.runs[-1] if self.story.runs else []
        known = {record["id"] for record in past}

        def same() -> bool:
            self._last = self._gateway.fresh_metrics()
            records = read_files(self.story.directory)
            own = (record for record in records if record["id"] not in known)
            return of_records(own) == of_metrics(self._last)

        with suppress(DeadlineError):  # the test that compares them shows the difference
            wait_until(same, "the same sums in the files and in /metrics", clients.SECONDS)
        self.story.metrics.append(of_metrics(self._last))
        lost = ("kafka_gateway_traffic_log_dropped_total", "kafka_gateway_traffic_log_folded_total")
        for line in self._last.splitlines():
            if line.startswith(lost) and not line.endswith(" 0.0"):
                self.story.dropped.append(line)
