"""Site A is lost: a group goes on at site B by its translated offsets, and comes back, and misses
no record on either way. Commands are those of docs/mirrormaker.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.mirror_maker import MirrorMakerProcess
from devkit.waiting import wait_until
from tests.live.mirror import sites
from tests.live.mirror.sites import LAG
from tests.live.support import clients, namespaces
from tests.live.support.clients import SECONDS

PARTITIONS: Final = 3
TOPIC: Final = "team-a:orders"
GROUP: Final = "billing"
BEFORE, MEANWHILE, AFTER = range(20_000), range(20_000, 26_000), range(26_000, 28_000)
READ_AT_A: Final = 19_400


@pytest.fixture(scope="module")
def site_a(a: KafkaCluster) -> Iterator[GatewayProcess]:
    """Site A. At listener ``back`` what comes back from site B is in the namespace ``from-b``."""
    listeners = [
        Listener("colon", "all"),
        Listener("back", "site B's MirrorMaker", security={"mirrors": {"B": "from-b"}}),
    ]
    with GatewayProcess(a.bootstrap_servers, listeners, ["team-a", "from-b:team-a"]) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def site_b(b: KafkaCluster) -> Iterator[GatewayProcess]:
    """Site B. At listener ``dr`` everything of site A has the names it has there."""
    listeners = [
        Listener("colon", "all"),
        Listener("dr", "site A's applications", home="dr:a", list_subtree=True),
    ]
    with GatewayProcess(b.bootstrap_servers, listeners, ["dr:a:team-a"]) as gateway:
        yield gateway


def values(numbers: Sequence[int]) -> set[bytes | None]:
    """The values of these records; each has its number in it."""
    return {value for _, value, _ in map(sites.record, numbers)} - {None}


def test_failing_over_and_back_without_loss(site_a: GatewayProcess, site_b: GatewayProcess) -> None:
    at_a, dr = site_a.bootstrap_servers("colon"), site_b.bootstrap_servers("dr")
    sites.create(at_a, [TOPIC], PARTITIONS)
    read_at_a: set[bytes | None] = set()
    with MirrorMakerProcess({"A": at_a, "B": dr}, [("A", "B")], sites.IDENTITY) as mirror_maker:
        sites.fill(at_a, TOPIC, len(BEFORE), PARTITIONS)
        read_at_a |= set(sites.read(at_a, GROUP, [TOPIC], READ_AT_A).values())
        sites.await_values(dr, TOPIC, values(BEFORE))
        _await_translated(at_a, dr, TOPIC, TOPIC)
        mirror_maker.kill()  # site A is lost, and what is between the sites with it

    read_at_b = sites.read(dr, GROUP, [TOPIC], _left(dr))
    assert read_at_a | set(read_at_b.values()) >= values(BEFORE), "records were lost"
    again = read_at_a & set(read_at_b.values()) - {None}
    assert len(again) <= sum(_repeated(at_a, TOPIC).values()), "too many records came twice"
    sites.fill(dr, TOPIC, len(MEANWHILE), PARTITIONS, first=MEANWHILE[0])

    # Site A is back. Its topic is what it was; site B's comes beside it, then takes its place.
    back = site_a.bootstrap_servers("back")
    read = set(sites.read(dr, GROUP, [TOPIC], len(MEANWHILE) // 2).values())
    with MirrorMakerProcess({"B": dr, "A": back}, [("B", "A")]):
        sites.await_values(back, f"B.{TOPIC}", values(BEFORE) | values(MEANWHILE))
        _await_translated(dr, back, TOPIC, f"B.{TOPIC}")
    namespaces.command("topics", "--bootstrap-server", at_a, "--create", "--namespace", "before")
    for source, target in (("team-a", "before"), ("from-b:team-a", "team-a")):
        move = ["--from-namespace", source, "--to-namespace", target]
        namespaces.command("topics", "--bootstrap-server", at_a, "--move", *move)
    sites.fill(at_a, TOPIC, len(AFTER), PARTITIONS, first=AFTER[0])
    read |= set(sites.read(at_a, GROUP, [TOPIC], _left(at_a)).values())
    assert read >= values(MEANWHILE) | values(AFTER), "records were lost"
    assert sites.content(at_a, "before:orders").partitions  # site A's own records are still there


def _left(servers: str) -> int:
    """How many records the group has not read."""
    read = sites.committed(servers, GROUP, [TOPIC])
    return sum(end - read.get(at, 0) for at, end in sites.ends(servers, [TOPIC]).items())


def _await_translated(source: str, target: str, topic: str, remote: str) -> None:
    """Wait until the group's offsets at the target are behind those at the source by no more than
    MirrorMaker promises. Records have the same offsets there, but behind those that MirrorMaker has
    copied twice, as it does when it starts a task again: then they have higher ones."""
    committed = sites.committed(source, GROUP, [topic])
    allowed = _repeated(source, topic)
    twice = _twice(source, target, topic, remote)

    def translated() -> bool:
        found = sites.committed(target, GROUP, [remote]) if remote in clients.listed(target) else {}
        behind = {at: committed[at] - found.get((remote, at[1]), -1) for at in committed}
        return all(-twice[at] <= behind[at] <= allowed[at] for at in committed)

    wait_until(translated, f"translated offsets of {GROUP}", SECONDS, poll=0.5)


def _twice(source: str, target: str, topic: str, remote: str) -> dict[tuple[str, int], int]:
    """How many records of each partition MirrorMaker has copied twice."""
    copied = sites.ends(target, [remote])
    return {at: copied[remote, at[1]] - end for at, end in sites.ends(source, [topic]).items()}


def _repeated(servers: str, topic: str) -> dict[tuple[str, int], int]:
    """How many records of each partition may come twice: ``offset.lag.max``, and behind the end 4
    times what was not read, since older offsets are translated by syncs that are kept at
    exponential distances (OffsetSyncStore, invariants B and C)."""
    committed = sites.committed(servers, GROUP, [topic])
    ends = sites.ends(servers, [topic])
    return {at: LAG + 4 * (ends[at] - offset) for at, offset in committed.items()}
