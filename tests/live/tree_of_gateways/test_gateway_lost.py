"""A gateway or a cluster of the tree dies, and clients with names of other sites do not notice.

Names of the lost site return with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pytest

from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.tree_of_gateways.latency import p99
from tests.live.tree_of_gateways.outages import (
    Far,
    Metadata,
    Untouched,
    cluster_killed,
    gateway_killed,
    running,
)
from tests.live.tree_of_gateways.sites import (
    LA,
    NAMES,
    ROOT,
    TRACKING,
    VOLUMES,
    Site,
    Tree,
    absolute,
    flat,
    relative,
)
from tests.pace import Pace

pytestmark = pytest.mark.alone

REQUESTS: Final = 300
"""Requests by which latency is measured, before an outage and in it."""

FACTOR: Final = 4
SLACK: Final = 0.05
"""How much longer local requests may take during an outage, at the p99.

A factor of the time before, and seconds besides. A request that waits for another gateway takes 0.5
s.
"""

BOUNDED, AT_ONCE = 1.5, 0.4
"""Seconds for a response about lost names, before the gateway knows of the loss, and after.

0.5 s of the first are for the wait, the rest is for a busy machine.
"""

Outage = Callable[[Site], AbstractContextManager[None]]

EVERY: Final = [(losing, lost) for losing in (gateway_killed, cluster_killed) for lost in VOLUMES]
OUTAGES: Final = (
    EVERY if "TREE_OUTAGES" in os.environ else [(gateway_killed, LA), (cluster_killed, ROOT)]
)
"""The clusters and gateways lost: two, or every one with ``make tree-outages``.

Each takes more than a minute.
"""


@pytest.mark.parametrize(
    ("losing", "lost"), OUTAGES, ids=[f"{how.__name__}-{NAMES[lost]}" for how, lost in OUTAGES]
)
def test_clients_with_names_of_their_own_site_see_nothing_of_it(
    tree: Tree, losing: Outage, lost: str, pace: Pace, tmp_path: Path
) -> None:
    stem = f"{losing.__name__.replace('_', '-')}-{NAMES[lost]}"
    others = [site for site in tree.values() if site.mount != lost]
    untouched = [Untouched(site, tree[lost], f"{stem}-{NAMES[site.mount]}") for site in others]
    far = [Far(site, tree[lost], f"{stem}-{NAMES[site.mount]}") for site in others]
    loads: list[Untouched | Far] = [*untouched, *far]
    told = [Metadata(each.site.servers(), each.far, each.near) for each in far]
    with running(*loads), far[0].with_java(tmp_path):
        before = [each.prober.await_requests(REQUESTS) for each in untouched]
        assignments = [load.member.assignments for load in loads]
        with losing(tree[lost]):
            for each in told:
                each.check_lost(BOUNDED, pace)
            during = [each.prober.await_requests(REQUESTS) for each in untouched]
            for client in (one for load in untouched for one in load.all):
                client.await_progress("the loss")
            for mixed in far:
                mixed.await_progress("the loss", mixed.near)
            for each in told:
                each.check_lost(AT_ONCE, pace)
        for each in told:
            each.await_return()
        for mixed in far:
            mixed.await_progress("the return", mixed.far)
        assert [load.member.assignments for load in loads] == assignments, "a group rebalanced"
        for load in loads:
            load.settle()
    for load in loads:
        load.check()
    for site, calm, lossy in zip(others, before, during, strict=True):
        bound = pace.stretched(FACTOR * p99(calm) + SLACK)
        assert p99(lossy) < bound, f"{NAMES[site.mount]}: {p99(lossy):.3f} s, {p99(calm):.3f} s"


def test_a_listener_for_a_lost_volume_responds_as_last_known(tree: Tree, pace: Pace) -> None:
    """Also after a restart of its own gateway, from the snapshot on its disk."""
    root, owner = tree[ROOT], tree[TRACKING]
    name = "search:last-known"
    clients.create(owner.servers(), relative(TRACKING, name), partitions=3)
    clients.create(root.servers(), "near")
    clients.await_led(owner.servers(), relative(TRACKING, name))
    told = Metadata(
        root.servers(TRACKING), relative(TRACKING, name), absolute(TRACKING, ROOT, "near")
    )
    with gateway_killed(owner):
        told.check_lost(BOUNDED, pace)
        wait_until(lambda: root.gateway.keeps("last-known"), "the topic on disk", clients.SECONDS)
        with gateway_killed(root):
            pass
        told.check_lost(BOUNDED, pace)
        told.check_lost(AT_ONCE, pace)
    told.await_return()
    clients.produce(root.servers(TRACKING), relative(TRACKING, name), ["back"])
    stored = clients.consume(owner.kafka.bootstrap_servers, flat(name), 1, "direct-last-known")
    assert stored == ["back"]
