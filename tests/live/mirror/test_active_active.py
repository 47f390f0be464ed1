"""Two sites that both write, and each has the other's topics, without cycles.

The copies are named ``A.…`` and ``B.…``, in namespaces below ``A`` and ``B``. MIRROR_SECONDS=N:
seconds for which both sites are written to (``make mirror``: half an hour).
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.mirror_maker import MirrorMakerProcess
from devkit.waiting import wait_until
from tests.live.mirror import sites
from tests.live.support import clients
from tests.live.support.clients import SECONDS

pytestmark = pytest.mark.long("brokers")

WRITE_SECONDS: Final = float(os.environ.get("MIRROR_SECONDS", "10"))
TOPICS: Final = ("team-a..orders", "clicks", "clicks.internal", "team-a..x-internal")
PARTITIONS: Final = 2
AT_ONCE: Final = 200
STILL_SECONDS: Final = 5.0
"""Seconds without a write after which both sites have everything.

MirrorMaker copies at once, and looks for topics once a second.
"""


@dataclass(frozen=True)
class Site:
    """A site, called ``name``.

    MirrorMaker connects to ``servers``, applications to ``colon``; ``first`` is the number of the
    first record written here.
    """

    name: str
    other: str
    kafka: KafkaCluster
    servers: str
    colon: str
    first: int

    @property
    def copies(self) -> list[str]:
        """Copies of the other site's topics, by their names here."""
        return [f"{self.other}.{topic}" for topic in TOPICS]


@pytest.fixture(scope="module")
def both(a: KafkaCluster, b: KafkaCluster) -> Iterator[tuple[Site, Site]]:
    """Both sites, each behind a gateway with a legal listener."""
    found = []
    gateways = []
    for name, other, kafka, first in (("A", "B", a, 0), ("B", "A", b, 1_000_000)):
        listeners = [
            Listener("legal", "MirrorMaker", spelling="legal"),
            Listener("colon", "applications"),
        ]
        gateway = GatewayProcess(kafka.bootstrap_servers, listeners, ["team-a", f"{other}:team-a"])
        gateways.append(gateway.start())
        at_legal, at_colon = map(gateway.bootstrap_servers, ("legal", "colon"))
        found.append(Site(name, other, kafka, at_legal, at_colon, first))
    yield found[0], found[1]
    for gateway in gateways:
        gateway.stop()


def test_nothing_goes_in_circles(both: tuple[Site, Site]) -> None:
    site_a, site_b = both
    for site in both:
        sites.create(site.servers, TOPICS, PARTITIONS)
    before = {site.name: site.kafka.topics() for site in both}
    clusters = {site.name: site.servers for site in both}
    with (
        MirrorMakerProcess(clusters, [("A", "B"), ("B", "A")]),
        ThreadPoolExecutor(2) as pool,
    ):
        written = dict(zip("AB", pool.map(_write, both), strict=True))
        for site in both:
            for copy in site.copies:
                sites.await_records(site.servers, copy, written[site.other])
        _await_stillness(both)
        for here, there in ((site_a, site_b), (site_b, site_a)):
            for topic in TOPICS:
                original = sites.content(there.servers, topic)
                copied = sites.content(here.servers, f"{there.name}.{topic}")
                assert copied.partitions == original.partitions, f"{there.name}.{topic}"
                assert sum(one.records for one in original.partitions) == written[there.name]
        for site in both:
            # MirrorMaker's own topics may come late, as the copy of heartbeats does.
            clients.await_stored(site.kafka, *_expected(site))
            assert site.kafka.topics() - before[site.name] == _expected(site), site.name
            _check_group_reads_everything(site, written)


def _write(site: Site) -> int:
    """Write for a while; the number of records in each topic after that."""
    count, until = 0, time.monotonic() + WRITE_SECONDS
    while time.monotonic() < until:
        for topic in TOPICS:
            sites.fill(site.servers, topic, AT_ONCE, PARTITIONS, first=site.first + count)
        count += AT_ONCE
        time.sleep(0.1)  # a site with steady writes, not a full one
    return count


def _await_stillness(both: tuple[Site, Site]) -> None:
    """Wait until no topic but MirrorMaker's own has been written to for a while."""

    def written() -> dict[str, int]:
        found: dict[str, int] = {}
        for site in both:
            names = [name for name in clients.listed(site.servers) if not _is_own(name)]
            ends = sites.ends(site.servers, names)
            found |= {f"{site.name} {at}": end for at, end in ends.items()}
        return found

    last, since = written(), time.monotonic()

    def still() -> bool:
        nonlocal last, since
        now = written()
        if now != last:
            last, since = now, time.monotonic()
        return time.monotonic() - since >= STILL_SECONDS

    wait_until(still, "an end of copying: topics go in circles", SECONDS, poll=0.5)


def _is_own(name: str) -> bool:
    return name.endswith(("heartbeats", ".checkpoints.internal")) or name.startswith("mm2-")


def _expected(site: Site) -> set[str]:
    """The flat names of the topics that MirrorMaker creates at a site.

    These are copies, also in namespaces below the other site's, and its own topics.
    """
    other = site.other
    own = {f"mm2-{what}.{other}.internal" for what in ("configs", "offsets", "status")}
    own |= {f"mm2-offset-syncs.{other}.internal", f"{other}.checkpoints.internal", "heartbeats"}
    return own | {f"{other}.{name}" for name in (*TOPICS, "heartbeats")}


def _check_group_reads_everything(site: Site, written: dict[str, int]) -> None:
    """A group that subscribes to both sites' topics reads each record once.

    Active/active replication requires this of consumers.
    """
    count = written["A"] + written["B"]
    topics = ["team-a:orders", f"{site.other}:team-a:orders"]
    found = sites.read(site.colon, f"both-{site.name}", topics, count)
    values = Counter(found.values())
    first = {"A": 0, "B": 1_000_000}
    expected = Counter(
        sites.record(first[name] + number)[1] for name in "AB" for number in range(written[name])
    )
    assert values == expected
