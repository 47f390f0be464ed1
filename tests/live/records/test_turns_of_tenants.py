"""A client that sends long requests on many connections, and another tenant's long request.

Both are served by one worker. Without logins a tenant is an address.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from protocol import messages
from tests.live.records.test_stalls import METADATA, body_of
from tests.live.support import clients
from tests.live.support.wire import ConnectionEnded, Wire

pytestmark = pytest.mark.alone

VERSION = 9

BODY = body_of("Metadata", VERSION, {"topics": [{"name": f"no:{n}"} for n in range(30_000)]})

LOOPS = 30

REQUESTS = 3

MOST = 5
"""Responses that the flood gets while another tenant waits for one, at most. It has half of the
turns, so it gets as many, and those that were almost done. One after the other would be all
loops'."""


class Flood:
    """Clients at 127.0.0.1 that repeat a long request. ``answered`` counts their responses."""

    def __init__(self, address: str) -> None:
        self.answered = 0
        self.ended = threading.Event()
        self.problems: list[Exception] = []
        self._address = address
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(LOOPS)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        try:
            while not self.ended.is_set():
                self._repeat()
        except Exception as error:  # noqa: BLE001 - reported by the test
            self.problems.append(error)

    def _repeat(self) -> None:
        """Repeat the request, as long as the gateway does not close the connection: on a busy
        machine one that waits for others of its address may have to make room for them."""
        with suppress(ConnectionEnded, ConnectionError), Wire(self._address, seconds=300.0) as wire:
            while not self.ended.is_set():
                wire.exchange(METADATA, VERSION, BODY)
                self.answered += 1

    def end(self) -> None:
        """Stop sending requests."""
        self.ended.set()
        for thread in self._threads:
            thread.join()


@contextmanager
def flood(address: str) -> Iterator[Flood]:
    one = Flood(address)
    try:
        wait_until(lambda: one.problems or one.answered >= 2, "responses", clients.SECONDS)
        yield one
    finally:
        one.end()


def test_a_long_request_beside_a_flood_of_another_tenant(gateway: GatewayProcess) -> None:
    address = gateway.bootstrap_servers("colon")
    with flood(address) as one, Wire(address, source="127.0.0.2", seconds=300.0) as other:
        before = one.answered
        for _ in range(REQUESTS):
            answer = other.exchange(METADATA, VERSION, BODY)
            assert len(messages.parse("MetadataResponse", VERSION, answer).topics) == 30_000
        meanwhile = one.answered - before
    assert not one.problems
    assert meanwhile <= MOST * REQUESTS
