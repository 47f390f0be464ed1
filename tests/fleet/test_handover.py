"""Gateways that drain lead clients to another gateway that is up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.catalog import probe
from gateway.catalog.entities import CatalogFormat, Member
from gateway.connections import clients
from gateway.connections.clients import LEFT_SECONDS, Clients
from gateway.fleet.handover import Handover, first_up
from gateway.session.session import Session
from gateway.virtual_brokers import ListenerAddresses, PeerBrokers
from tests.session.pair import Pair, request_frame
from tests.session.producing import batch, produce
from tests.tree.fake_tree import LISTENER, FakeTree

NODE = 1
"""A broker that every cluster has."""


@asynccontextmanager
async def accepting() -> AsyncIterator[str]:
    """The address of a gateway that is up."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}"


@asynccontextmanager
async def refusing() -> AsyncIterator[str]:
    """The address of a gateway that is down."""
    async with accepting() as address:
        pass
    yield address


def member(number: int, *addresses: str) -> Member:
    """A gateway whose brokers are at ports of their own."""
    at = {f"listener-{place}": address for place, address in enumerate(addresses)}
    return Member(f"gw-{number}", number, at, {LISTENER: f"gw-{number}.example:9300"}, ("1-2",))


async def test_the_first_that_accepts_connections() -> None:
    async with accepting() as up, accepting() as also_up, refusing() as down:
        assert await first_up([member(1, down), member(2, up), member(3, up)]) == member(2, up)
        assert await first_up([member(1, up, down), member(2, up, also_up)]) == member(
            2, up, also_up
        )
        assert await first_up([member(1, down)]) is None
        for odd in ("", "nowhere", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x"):
            assert await first_up([member(1, odd), member(2, up)]) == member(2, up)
    assert await first_up([]) is None


async def test_one_that_does_not_respond_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "PROBE_SECONDS", 0.01)

    async def connects_never(*_: object) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr(probe, "dial_streams", connects_never)
    assert await first_up([member(1, "127.0.0.1:1")]) is None


class Addresses:
    """The addresses of one listener in a tree."""

    def __init__(self, tree: FakeTree) -> None:
        self.of = {path: tree.addresses(LISTENER, path) for path in tree.clusters}

    def brokers_of(self, listener: str, path: str) -> ListenerAddresses | None:
        return self.of.get(path) if listener == LISTENER else None

    def seen(self) -> dict[str, tuple[str, int]]:
        """The address of each cluster's first broker that clients get."""
        found = {path: each.endpoint(NODE) for path, each in self.of.items()}
        return {path: (each.host, each.port) for path, each in found.items() if each is not None}


async def test_every_volume_gives_the_addresses_that_its_catalog_has() -> None:
    tree = FakeTree()
    addresses = Addresses(tree)
    before = addresses.seen()
    async with accepting() as up, refusing() as down:
        for place, catalog in enumerate(tree.catalogs.values()):
            catalog.log.append([CatalogFormat(4), member(1, up), member(2, down)])
            brokers = {LISTENER: f"gw-3.example:{9400 + place}", "unknown": "gw-3.example:1"}
            catalog.log.append([Member("gw-3", 3, {"any": up}, brokers, ("1-2",))])
        hands_over = Handover("gw-1", tree.volumes, cast(Any, addresses))
        assert addresses.seen() == before
        assert await hands_over.begin()
    assert addresses.seen() == {
        path: ("gw-3.example", 9400 + place) for place, path in enumerate(tree.catalogs)
    }
    hands_over.end()
    assert addresses.seen() == before


async def test_without_another_that_is_up_nothing_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tree = FakeTree()
    addresses = Addresses(tree)
    before = addresses.seen()
    hands_over = Handover("gw-1", tree.volumes, cast(Any, addresses))
    with caplog.at_level(logging.INFO):
        assert not await hands_over.begin()
        assert caplog.messages == [], "it is alone"
        async with refusing() as down:
            tree.catalogs["la"].log.append([CatalogFormat(4), member(1, down), member(2, down)])
            assert not await hands_over.begin()
    assert caplog.messages == ["no other gateway is up: clients are not led to one"]
    assert addresses.seen() == before


async def test_addresses_that_make_no_sense_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    tree = FakeTree()
    addresses = Addresses(tree)
    before = addresses.seen()
    async with accepting() as up:
        odd = Member("gw-2", 2, {"any": up}, {LISTENER: "gw-2.example"}, ("1-2",))
        tree.catalogs["la"].log.append([CatalogFormat(4), member(1, up), odd])
        assert await Handover("gw-1", tree.volumes, cast(Any, addresses)).begin()
    assert addresses.seen() == before
    assert "the addresses of gateway gw-2 cannot be used: " in caplog.text


class Connections:
    """The connections of a worker that drains."""

    def __init__(self, *sessions: Session) -> None:
        self.connections = [SimpleNamespace(session=one, closing=False) for one in sessions]
        self.finished: list[Session] = []

    def _finish(self, connections: list[Any], *, waits: bool) -> None:
        assert not waits
        self.finished += [one.session for one in connections]

    def send_on(self) -> None:
        Clients._send_on(cast(Any, self))


def test_clients_leave_if_the_other_gateway_has_a_place_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    going, staying, silent = Pair(topics=["t"]), Pair(topics=["t"]), Pair(topics=["t"])
    for pair in (going, silent):
        pair.session.state.addresses.hand_over(PeerBrokers("gw-2.example:9300", ["0-9"]))
    drained = Connections(going.session, staying.session, silent.session)
    drained.send_on()
    assert [each.session.leaving for each in (going, staying, silent)] == [True, False, True]
    going.send(request_frame("Produce", 9, produce({"t": [batch(1)]})))
    left = going.session.left
    assert left is not None
    for seconds, finished in ((LEFT_SECONDS - 0.01, []), (LEFT_SECONDS + 0.01, [going.session])):
        monkeypatch.setattr(clients, "monotonic", lambda now=left + seconds: now)
        drained.send_on()
        assert drained.finished == finished
