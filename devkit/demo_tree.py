"""``make demo-tree``: two Kafkas as two data centres, and a tree of names over both.

``python -m devkit.demo_tree`` serves until Ctrl-C; with ``--once`` it ends after the tour. The exit
status is 0 unless a check failed.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from devkit import tour
from devkit.broker import KAFKA_VERSION, KafkaCluster
from devkit.demo import join, run_demo, say, serve, shortest, table
from devkit.gateway_config import Listener, MountedCluster
from devkit.gateway_process import GatewayProcess
from devkit.java import write_tool_scripts
from devkit.paths import PROJECT_ROOT, cache_dir
from devkit.tour import TourError

LA, NY = "la:tracking", "ny:tracking"

LOCAL = Listener(
    "la",
    "names of Los Angeles as they are: search/clicks",
    "slash",
    security={"volume": LA},
)
REMOTE = Listener(
    "ny", "names of New York as they are: search/clicks", "slash", security={"volume": NY}
)
LEGAL = Listener("legal", "for tools that take no ':' and no '/'", "legal", security={"volume": LA})
LISTENERS = (LOCAL, REMOTE, LEGAL)

TOPICS = ("/la/tracking/search/clicks", "/ny/tracking/search/clicks")


def main(args: Sequence[str]) -> int:
    """Run the demo; returns the exit status."""
    return run_demo(lambda: _run(once="--once" in args))


def _run(*, once: bool) -> int:
    started = time.monotonic()
    with ExitStack() as stack:
        with ThreadPoolExecutor(2) as pool:
            kafkas = list(pool.map(lambda _: KafkaCluster().start(), (LA, NY)))
        for kafka in kafkas:
            stack.callback(kafka.stop)
        la, ny = kafkas
        say(f"Apache Kafka {KAFKA_VERSION} serves at {la.bootstrap_servers} (Los Angeles)")
        say(f"and another one at {ny.bootstrap_servers} (New York)")
        mounted = [
            MountedCluster(LA, 1, la.bootstrap_servers, {"namespaces": ["search"]}),
            MountedCluster(NY, 2, ny.bootstrap_servers, {"namespaces": ["search"]}),
        ]
        gateway = stack.enter_context(GatewayProcess(mounted, LISTENERS, []))
        say("kafka-gateway stands before both: /la/tracking and /ny/tracking")
        _show_tour(la, ny, gateway)
        say(f"\nFrom the start to here: {time.monotonic() - started:.1f} s")
        _show_addresses(gateway)
        if not once:
            say("\nServing until Ctrl-C.")
            serve(gateway)
    return 0


def _show_tour(la: KafkaCluster, ny: KafkaCluster, gateway: GatewayProcess) -> None:
    servers = gateway.bootstrap_servers(LOCAL.name)
    written = {topic: tuple(f"{topic} {number}" for number in (1, 2)) for topic in TOPICS}
    rows = []
    for topic, kafka in zip(TOPICS, (la, ny), strict=True):
        flat = tour.new_topic(kafka.topics, partial(tour.create_topic, servers, topic))
        tour.produce(servers, topic, written[topic])
        rows.append((topic, join(written[topic]), f"{flat} at {kafka.bootstrap_servers}"))
    say("\nWhat clients of the listener `la` wrote, and where it is:")
    table(("topic", "values", "stored as"), rows)
    count = sum(map(len, written.values()))
    read = tour.consume_all(LOCAL.name, servers, TOPICS, count)
    for each in read:
        if each.values != written[each.topic]:
            raise TourError(f"{each.topic} held {each.values}, not {written[each.topic]}")
    say("\nWhat one consumer group, whose offsets are all in Los Angeles, read of both:")
    table(("topic", "values"), [(each.topic, join(each.values)) for each in read])
    say("\nWhat each listener lists:")
    at = [(each.name, gateway.bootstrap_servers(each.name)) for each in LISTENERS]
    table(
        ("listener", "topics", "groups"),
        [
            (name, join(sorted(tour.list_topics(one))), join(sorted(tour.list_groups(one))))
            for name, one in at
        ],
    )


def _show_addresses(gateway: GatewayProcess) -> None:
    say("")
    for listener in LISTENERS:
        say(f"bootstrap.servers={gateway.bootstrap_servers(listener.name)}  # {listener.about}")
    say("\nTo paste into another terminal:")
    scripts = write_tool_scripts(cache_dir() / "bin")
    legal = gateway.bootstrap_servers(LEGAL.name)
    consume = shlex.quote(shortest(scripts / "kafka-console-consumer"))
    say(
        f"{consume} --bootstrap-server {legal} --topic ..ny.tracking.search..clicks"
        " --from-beginning --max-messages 2"
    )
    command = shlex.quote(shortest(Path(sys.executable).with_name("kafka-gateway")))
    say(f"{command} tree --config {shlex.quote(shortest(gateway.config_path))}")


if __name__ == "__main__":
    os.chdir(PROJECT_ROOT)
    sys.exit(main(sys.argv[1:]))
