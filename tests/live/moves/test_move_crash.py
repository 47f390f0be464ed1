"""The gateway is killed in the middle of moves: every topic is at one end or the other."""

from __future__ import annotations

import itertools
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.paths import PROJECT_ROOT
from devkit.waiting import wait_until
from tests.live.moves import load, load_checks, load_readers
from tests.live.moves.killed_move import ENDED
from tests.live.support import clients, namespaces, processes
from tests.live.support.fixtures import own_gateway
from tests.live.support.wire import ConnectionEnded, Wire

pytestmark = pytest.mark.long("kills")

Names = Callable[[str], str]

KILLS = 12
"""The number of kills.

The first precedes the response, because the broker is held, and the last follows it. The kills
between them are each a little later after the request than the kill before.
"""

IDLE_TOPICS = 4
SET = 0
TOPIC = 2
RETENTION = ("1111111", "2222222")
"""``retention.ms`` of the two namespaces."""

CONVERGED_SECONDS = 240.0
"""Another process leaves work to the process that began it for 5 to 10 s; machines are busy."""


gateway = own_gateway(workers=2, scope="function")
"""Two workers: one receives the requests to move, and clients are connected to both."""


class Ends:
    """Two namespaces that differ in a config, and topics that move to and fro between them."""

    def __init__(self, servers: str, kafka: KafkaCluster, unique: Names, *topics: str) -> None:
        self.servers = servers
        self.namespaces = (unique("left"), unique("right"))
        for namespace, retention in zip(self.namespaces, RETENTION, strict=True):
            namespaces.create(servers, f"{namespace}:", configs={"retention.ms": retention})
        self.add(kafka, *topics)

    def add(self, kafka: KafkaCluster, *topics: str) -> None:
        """Create topics at the first end."""
        first = [self.names(topic)[0] for topic in topics]
        clients.create(self.servers, *first, partitions=load.PARTITIONS)
        clients.await_stored(kafka, *(self.flat(topic) for topic in topics))

    def names(self, topic: str) -> list[str]:
        """The topic's name in each of the two namespaces."""
        return [f"{namespace}:{topic}" for namespace in self.namespaces]

    def flat(self, topic: str) -> str:
        """The topic's flat name, which does not change."""
        return f"{self.namespaces[0]}..{topic}"

    def end_of(self, topic: str) -> int:
        """The end at which a topic exists. Fails unless it exists at exactly one end."""
        with Wire(self.servers) as wire:
            asked = [{"name": name} for name in self.names(topic)]
            found = wire.ask("Metadata", 8, topics=asked, allow_auto_topic_creation=False).topics
        codes = {str(answer.name): int(answer.error_code) for answer in found}
        there = [end for end, name in enumerate(self.names(topic)) if codes[name] == 0]
        assert len(there) == 1, codes
        return there[0]

    def described_end(self, name: str) -> int:
        """The end at which a topic is by its description, under any of its names."""
        value, _ = namespaces.describe(self.servers, name)["gateway.namespace"]
        return self.namespaces.index(value)


def _forced(namespace: str) -> dict[str, str]:
    """A move that does not wait for requests that killed workers had sent."""
    return {"gateway.namespace": namespace, "gateway.force": "true"}


@pytest.fixture(autouse=True)
def _forgotten(kafka: KafkaCluster) -> Iterator[None]:
    """Make later tests wait for no worker that these tests kill."""
    yield
    processes.forget_killed(kafka)


def _ask_to_move(servers: str, moves: dict[str, dict[str, str]], began: threading.Event) -> bool:
    """Request moves in a single request; whether all of them succeeded."""
    resources = [
        {
            "resource_type": TOPIC,
            "resource_name": name,
            "configs": [
                {"name": key, "config_operation": SET, "value": value}
                for key, value in configs.items()
            ],
        }
        for name, configs in moves.items()
    ]
    with Wire(servers) as wire:
        began.set()
        try:
            answer = wire.ask("IncrementalAlterConfigs", 1, resources=resources)
        except (ConnectionEnded, OSError):
            return False
    return all(int(response.error_code) == 0 for response in answer.responses)


@pytest.mark.timeout(1800)
def test_killed_at_any_moment_under_load(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names
) -> None:
    """Clients use a topic's alias; every acknowledged record is stored once, in order."""
    servers = gateway.bootstrap_servers("colon")
    idle = [f"idle-{number}" for number in range(IDLE_TOPICS)]
    ends = Ends(servers, kafka, unique, "busy", *idle)
    flat = ends.flat("busy")
    until = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    kills = 0

    def first() -> str:
        return ends.names("busy")[0]

    def moves() -> dict[str, dict[str, str]]:
        """Moves of all topics to the other end; the busy topic keeps its former name."""
        at = ends.described_end(first())
        busy = _forced(ends.namespaces[1 - at]) | {"gateway.alias.until": until}
        asked = {ends.names("busy")[at]: busy}
        for topic in idle:
            at = ends.end_of(topic)
            asked[ends.names(topic)[at]] = _forced(ends.namespaces[1 - at])
        return asked

    def took() -> float:
        asked, began = moves(), time.monotonic()
        assert _ask_to_move(servers, asked, threading.Event())
        return time.monotonic() - began

    usual = statistics.median(took() for _ in range(3))
    with ExitStack() as stack:
        group = f"{flat}-readers"
        reader = stack.enter_context(load_readers.GroupReader(servers, first, "reader", group))
        patient = load.PATIENT_MS
        steady = stack.enter_context(load.IdempotentSender(servers, first, "steady", patient))
        atomic = stack.enter_context(
            load.TransactionalSender(servers, first, f"{flat}-atomic", patient, lambda: kills)
        )
        answered = []
        for turn in range(KILLS):
            asked = moves()
            if turn == 0:
                with _held(kafka):
                    answered.append(_killed(gateway, asked, usual))
            elif turn < KILLS - 1:
                answered.append(_killed(gateway, asked, 1.4 * usual * turn / (KILLS - 1)))
            else:
                answered.append(_killed(gateway, asked, None))
            kills += 1
            gateway.start_again()
            for topic in idle:
                came_from = _namespace_of(asked, topic)
                now = ends.namespaces[ends.end_of(topic)]
                assert not answered[-1] or now != came_from, f"the move of {topic} was answered"
            assert ends.described_end(first()) in (0, 1)
            _await_more(steady)
        for sender in (steady, atomic):
            sender.stop()
        log = load_checks.stored(kafka.bootstrap_servers, flat)
        load_checks.await_all_read(servers, [reader], log)
        reader.stop()
    assert not answered[0], "moves were answered without the broker"
    assert answered[-1], "moves were answered with an error"
    assert steady.sent.failed == []
    for sender in (steady, atomic):
        load_checks.check_answered(sender)
        load_checks.check_log(log, sender)
    load_checks.check_starts(log, reader)
    _await_configs(ends, kafka, {topic: ends.end_of(topic) for topic in idle})
    _await_configs(ends, kafka, {"busy": ends.described_end(first())})


@pytest.mark.timeout(1800)
def test_killed_before_each_step(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names
) -> None:
    """Each topic is moved by a process that dies at another step; a gateway completes the move."""
    ends = Ends(gateway.bootstrap_servers("colon"), kafka, unique, "step-1")
    at: dict[str, int] = {}
    with _killed_mover(kafka) as mover:
        for step in itertools.count(1):
            topic = f"step-{step}"
            status, printed = mover.move(ends.names(topic)[0], ends.namespaces[1], step)
            at[topic] = ends.end_of(topic)
            if status == 0:
                break
            assert status == -signal.SIGKILL, printed
            ends.add(kafka, f"step-{step + 1}")
    assert "before EndTxnRequest" in printed
    assert at[topic] == 1
    assert set(at.values()) == {0, 1}
    _await_configs(ends, kafka, at)
    assert {topic: ends.end_of(topic) for topic in at} == at


class KilledMover:
    """``tests.live.moves.killed_move`` while it runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def move(self, topic: str, namespace: str, step: int) -> tuple[int, str]:
        """Move a topic, killed before this step: the process's exit status and output."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(topic, namespace, step, file=self._process.stdin, flush=True)
        printed = ""
        for line in self._process.stdout:
            if line.startswith(ENDED):
                return int(line.removeprefix(ENDED)), printed
            printed += line
        raise AssertionError(f"the mover ended by itself\n{printed}")


@contextmanager
def _killed_mover(kafka: KafkaCluster) -> Iterator[KilledMover]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.live.moves.killed_move", kafka.bootstrap_servers],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=PROJECT_ROOT,
    ) as process:
        yield KilledMover(process)


@contextmanager
def _held(kafka: KafkaCluster) -> Iterator[None]:
    """Suspend the broker; it handles the requests that it received meanwhile afterwards."""
    broker = psutil.Process(kafka.process_id(1))
    broker.suspend()
    try:
        yield
    finally:
        broker.resume()


def _killed(gateway: GatewayProcess, moves: dict[str, dict[str, str]], delay: float | None) -> bool:
    """Kill the gateway during moves; whether they were answered before.

    ``delay``: seconds after the request, or None for after the response.
    """
    began, answers = threading.Event(), [False]
    servers = gateway.bootstrap_servers("colon")

    def ask() -> None:
        answers[0] = _ask_to_move(servers, moves, began)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert began.wait(clients.SECONDS)
    if delay is None:
        asking.join(clients.SECONDS)
    else:
        time.sleep(delay)
    gateway.kill()
    asking.join(clients.SECONDS)
    assert not asking.is_alive()
    return answers[0]


def _await_more(sender: load.Sender) -> None:
    """Wait until a client has had another record acknowledged."""
    count = len(sender.sent.acknowledged)
    wait_until(
        lambda: len(sender.sent.acknowledged) > count, f"{sender.who} to go on", clients.SECONDS
    )


def _namespace_of(moves: dict[str, dict[str, str]], topic: str) -> str:
    (name,) = [name for name in moves if name.endswith(f":{topic}")]
    return name.removesuffix(f":{topic}")


def _await_configs(ends: Ends, kafka: KafkaCluster, at: dict[str, int]) -> None:
    """Wait until the broker applies the configs of the namespaces that the topics are in."""
    wanted = {topic: RETENTION[end] for topic, end in at.items()}

    def found() -> dict[str, str]:
        return {
            topic: namespaces.value_on_broker(kafka, ends.flat(topic), "retention.ms")[0]
            for topic in wanted
        }

    wait_until(lambda: found() == wanted, "the configs at the broker", CONVERGED_SECONDS, poll=0.5)
