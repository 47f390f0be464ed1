"""A client requests unknown names of another gateway as fast as it can.

Clients with names of the gateway's own cluster do not wait longer than during any other flood.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

import pytest

from devkit.waiting import wait_until
from protocol import messages
from protocol.headers import request_header_version
from protocol.schema import api_key_of
from tests.live.support import clients, processes
from tests.live.support.steady import Steady
from tests.live.support.wire import Wire, entity, request_frame, response_body
from tests.live.tree_of_gateways.latency import Prober, p99
from tests.live.tree_of_gateways.sites import NAMES, ROOT, TRACKING, Site, Tree, absolute
from tests.pace import Pace

pytestmark = pytest.mark.alone

METADATA, VERSION = api_key_of("MetadataRequest"), 12

NAMES_PER_SECOND: Final = 10_000
NAMES_OF_A_REQUEST: Final = 100
REQUESTS_AT_ONCE: Final = 10
ROUND_SECONDS: Final = NAMES_OF_A_REQUEST * REQUESTS_AT_ONCE / NAMES_PER_SECOND

LOCAL_NAMES: Final = 20_000
"""Names of a flood of local names, the baseline for a flood of far names."""

FIRST_NAMES: Final = 100_000
"""Names of a first flood of far names, which fills the gateways' caches of names."""

FAR_NAMES: Final = 60_000
"""Names of the flood of far names that is measured."""

FACTOR: Final = 3
SLACK: Final = 0.05
"""How much longer local requests may take than during a flood of local names, at the p99.

``FACTOR`` times, and ``SLACK`` seconds besides.
"""

GROWTH: Final = 16 * 1024 * 1024
"""Bytes that a gateway may grow by during the flood; caching every name would take more."""

_NUMBER: Final = b"-00000000-"
"""The part of a name that is different in each request of a flood."""

_numbers = itertools.count(1)


class Flood(Steady):
    """A client that requests metadata of names that were never requested before.

    It sends at a fixed rate, or as fast as responses come if that is slower.
    """

    def __init__(self, servers: str, stem: str) -> None:
        super().__init__(f"flood of {stem}", self._work)
        self.answered = 0
        self._servers = servers
        topics = [
            {"topic_id": None, "name": f"{stem}{_NUMBER.decode()}{place}"}
            for place in range(NAMES_OF_A_REQUEST)
        ]
        fields = {"topics": topics, "allow_auto_topic_creation": False}
        request = entity(messages.message_class("MetadataRequest", VERSION), fields)
        self._body = messages.write(request)

    def await_answered(self, count: int) -> None:
        """Wait for the responses to so many more names."""
        due = self.answered + count
        wait_until(lambda: self.problems or self.answered >= due, self.name, clients.SECONDS)
        self.check()

    def _work(self, _: Steady) -> None:
        with Wire(self._servers) as wire:
            while not self.stopping.is_set():
                began = time.monotonic()
                numbers = [next(_numbers) for _ in range(REQUESTS_AT_ONCE)]
                wire.send(b"".join(map(self._request, numbers)))
                for number in numbers:
                    self._take(response_body(METADATA, VERSION, number, wire.frame()))
                self.stopping.wait(max(0.0, began + ROUND_SECONDS - time.monotonic()))

    def _request(self, number: int) -> bytes:
        body = self._body.replace(_NUMBER, b"-%08d-" % number)
        return request_frame(
            METADATA, VERSION, body, number, request_header_version(METADATA, VERSION)
        )

    def _take(self, body: bytes) -> None:
        if self.answered % (NAMES_OF_A_REQUEST * REQUESTS_AT_ONCE) == 0:  # parsing all is slow
            topics = messages.parse("MetadataResponse", VERSION, body).topics
            codes = {int(topic.error_code) for topic in topics}
            if len(topics) != NAMES_OF_A_REQUEST or 0 in codes:
                self.problems.append(f"{len(topics)} topics with {codes}")
        self.answered += NAMES_OF_A_REQUEST


def waits(probers: Sequence[Prober], flood: Flood, names: int) -> list[float]:
    """The p99 of each prober's requests during a flood of so many names."""
    with flood:
        flood.await_answered(NAMES_OF_A_REQUEST * REQUESTS_AT_ONCE)
        begins = [len(each.took) for each in probers]
        began, before = time.monotonic(), flood.answered
        flood.await_answered(names)
        rate = (flood.answered - before) / (time.monotonic() - began)
        print(f"{flood.name}: {rate:,.0f} names a second")
        taken = [each.took[begin:] for each, begin in zip(probers, begins, strict=True)]
    flood.check()
    return [p99(each) for each in taken]


def _usual_wait(site: Site, prober: Prober) -> float:
    """A prober's p99 during a flood of names of its own cluster."""
    names = absolute(site.mount, site.mount, "flood")
    return waits([prober], Flood(site.servers(), names), LOCAL_NAMES)[0]


def test_unknown_far_names_cost_others_no_more_than_unknown_local_ones(
    tree: Tree, pace: Pace
) -> None:
    """From the root to the bottom, so also clients of the gateway between the two."""
    sites = list(tree.values())
    for site in sites:
        clients.create(site.servers(), "flooded")
        clients.await_led(site.servers(), "flooded")
    root = tree[ROOT].servers()
    far = absolute(ROOT, TRACKING, "flood")
    with ExitStack() as stack:
        probers = [stack.enter_context(Prober(site.servers(), "flooded")) for site in sites]
        usual = [_usual_wait(site, prober) for site, prober in zip(sites, probers, strict=True)]
        waits(probers, Flood(root, far), FIRST_NAMES)
        before = [processes.memory(site.gateway) for site in sites]
        meanwhile = waits(probers, Flood(root, far), FAR_NAMES)
        grown = [
            processes.memory(site.gateway) - size for site, size in zip(sites, before, strict=True)
        ]
        for prober in probers:
            prober.check()
    for site, took, calm, growth in zip(sites, meanwhile, usual, grown, strict=True):
        name = NAMES[site.mount]
        assert took < pace.stretched(FACTOR * calm + SLACK), f"{name}: {took:.3f} s, {calm:.3f} s"
        assert growth < GROWTH, f"{name} grew by {growth:,} bytes"
