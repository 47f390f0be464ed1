"""``make demo``: a real Kafka, the gateway in front of it, and the view of clients through it.

``python -m devkit.demo`` serves until Ctrl-C; with ``--once`` it ends after the tour. The exit
status is 0 unless a check failed.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException

from devkit import tour
from devkit.broker import KAFKA_VERSION, BrokerError, KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayError, GatewayProcess, gateway_command
from devkit.java import JavaError, write_tool_scripts
from devkit.maven import MavenError
from devkit.paths import PROJECT_ROOT, cache_dir
from devkit.tour import ConsumedTopic, TourError
from devkit.waiting import DeadlineError

NAMESPACES = ("team-a", "org:apache:kafka")

COLON = Listener("colon", "every namespace, names with colons: team-a:orders")
HOME = Listener("home", "team-a is home, so bare names are its topics: orders", home="team-a")
LEGAL = Listener("legal", "every namespace, names without colons: team-a..orders", spelling="legal")
LISTENERS = (COLON, HOME, LEGAL)

FIRST_PORT = 9592
"""Listeners have the ports 9592, 9692 and 9792, and the following ports for brokers; HTTP has 9892.
If a port of a block is in use, the block is replaced by another block."""

EXPECTED = (
    BrokerError,
    DeadlineError,
    GatewayError,
    JavaError,
    KafkaException,
    MavenError,
    TourError,
)


@dataclass(frozen=True, slots=True)
class StoredTopic:
    """A topic: its logical name, the broker's name, the values written to it."""

    logical: str
    flat: str
    values: tuple[str, ...]


def main(args: Sequence[str]) -> int:
    """Run the demo; returns the exit status."""
    return run_demo(lambda: _run(once="--once" in args))


def run_demo(run: Callable[[], int]) -> int:
    """Run a demo to its end, or to Ctrl-C; returns the exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run()
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except EXPECTED as error:
        print(f"the demo failed: {error}", file=sys.stderr)
        return 1


def _run(*, once: bool) -> int:
    started = time.monotonic()
    with KafkaCluster() as kafka:
        say(f"Apache Kafka {KAFKA_VERSION} serves at {kafka.bootstrap_servers}")
        with GatewayProcess(
            kafka.bootstrap_servers, LISTENERS, NAMESPACES, first_port=FIRST_PORT
        ) as gateway:
            say(f"kafka-gateway stands before it, with the namespaces {', '.join(NAMESPACES)}")
            _show_tour(kafka, gateway)
            say(f"\nFrom the start to here: {time.monotonic() - started:.1f} s")
            _show_addresses(gateway)
            if not once:
                say("\nServing until Ctrl-C.")
                serve(gateway)
    return 0


def _show_tour(kafka: KafkaCluster, gateway: GatewayProcess) -> None:
    stored = [_write(kafka, gateway, name) for name in ("team-a:orders", "org:apache:kafka:orders")]
    say("\nWhat a client wrote at the listener `colon`, and the topic that appeared on the broker:")
    table(
        ("topic", "values", "flat name on the broker"),
        [(topic.logical, join(topic.values), topic.flat) for topic in stored],
    )
    team_a, kafka_orders = stored
    sights = [
        _read(gateway, COLON, team_a.logical, team_a),
        _read(gateway, COLON, kafka_orders.logical, kafka_orders),
        _read(gateway, HOME, "orders", team_a),
        _read(gateway, LEGAL, team_a.flat, team_a),
        _read(gateway, LEGAL, kafka_orders.flat, kafka_orders),
    ]
    direct = [
        tour.consume("broker", kafka.bootstrap_servers, topic.flat, len(topic.values))
        for topic in stored
    ]
    say("\nWhat consumer groups read at each listener, and what one reads off the broker itself:")
    table(
        ("listener", "topic", "values"),
        [(sight.listener, sight.topic, join(sight.values)) for sight in (*sights, *direct)],
    )
    say("\nWhat each one lists:")
    table(("listener", "topics", "groups"), _listings(kafka, gateway))


def _write(kafka: KafkaCluster, gateway: GatewayProcess, logical: str) -> StoredTopic:
    servers = gateway.bootstrap_servers(COLON.name)
    flat = tour.new_topic(kafka.topics, lambda: tour.create_topic(servers, logical))
    values = tuple(f"{logical} {number}" for number in (1, 2))
    tour.produce(servers, logical, values)
    return StoredTopic(logical, flat, values)


def _read(
    gateway: GatewayProcess, listener: Listener, topic: str, stored: StoredTopic
) -> ConsumedTopic:
    servers = gateway.bootstrap_servers(listener.name)
    sight = tour.consume(listener.name, servers, topic, len(stored.values))
    if sight.values != stored.values:
        raise TourError(f"{listener.name}: {topic} held {sight.values}, not {stored.values}")
    return sight


def _listings(kafka: KafkaCluster, gateway: GatewayProcess) -> list[tuple[str, str, str]]:
    asked = [(listener.name, gateway.bootstrap_servers(listener.name)) for listener in LISTENERS]
    asked.append(("broker", kafka.bootstrap_servers))
    return [
        (name, join(sorted(tour.list_topics(servers))), join(sorted(tour.list_groups(servers))))
        for name, servers in asked
    ]


def _show_addresses(gateway: GatewayProcess) -> None:
    say("")
    for listener in LISTENERS:
        address = gateway.bootstrap_servers(listener.name)
        say(f"bootstrap.servers={address}  # {listener.about}")
    say(f"\nconfiguration: {gateway.config_path}")
    say(f"metrics:       {gateway.url('/metrics')}")
    say(f"page:          {gateway.url('/')}")
    say("\nTo paste into another terminal:")
    for line in (*_lines_to_paste(gateway), *_commands(gateway)):
        say(line)


def _lines_to_paste(gateway: GatewayProcess) -> list[str]:
    python = shlex.quote(shortest(Path(sys.executable)))
    topics = shlex.quote(shortest(write_tool_scripts(cache_dir() / "bin") / "kafka-topics"))
    colon, home, legal = (gateway.bootstrap_servers(listener.name) for listener in LISTENERS)
    confluent = (
        "from confluent_kafka import Producer; "
        f"p = Producer({{'bootstrap.servers': '{colon}'}}); "
        "p.produce('team-a:orders', 'pasted'); print(p.flush(10), 'left to send')"
    )
    aiokafka = (
        r"import asyncio, aiokafka\n"
        r"async def read():\n"
        rf"  async with aiokafka.AIOKafkaConsumer(\'orders\', bootstrap_servers=\'{home}\', "
        r"auto_offset_reset=\'earliest\') as c: print(await c.getone())\n"
        r"asyncio.run(read())"
    )
    return [
        f'{python} -c "{confluent}"',
        f"{python} -c $'{aiokafka}'",
        f"{topics} --bootstrap-server {legal} --describe",
    ]


def _commands(gateway: GatewayProcess) -> list[str]:
    command = shlex.quote(shortest(Path(gateway_command())))
    colon, config = gateway.bootstrap_servers(COLON.name), shlex.quote(str(gateway.config_path))
    return [
        f"{command} topics --bootstrap-server {colon} --list --namespace org --recursive",
        f"{command} configs --bootstrap-server {colon} --alter --namespace team-a "
        "--add-config retention.ms=86400000",
        f"{command} explain --config {config} --name team-a:orders",
    ]


def serve(gateway: GatewayProcess) -> None:
    """Serve until Ctrl-C. Raises GatewayError if the gateway ends before."""
    pause = threading.Event()
    try:
        while gateway.process.running:
            pause.wait(0.5)
    except KeyboardInterrupt:
        say("\nstopping")
        return
    raise GatewayError(f"the gateway ended by itself\n{gateway.process.tail()}")


def shortest(path: Path) -> str:
    """A path relative to the current directory, if it is below that."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else str(path)


def join(parts: Sequence[str]) -> str:
    """The parts as a cell of a table."""
    return ", ".join(parts) or "-"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with a head and rows."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, ["-" * width for width in widths], *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say("  " + "  ".join(cells).rstrip())


def say(text: str) -> None:
    """Print a line, unbuffered."""
    print(text, flush=True)


if __name__ == "__main__":
    os.chdir(PROJECT_ROOT)
    sys.exit(main(sys.argv[1:]))
