"""Share groups go on when their gateway ends, by SIGTERM or ``kill -9``, as when a broker does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, processes, share_workers
from tests.live.support.share_workers import Member, Outcome, ShareWorkers

pytestmark = pytest.mark.long("kills")

Names = Callable[[str], str]

COUNT: Final = 200
BEFORE: Final = 40
"""Records that are accepted before the end of the gateway, or of the broker."""

PACE: Final = {"max.poll.records": "5"}
VALUES: Final = [*(f"again-{number}" for number in range(10)), *map(str, range(COUNT - 10))]
LISTENERS: Final = (Listener("home-a", "team-a is home", home="team-a"),)


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    """A broker that may be killed."""
    with KafkaCluster(missed_quickly=True, overrides=share_workers.QUICK) as cluster:
        yield cluster


def stopped(gateway: GatewayProcess) -> None:
    """SIGTERM, and a start afterwards."""
    assert gateway.process.terminate(clients.SECONDS) == 0
    gateway.kill()
    gateway.start_again()


def killed(gateway: GatewayProcess) -> None:
    """``kill -9``, and a start afterwards."""
    gateway.kill()
    gateway.start_again()


def broker_stopped(kafka: KafkaCluster) -> None:
    """What SIGTERM of a gateway is compared with."""
    kafka.restart_broker(1)


def broker_killed(kafka: KafkaCluster) -> None:
    """What ``kill -9`` of a gateway is compared with."""
    kafka.kill_broker(1)
    kafka.restart_broker(1)


def two_members(servers: str, group: str, topic: str) -> list[Member]:
    """Members that work for some seconds."""
    names = ("first", "second")
    return [Member(name, servers, group, (topic,), 0, 100, PACE) for name in names]


def interrupted(
    kafka: KafkaCluster,
    members: list[Member],
    prefix: str,
    directory: Path,
    interrupt: Callable[[], None],
) -> tuple[Outcome, ShareWorkers]:
    """What becomes of the records if something ends in the middle; ``prefix``: of flat names."""
    (topic,), group = members[0].topics, members[0].group
    share_workers.from_the_beginning(kafka, f"{prefix}{group}")
    clients.create(members[0].servers, topic)
    clients.await_stored(kafka, f"{prefix}{topic}")
    share_workers.produce(members[0].servers, topic, VALUES)
    with share_workers.share_workers(directory, *members) as workers:
        workers.await_more("", "accept", BEFORE)
        interrupt()
        assert len(workers.values("", "accept")) < COUNT, "it was over before the interruption"
        share_workers.await_done(kafka, f"{prefix}{group}", f"{prefix}{topic}")
    return workers.outcome(""), workers


def check(outcome: Outcome, workers: ShareWorkers) -> None:
    """Fail if a record is lost, or comes again after its acceptance. What was under way when the
    connection ended fails, and is delivered once more, unless its broker had carried it out."""
    assert outcome.again == frozenset()
    lost = {*VALUES} - outcome.accepted
    assert lost <= workers.values("", "failed") | workers.values("", "unanswered")
    assert workers.values("", "take") == {*VALUES}
    assert workers.errors("") == set()


@pytest.mark.parametrize("ends", [broker_stopped, broker_killed])
def test_members_go_on_at_the_broker_that_starts_again(
    ends: Callable[[KafkaCluster], None], kafka: KafkaCluster, unique: Names, tmp_path: Path
) -> None:
    """What the next test is compared with."""
    name = unique("plain")
    members = two_members(kafka.bootstrap_servers, name, name)
    check(*interrupted(kafka, members, "", tmp_path, lambda: ends(kafka)))


@pytest.mark.parametrize("ends", [stopped, killed])
def test_members_go_on_at_the_gateway_that_starts_again(
    ends: Callable[[GatewayProcess], None], kafka: KafkaCluster, unique: Names, tmp_path: Path
) -> None:
    """Every record is acknowledged in the end, and none is given out again after its acceptance."""
    with GatewayProcess(kafka.bootstrap_servers, LISTENERS, ["team-a"]) as gateway:
        servers = gateway.bootstrap_servers("home-a")
        members = two_members(servers, unique("workers"), unique("queue"))
        check(*interrupted(kafka, members, "team-a..", tmp_path, lambda: ends(gateway)))
        processes.forget_killed(kafka)
