"""Signatures are verified in threads, and addresses take turns."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gateway.connections.signatures import AT_ONCE, Signatures
from tests.waiting import eventually

SEVERAL, ONE = "192.0.2.1", "192.0.2.2"


async def test_the_event_loop_goes_on_meanwhile() -> None:
    signatures, go_on = Signatures(), threading.Event()
    running = asyncio.ensure_future(signatures.run(ONE, lambda: assert_waited(go_on)))
    await asyncio.sleep(0)
    assert not running.done()
    go_on.set()
    await running
    signatures.stop()


def assert_waited(event: threading.Event) -> None:
    assert event.wait(120)


async def test_an_address_that_sends_many_delays_others_by_a_turn() -> None:
    signatures, go_on = Signatures(), threading.Event()
    order: list[str] = []

    def noted(name: str) -> None:
        assert_waited(go_on)
        order.append(name)

    many = [
        asyncio.ensure_future(signatures.run(SEVERAL, lambda: noted("many"))) for _ in range(50)
    ]
    await asyncio.sleep(0)
    one = asyncio.ensure_future(signatures.run(ONE, lambda: noted("one")))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(*many, one)
    # The signatures that ran when it came, another of each thread, and its own.
    assert order.index("one") <= 2 * AT_ONCE
    assert order.count("many") == 50
    signatures.stop()


async def test_a_client_that_has_gone_costs_nothing() -> None:
    signatures, go_on = Signatures(), threading.Event()
    verified: list[int] = []
    first = [
        asyncio.ensure_future(signatures.run(ONE, lambda: assert_waited(go_on)))
        for _ in range(AT_ONCE)
    ]
    await asyncio.sleep(0)
    gone = asyncio.ensure_future(signatures.run(ONE, lambda: verified.append(1)))
    last = asyncio.ensure_future(signatures.run(ONE, lambda: verified.append(2)))
    await asyncio.sleep(0)
    gone.cancel()
    first[0].cancel()
    go_on.set()
    await last
    assert verified == [2]
    await eventually(lambda: not signatures._running, "the end of all")
    assert not signatures._waiting
    signatures.stop()


async def test_what_it_raises_is_raised() -> None:
    signatures = Signatures()

    def fail() -> None:
        raise KeyError("a defect")

    with pytest.raises(KeyError):
        await signatures.run(ONE, fail)
    await signatures.run(ONE, lambda: None)
    signatures.stop()
