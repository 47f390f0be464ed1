"""``make report``: makes traffic like the demo's through a gateway, and the report of its log.

``python -m devkit.report [FILE]`` starts a Kafka and the gateway, lets a few teams produce and
consume, ends both and runs ``spark.report`` over the gateway's traffic log; the page is
``report.html`` if no file is named.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devkit.broker import BrokerError, KafkaCluster
from devkit.demo import COLON, LISTENERS, NAMESPACES
from devkit.gateway_process import GatewayError, GatewayProcess
from devkit.java import JavaError
from devkit.maven import MavenError
from devkit.paths import PROJECT_ROOT
from devkit.topics import create_topics
from devkit.waiting import DeadlineError, progress, wait_until

POLICIES: Final = {"everywhere": {"partitions": {"max": 6}}}
_SECONDS: Final = 240.0


class TrafficError(Exception):
    """A client did not get the expected result."""


@dataclass(frozen=True, slots=True)
class Team:
    """A producer and the consumers of a topic: the number of records, and the producer's acks."""

    topic: str
    partitions: int
    records: int
    producer: str
    acks: str
    consumers: tuple[str, ...]


TEAMS: Final = (
    Team("team-a:orders", 3, 20_000, "checkout", "all", ("billing", "warehouse")),
    Team("team-a:refunds.internal", 1, 2_000, "returns", "all", ("billing",)),
    Team("org:apache:kafka:clicks", 5, 30_000, "web", "1", ("ranking", "analytics")),
    Team("org:apache:kafka:audit", 1, 3_000, "legacy-cron", "0", ()),
    Team("events", 1, 8_000, "edge", "all", ("analytics",)),
)
REFUSED: Final = "team-a:too-wide"
"""The topic that is requested with more partitions than the policy allows."""


def main(args: Sequence[str]) -> int:
    """Make the page; returns the exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    page = Path(args[0] if args else "report.html").resolve()
    try:
        with tempfile.TemporaryDirectory(prefix="kafka-gateway-traffic-") as log:
            make_traffic(Path(log))
            command = [sys.executable, "-m", "spark.report", "--input", log, "--page", str(page)]
            title = "kafka-namespace-gateway: the demo"
            with progress("running the Spark jobs"):
                return subprocess.run(
                    [*command, "--title", title], cwd=PROJECT_ROOT, check=False
                ).returncode
    except KeyboardInterrupt:
        return 130
    except (
        BrokerError,
        DeadlineError,
        GatewayError,
        JavaError,
        KafkaException,
        MavenError,
        TrafficError,
    ) as error:
        print(f"no report: {error}", file=sys.stderr)
        return 1


def make_traffic(log: Path) -> None:
    """Make the teams work through a gateway whose traffic log is in ``log``."""
    overrides = {
        "policies": POLICIES,
        "traffic_log": {"directory": str(log), "window_seconds": 1},
    }
    with (
        KafkaCluster() as kafka,
        GatewayProcess(
            kafka.bootstrap_servers, LISTENERS, NAMESPACES, workers=2, overrides=overrides
        ) as gateway,
    ):
        servers = gateway.bootstrap_servers(COLON.name)
        rejected = _create(servers, NewTopic(REFUSED, 12))
        if not rejected:
            raise TrafficError(f"{REFUSED} was made: its policy is missing")
        for team in TEAMS:
            with progress(f"{team.producer} writes to {team.topic}"):
                _work(servers, team)


def _work(servers: str, team: Team) -> None:
    problem = _create(servers, NewTopic(team.topic, team.partitions))
    if problem:
        raise TrafficError(f"{team.topic} was not made: {problem}")
    _produce(servers, team)
    for name in team.consumers:
        _consume(servers, team, name)


def _create(servers: str, topic: NewTopic) -> str:
    """Create a topic; returns why it was not created, or an empty text."""
    admin = AdminClient({"bootstrap.servers": servers, "client.id": "platform", "log_level": 3})
    try:
        create_topics(admin, [topic], _SECONDS)
    except KafkaException as error:
        return str(error)  # not the error itself, which would keep its client alive
    return ""


def _produce(servers: str, team: Team) -> None:
    sizes = random.Random(team.topic)
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "client.id": team.producer,
            "acks": team.acks,
            "enable.idempotence": team.acks == "all",
            "linger.ms": 5,
            "log_level": 3,
        }
    )
    for number in range(team.records):
        while True:
            try:
                producer.produce(team.topic, bytes(sizes.randrange(50, 500)), key=str(number))
                break
            except BufferError:
                producer.poll(0.1)
    left = producer.flush(_SECONDS)
    if left:
        raise TrafficError(f"{team.producer}: {left} records of {team.topic} are left to send")


def _consume(servers: str, team: Team, name: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "client.id": name,
            "group.id": f"{name}-{team.producer}",
            "auto.offset.reset": "earliest",
            "log_level": 3,
        }
    )
    consumer.subscribe([team.topic])
    count = 0

    def all_read() -> bool:
        nonlocal count
        count += sum(1 for message in consumer.consume(5000, 0.5) if message.error() is None)
        return count >= team.records

    try:
        wait_until(all_read, f"{name} to read {team.topic}", _SECONDS)
    finally:
        consumer.close()


if __name__ == "__main__":
    os.chdir(PROJECT_ROOT)
    sys.exit(main(sys.argv[1:]))
