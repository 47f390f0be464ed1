"""Site A is lost: a group continues at site B by its translated offsets, and returns.

It misses no record either way. The commands are those of docs/mirrormaker.md.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from confluent_kafka import KafkaException

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.mirror_maker import MirrorMakerProcess, read_properties
from devkit.waiting import wait_until
from tests.live.mirror import sites
from tests.live.mirror.sites import LAG
from tests.live.support import clients, namespaces
from tests.live.support.clients import SECONDS

pytestmark = pytest.mark.long("brokers")

CONFIG: Final = Path(__file__).parents[3] / "config"
PARTITIONS: Final = 3
TOPIC: Final = "team-a:orders"
GROUP: Final = "billing"
BEFORE, MEANWHILE, AFTER = range(20_000), range(20_000, 26_000), range(26_000, 28_000)
READ_AT_A: Final = 19_400
_TRIES: Final = 5


@pytest.fixture(scope="module")
def site_a(a: KafkaCluster) -> Iterator[GatewayProcess]:
    """The gateway of site A."""
    with GatewayProcess(a.bootstrap_servers, [Listener("colon", "all")], ["team-a"]) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def site_b(b: KafkaCluster) -> Iterator[GatewayProcess]:
    """The gateway of site B.

    At listener ``dr`` all topics of site A have the names that they have there.
    """
    listeners = [
        Listener("colon", "all"),
        Listener("dr", "site A's applications", home="dr:a", list_subtree=True),
    ]
    with GatewayProcess(b.bootstrap_servers, listeners, ["dr:a:team-a"]) as gateway:
        yield gateway


def test_failing_over_and_back_without_loss(site_a: GatewayProcess, site_b: GatewayProcess) -> None:
    at_a, dr = site_a.bootstrap_servers("colon"), site_b.bootstrap_servers("dr")
    sites.create(at_a, [TOPIC], PARTITIONS)
    read_at_a: set[bytes | None] = set()
    with MirrorMakerProcess({"A": at_a, "B": dr}, [("A", "B")], sites.IDENTITY) as mirror_maker:
        sites.fill(at_a, TOPIC, len(BEFORE), PARTITIONS)
        read_at_a |= set(sites.read(at_a, GROUP, [TOPIC], READ_AT_A).values())
        # Site A is lost, and MirrorMaker with it.
        _Copied(at_a, TOPIC, dr, TOPIC).end(mirror_maker, mirror_maker.kill)

    read_at_b = set(sites.read_left(dr, GROUP, [TOPIC]).values())
    assert _missing(BEFORE, read_at_a | read_at_b) == [], "records were lost"
    again = read_at_a & read_at_b - {None}
    assert len(again) <= sum(_repeated(at_a, TOPIC).values()), "too many records came twice"
    sites.fill(dr, TOPIC, len(MEANWHILE), PARTITIONS, first=MEANWHILE[0])

    # Site A is back. Its topic is moved to make room for the copy of site B's.
    namespaces.command("topics", "--bootstrap-server", at_a, "--create", "--namespace", "before")
    move = ["--from-namespace", "team-a", "--to-namespace", "before"]
    namespaces.command("topics", "--bootstrap-server", at_a, "--move", *move)
    read = set(sites.read(dr, GROUP, [TOPIC], len(MEANWHILE) // 2).values())
    at_b = sites.ends(dr, [TOPIC])
    settings = sites.IDENTITY | sites.BACK
    with MirrorMakerProcess({"B": dr, "A": at_a}, [("B", "A")], settings) as mirror_maker:
        _Copied(dr, TOPIC, at_a, TOPIC).end(mirror_maker, mirror_maker.stop)
    assert sites.ends(dr, [TOPIC]) == at_b, "the flow from site A has begun again"
    sites.fill(at_a, TOPIC, len(AFTER), PARTITIONS, first=AFTER[0])
    was = sites.committed(at_a, GROUP, [TOPIC])
    read_after = sites.read_left(at_a, GROUP, [TOPIC])
    # No other client commits now. An earlier start would be a repetition, a later start a loss.
    assert _begun(read_after) == was, "the group went on elsewhere than it was"
    read |= set(read_after.values())
    assert _missing([*MEANWHILE, *AFTER], read) == [], f"records were lost; the group was at {was}"
    assert sites.content(at_a, "before:orders").partitions  # site A's own records are still there


def _missing(numbers: Sequence[int], read: set[bytes | None]) -> list[int]:
    """The numbers of records that were not read at all."""
    known = read | {None}
    return [number for number in numbers if sites.record(number)[1] not in known]


def _begun(read: Iterable[tuple[str, int, int]]) -> dict[tuple[str, int], int]:
    """The first offset read of each partition."""
    begun: dict[tuple[str, int], int] = {}
    for topic, partition, offset in read:
        begun[topic, partition] = min(offset, begun.get((topic, partition), offset))
    return begun


class _Copied(NamedTuple):
    """A topic at its site, and its copy at the other site."""

    source: str
    topic: str
    target: str
    copy: str

    def end(self, mirror_maker: MirrorMakerProcess, end: Callable[[], None]) -> None:
        """End MirrorMaker when the group can continue at the copy.

        MirrorMaker copies records again when it restarts a task, and translates offsets to the new
        copies as they come. If it ends before that, the group is behind the first copies of records
        that have no second copy: then MirrorMaker has to run on.
        """
        for _ in range(_TRIES):
            wait_until(self._is_translated, f"translated offsets of {GROUP}", SECONDS, poll=0.5)
            end()
            if self._is_translated():
                return
            mirror_maker.start()
        raise AssertionError(f"MirrorMaker was copying once more each of {_TRIES} times")

    def _is_translated(self) -> bool:
        """Whether the copy, from the group's offset on, has all records that the group has not
        read.

        It may repeat no more records than MirrorMaker promises.
        """
        was = sites.committed(self.source, GROUP, [self.topic])
        left = sites.values(self.source, self.topic, was) - {None}
        # The copy is listed before its partitions have a leader.
        with contextlib.suppress(KafkaException):
            if self.copy not in clients.listed(self.target):
                return False
            begins = sites.committed(self.target, GROUP, [self.copy])
            comes = sites.values(self.target, self.copy, begins) - {None}
            again = Counter(_partition(value) for value in comes - left)
            allowed = _repeated(self.source, self.topic)
            return (
                len(begins) == len(was)
                and left <= comes
                and all(again[at[1]] <= most for at, most in allowed.items())
            )
        return False


def _partition(value: bytes | None) -> int:
    """The partition of a record, by its value."""
    assert value is not None
    return int(value.partition(b";")[0]) % PARTITIONS


def _repeated(servers: str, topic: str) -> dict[tuple[str, int], int]:
    """How many records of each partition may come twice.

    ``offset.lag.max``, and at the end 4 times the unread records, because older offsets are
    translated by syncs at exponential distances (OffsetSyncStore, invariants B and C).
    """
    committed = sites.committed(servers, GROUP, [topic])
    ends = sites.ends(servers, [topic])
    return {at: LAG + 4 * (ends[at] - offset) for at, offset in committed.items()}


def test_the_configuration_for_the_way_back_has_the_settings_of_this_test() -> None:
    written = read_properties((CONFIG / "mirror-back.properties").read_text())
    assert written.items() >= (sites.IDENTITY | sites.BACK).items()
