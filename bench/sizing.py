"""``make bench-sizing``: how many cores, how much memory, how much latency; makes docs/sizing.md.

    python -m bench.sizing [--record] [--rounds N] [--seconds S] [--targets NAME ...]   (an hour)

Stock Java clients send messages of 1 KiB with acks=all at certain rates, straight to a broker and
through each proxy in turn (``sizing_load.py``). Then the rate rises until a target falls behind.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from bench.__main__ import FAILURES
from bench.client import Client
from bench.cores import Cores, place, running_on
from bench.machine import provenance
from bench.sizing_load import Measured, SizingError, SizingLoad
from bench.sizing_page import LATEST, write_page
from bench.subject import BROKER_SETTINGS, MIB
from bench.targets.direct import Direct
from bench.targets.gateway import gateway_with_topic_ids
from bench.targets.haproxy import HAProxy
from bench.targets.kroxylicious import Kroxylicious
from bench.targets.target import Target
from bench.usage import resident_kib
from devkit.broker import KafkaCluster
from devkit.broker_config import PASSED
from devkit.ports import free_port
from devkit.waiting import wait_until

TOPICS: Final = (1, 10, 100)
RATES: Final = (1_000, 5_000, 20_000)
LADDER: Final = (30_000, 40_000, 50_000, 60_000, 70_000, 80_000, 100_000, 120_000, 150_000)
"""Rates that are tried, one after the other, until a target falls behind."""

NAMES: Final = ("direct", "haproxy", "kroxylicious", "gateway")

_TOPIC_CONFIGS: Final = {"retention.bytes": str(64 * MIB), "segment.bytes": str(16 * MIB)}
_LEADER_SECONDS: Final = 60.0
_WARMUP_SHARE: Final = 0.4
_BROKER: Final = 1

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured."""

    targets: Sequence[str] = NAMES
    topics: Sequence[int] = TOPICS
    rates: Sequence[int] = RATES
    ladder: Sequence[int] = LADDER
    rounds: int = 3
    seconds: float = 15.0


def measure(plan: Plan, say: Say) -> list[Measured]:
    """Start a broker and the targets, and put the loads on them in turn. Raises SizingError, or
    what the targets raise."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-bench-")))
        sizing = _Sizing(plan, say, stack, directory)
        found = []
        for number in range(plan.rounds):
            for topics in plan.topics:
                for rate in plan.rates:
                    found += sizing.round(number, rate, topics)
        for topics in plan.topics:
            found += sizing.climb(topics)
        return found


class _Sizing:
    """The targets, which run."""

    def __init__(self, plan: Plan, say: Say, stack: ExitStack, directory: Path) -> None:
        self._plan = plan
        self._say = say
        cores = Cores.of_this_machine()
        passed_by = free_port()
        broker = KafkaCluster(
            overrides=BROKER_SETTINGS, heap="1g", quick_start=False, passed_by=passed_by
        )
        stack.enter_context(broker)
        made: dict[str, Callable[[], Target]] = {
            "direct": Direct,
            "haproxy": lambda: HAProxy(directory, port=passed_by),
            "kroxylicious": lambda: Kroxylicious(directory),
            "gateway": lambda: gateway_with_topic_ids(compiled=True),
        }
        self._loads: list[tuple[Target, SizingLoad]] = []
        for name in plan.targets:
            say(f"starting {name}")
            # As in a container of one processor: what a proxy makes of the number that it sees.
            with running_on(cores.proxies):
                target = stack.enter_context(made[name]())
                served = PASSED if name == "haproxy" else "PLAINTEXT"
                target.start(broker.servers(served))
            place(target.processes(), cores.all)
            self._create(target)
            load = stack.enter_context(SizingLoad(target, target.port, directory))
            self._loads.append((target, load))
        place([broker.process_id(_BROKER)], cores.all)
        for target, load in self._loads:
            say(f"warming up {target.name}")
            for topics in plan.topics:
                load.run(max(plan.rates), topics, 0.0, plan.seconds)

    def _create(self, target: Target) -> None:
        with Client(target.port) as client:
            for number in range(max(self._plan.topics)):
                name = target.topic(f"sizing-{number}")
                client.create_topic(name, 1, _TOPIC_CONFIGS)
            wait_until(lambda: client.topic_leader(name), f"a leader of {name}", _LEADER_SECONDS)

    def round(self, number: int, rate: int, topics: int) -> list[Measured]:
        """A window of each target, each round beginning with another one."""
        first = number % len(self._loads)
        found = []
        for target, load in [*self._loads[first:], *self._loads[:first]]:
            measured = self._window(target, load, rate, topics)
            if not measured.window.sustained:
                self._say(f"{target.name} falls behind at {rate} messages a second")
            found.append(measured)
        return found

    def climb(self, topics: int) -> list[Measured]:
        """Windows of each target at rising rates, up to the first at which it falls behind."""
        found = []
        for target, load in self._loads:
            for rate in self._plan.ladder:
                measured = self._window(target, load, rate, topics, climbing=True)
                found.append(measured)
                if not measured.window.sustained:
                    break
        return found

    def _window(
        self, target: Target, load: SizingLoad, rate: int, topics: int, *, climbing: bool = False
    ) -> Measured:
        self._say(f"{target.name}: {rate} messages a second to {topics} topics")
        seconds = self._plan.seconds
        window = load.run(rate, topics, seconds * _WARMUP_SHARE, seconds)
        pids = target.processes()
        rss = max(resident_kib(pids)) / 1024 if pids else 0.0
        return Measured(target.name, target.title, climbing, window, rss)


def as_json(found: Sequence[Measured]) -> list[dict[str, object]]:
    """What was measured, window by window."""
    return [{**asdict(each), "millicores": each.window.millicores} for each in found]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: 1 if it could not measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.sizing", allow_abbrev=False)
    parser.add_argument("--record", action="store_true", help="write docs/sizing.md's figures")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--seconds", type=float, default=15.0, metavar="S")
    parser.add_argument("--targets", nargs="+", choices=NAMES, default=NAMES, metavar="TARGET")
    parser.add_argument("--topics", nargs="+", type=int, default=TOPICS, metavar="N")
    parser.add_argument("--rates", nargs="+", type=int, default=RATES, metavar="N")
    parser.add_argument("--ladder", nargs="*", type=int, default=LADDER, metavar="N")
    options = parser.parse_args(arguments)
    where = provenance()
    plan = Plan(
        options.targets,
        options.topics,
        options.rates,
        options.ladder,
        options.rounds,
        options.seconds,
    )
    try:
        found = measure(plan, lambda text: print(text, file=sys.stderr, flush=True))
    except (*FAILURES, SizingError) as error:
        print(f"bench-sizing: {error}", file=sys.stderr)
        return 1
    LATEST.parent.mkdir(exist_ok=True)
    LATEST.write_text(json.dumps(as_json(found), indent=1))
    print(write_page(found, where, record=options.record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
