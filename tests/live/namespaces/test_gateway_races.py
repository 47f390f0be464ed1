"""Two gateways of three workers each change the same namespaces at the same time."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psutil
import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from gateway.names import is_end_topic
from tests.live.support import clients, namespaces, processes
from tests.live.support.fixtures import several_gateways
from tests.live.support.wire import Wire
from tests.pace import Pace

Names = Callable[[str], str]

WORKERS = 3
CLIENTS = 40
CHANGES = 25
"""Changes of each client: 1,000 in all."""

PAUSE = 0.4
"""Seconds between changes of a client, on average."""

NONE = 0
TOPIC = 2
"""A resource type of DescribeConfigs (KIP-133)."""

TIMEOUT = timedelta(seconds=60)

# Expected errors of each kind of change, because so many clients use the same names.
REQUEST_TIMED_OUT = 7
"""A namespace that is being deleted is frozen, so a second deletion of it may be retried."""

ALLOWED = {
    "create namespace": {namespaces.TOPIC_ALREADY_EXISTS, namespaces.INVALID_TOPIC_EXCEPTION},
    "create topic": {namespaces.TOPIC_ALREADY_EXISTS, namespaces.INVALID_TOPIC_EXCEPTION},
    "delete topic": {clients.UNKNOWN_TOPIC_OR_PARTITION, REQUEST_TIMED_OUT},
    "delete namespace": {
        clients.UNKNOWN_TOPIC_OR_PARTITION,
        namespaces.INVALID_REQUEST,
        REQUEST_TIMED_OUT,
    },
}


@dataclass(slots=True)
class Tally:
    """The responses, by request and by name."""

    answers: list[tuple[str, str, int]] = field(default_factory=list)

    def done(self, what: str, name: str) -> int:
        """The number of successful requests of this kind for a name."""
        return self.answers.count((what, name, NONE))

    def codes(self, what: str) -> set[int]:
        """The error codes of a kind of request."""
        return {code for asked, _, code in self.answers if asked == what}


gateways = several_gateways("race-one", "race-two", workers=WORKERS)
"""The gateways know of each other only through the catalog."""


def _create(wire: Wire, name: str) -> int:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
    (answer,) = wire.ask("CreateTopics", 5, topics=[topic], timeout=TIMEOUT).topics
    return int(answer.error_code)


def _delete(wire: Wire, *names: str) -> list[tuple[str, int]]:
    answer = wire.ask("DeleteTopics", 5, topic_names=list(names), timeout=TIMEOUT)
    return [(str(one.name), int(one.error_code)) for one in answer.responses]


def _at_once(
    gateways: Sequence[GatewayProcess], count: int, act: Callable[[Wire, int], None]
) -> None:
    """Run ``act`` with a connection of its own in each of ``count`` threads.

    The threads use the gateways in turn. Raises the first thread's exception.
    """

    def run(number: int) -> None:
        servers = gateways[number % len(gateways)].bootstrap_servers("colon")
        with Wire(servers) as wire:
            act(wire, number)

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(run, number) for number in range(count)]:
            future.result()


@pytest.mark.long("searches")
def test_a_contested_name_is_won_by_one(
    gateways: list[GatewayProcess], kafka: KafkaCluster, unique: Names
) -> None:
    """All clients create the same namespace at the same moment, then the same topic in it."""
    contestants, rounds = 12, 6
    spaces = [f"{unique('contest')}:inner:" for _ in range(rounds)]
    names = [name for space in spaces for name in (space, f"{space}orders")]
    codes: dict[str, list[int]] = {name: [] for name in names}
    together = threading.Barrier(contestants, timeout=clients.SECONDS)

    def contest(wire: Wire, _: int) -> None:
        for name in names:
            together.wait()
            codes[name].append(_create(wire, name))

    _at_once(gateways, contestants, contest)
    lost = [namespaces.TOPIC_ALREADY_EXISTS] * (contestants - 1)
    assert {name: sorted(found) for name, found in codes.items()} == {
        name: [NONE, *lost] for name in names
    }
    clients.await_stored(kafka, *(namespaces.flat(name) for name in names[1::2]))


@pytest.mark.long("searches")
def test_a_thousand_changes_leave_nothing_half_made(
    gateways: list[GatewayProcess], kafka: KafkaCluster, unique: Names, pace: Pace
) -> None:
    """All clients create and delete the same few names.

    In the end the six workers agree with each other, with the broker, and with their responses.
    """
    roots = [unique("race") for _ in range(4)]
    inner = {root: [f"{root}:{tier}" for tier in ("a", "b", "c")] for root in roots}
    tally = Tally()
    started = time.monotonic()
    _at_once(gateways, CLIENTS, lambda wire, number: _changes(wire, number, inner, tally))
    assert len(tally.answers) >= CLIENTS * CHANGES
    for what, allowed in ALLOWED.items():
        assert NONE in tally.codes(what), f"no {what} was done"
        assert tally.codes(what) <= {NONE, *allowed}, what

    with ExitStack() as stack:
        wires = [stack.enter_context(wire) for gateway in gateways for wire in _one_each(gateway)]
        assert len(wires) == len(gateways) * WORKERS
        wait_until(
            lambda: not any(_deleting(wire, roots) for wire in wires),
            "the end of deletions",
            clients.SECONDS,
        )
        # The broker knows of all earlier changes; then the gateways learn of them.
        clients.create(kafka.bootstrap_servers, unique("after"))
        first, *_ = wait_until(
            lambda: _if_settled([_WorkerState.by(wire, roots) for wire in wires], kafka, roots),
            "the same states of all workers",
            clients.SECONDS,
        )
    assert time.monotonic() - started < pace.stretched(90)
    first.check(tally, inner)
    snapshot = processes.stored_catalog(kafka)
    # Other tests' namespaces may still be in deletion, because they share the cluster's catalog.
    assert not {path for path in snapshot.deleting if path.partition(":")[0] in roots}
    assert first.namespaces.keys() == {
        path for path in snapshot.namespaces if path.partition(":")[0] in roots
    }
    held = [entry for entry in snapshot.topics.values() if entry.flat.startswith(tuple(roots))]
    assert {str(entry.name) for entry in held} <= first.topics
    assert not [entry for entry in held if entry.creating or entry.apply]
    assert _stored(kafka, roots) == first.flat()
    wait_until(lambda: not _end_topics(kafka, roots), "no end topic", clients.SECONDS)


def _if_settled(
    states: list[_WorkerState], kafka: KafkaCluster, roots: Sequence[str]
) -> list[_WorkerState]:
    """The workers' states if they are equal and have the broker's topics, or else an empty list."""
    settled = all(state == states[0] for state in states)
    return states if settled and states[0].flat() == _stored(kafka, roots) else []


def _stored(kafka: KafkaCluster, roots: Sequence[str]) -> set[str]:
    return namespaces.of_namespaces(kafka.topics(), *roots)


def _end_topics(kafka: KafkaCluster, roots: Sequence[str]) -> set[str]:
    """End topics of these roots; a late process may create one again, which stays for a minute."""
    return {flat for flat in kafka.topics() if flat.startswith(tuple(roots)) and is_end_topic(flat)}


def _changes(wire: Wire, number: int, inner: dict[str, list[str]], tally: Tally) -> None:
    """The changes of a client, the same in each run."""
    draw = random.Random(number)
    for _ in range(CHANGES):
        # A deleted name is free only some seconds later, so changes are spread over time.
        time.sleep(draw.uniform(0, 2 * PAUSE))
        root = draw.choice(list(inner))
        tier = draw.choice(inner[root])
        topic = f"{draw.choice([root, tier])}:{draw.choice('xyz')}"
        match draw.choices(("namespace", "topic", "end", "recursive", "plain"), (6, 9, 5, 1, 1))[0]:
            case "namespace":
                tally.answers.append(("create namespace", tier, _create(wire, f"{tier}:")))
            case "topic":
                tally.answers.append(("create topic", topic, _create(wire, topic)))
            case "end":
                ((_, code),) = _delete(wire, topic)
                tally.answers.append(("delete topic", topic, code))
            case kind:
                asked = [root, *inner[root]] if kind == "recursive" else [draw.choice([root, tier])]
                for name, code in _delete(wire, *(f"{path}:" for path in asked)):
                    tally.answers.append(("delete namespace", name.removesuffix(":"), code))


# -- the view of each worker -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _WorkerState:
    """The state that a worker reports: namespaces with their numbers of topics, and topics."""

    namespaces: dict[str, int]
    topics: frozenset[str]

    @classmethod
    def by(cls, wire: Wire, roots: Sequence[str]) -> _WorkerState:
        """The state of these roots that the worker behind a connection reports."""
        found: dict[str, int] = {}
        paths = [path for path in _children(wire, "") if path in roots]
        while paths:
            path = paths.pop()
            configs = _configs(wire, f"{path}:")
            assert configs is not None, f"{path} is listed, and is not there"
            found[path] = int(configs["gateway.topics"])
            paths += _children(wire, path)
        prefixes = tuple(f"{root}:" for root in roots)
        listed = {str(topic.name) for topic in wire.ask("Metadata", 8, topics=None).topics}
        return cls(found, frozenset(name for name in listed if name.startswith(prefixes)))

    def flat(self) -> set[str]:
        """The flat names of the topics."""
        return {namespaces.flat(name) for name in self.topics}

    def check(self, tally: Tally, inner: dict[str, list[str]]) -> None:
        """Check that nothing is half-made, and that the state matches the responses."""
        held = Counter(name.rpartition(":")[0] for name in self.topics)
        assert held == {path: count for path, count in self.namespaces.items() if count}
        for path in self.namespaces:
            above = path.rpartition(":")[0]
            assert not above or above in self.namespaces, f"{path} has lost {above}"
        for tier in (tier for tiers in inner.values() for tier in tiers):
            made, ended = tally.done("create namespace", tier), tally.done("delete namespace", tier)
            assert made - ended == (tier in self.namespaces), (tier, made, ended)
        for name in self.topics:
            assert tally.done("create topic", name) > tally.done("delete topic", name), name


def _configs(wire: Wire, name: str) -> dict[str, Any] | None:
    """The configs of a namespace, or None if it does not exist."""
    resource = {"resource_type": TOPIC, "resource_name": name, "configuration_keys": None}
    (answer,) = wire.ask("DescribeConfigs", 4, resources=[resource]).results
    if int(answer.error_code) == clients.UNKNOWN_TOPIC_OR_PARTITION:
        return None
    assert int(answer.error_code) == NONE, answer
    return {str(config.name): config.value for config in answer.configs}


def _children(wire: Wire, path: str) -> list[str]:
    configs = _configs(wire, f"{path}:")
    return [name for name in str((configs or {})["gateway.namespaces"] or "").split(",") if name]


def _deleting(wire: Wire, roots: Sequence[str]) -> bool:
    """Whether any namespace is still being deleted."""
    paths = list(roots)
    while paths:
        path = paths.pop()
        configs = _configs(wire, f"{path}:")
        if configs is None:
            continue
        if "gateway.deleting" in configs:
            return True
        paths += [name for name in str(configs["gateway.namespaces"] or "").split(",") if name]
    return False


def _one_each(gateway: GatewayProcess) -> list[Wire]:
    """A connection to each worker; more are opened than kept, because the kernel spreads them."""
    found: dict[int, Wire] = {}
    spare: list[Wire] = []
    servers = gateway.bootstrap_servers("colon")

    def all_found() -> bool:
        wire = Wire(servers)
        wire.ask("Metadata", 8, topics=[])
        pid = _worker_of(gateway, wire)
        if found.setdefault(pid, wire) is not wire:
            spare.append(wire)
        return len(found) == WORKERS

    wait_until(all_found, "a connection to each worker", clients.SECONDS, poll=0)
    for wire in spare:
        wire.close()
    return list(found.values())


def _worker_of(gateway: GatewayProcess, wire: Wire) -> int:
    port = int(wire.local_address.rpartition(":")[2])
    for worker in processes.workers(gateway):
        for connection in worker.net_connections("tcp"):
            if connection.status == psutil.CONN_ESTABLISHED and connection.raddr.port == port:
                return worker.pid
    raise AssertionError(f"no worker has the connection from port {port}")
