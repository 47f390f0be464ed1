"""Requests that never arrive whole: how many of their bytes are held, and whose connection
closes."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any, cast

import pytest

from gateway.config.reach import reach_addresses
from gateway.config.security import IncompleteRequests
from gateway.connections.base import BaseConnection
from gateway.connections.broker_side import BrokerSide
from gateway.connections.closing import TOO_MUCH_INCOMPLETE
from gateway.connections.connection import Connection
from gateway.connections.incomplete import IncompleteBytes
from gateway.exchanges.framing import SMALL
from gateway.processes.server import Server
from gateway.virtual_brokers import Target
from tests.config import config_samples
from tests.connections.fake_transport import FakeTransport
from tests.connections.places import place_of
from tests.session import fetching
from tests.session.pair import request_frame

MIB = 2**20
CREATE_TOPICS = (19).to_bytes(2, "big") + (5).to_bytes(2, "big") + bytes(8)
"""The head of a request that is collected: API key, version, correlation id, client id."""


class Holder:
    """A connection that may be closed. ``size`` is the number of bytes that it holds."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.size = 0
        self.reason = ""

    def close(self, reason: str) -> None:
        self.reason = reason

    def fail(self, error: Exception) -> None:
        raise error


def budget(most: int = 64, per_ip: int = 32, longest: int = 1) -> IncompleteBytes:
    limits = IncompleteRequests(max_bytes=most * MIB, max_bytes_per_ip=per_ip * MIB)
    return IncompleteBytes(limits, longest)


def add(incomplete: IncompleteBytes, holder: Holder, change: int) -> None:
    holder.size += change
    incomplete.add(cast(BaseConnection, holder), change)


async def closed(holders: list[Holder]) -> list[Holder]:
    await asyncio.sleep(0)
    return [each for each in holders if each.reason]


async def test_the_largest_of_an_address_closes_first() -> None:
    incomplete = budget()
    other, small, large = Holder("192.0.2.1"), Holder("192.0.2.2"), Holder("192.0.2.2")
    add(incomplete, other, 31 * MIB)
    add(incomplete, large, 20 * MIB)
    add(incomplete, small, 12 * MIB)
    assert await closed([other, small, large]) == []
    add(incomplete, small, 1)
    assert await closed([other, small, large]) == [large]
    assert large.reason.startswith(f"{TOO_MUCH_INCOMPLETE}: it held {20 * MIB} bytes")
    assert incomplete.total == 43 * MIB + 1


async def test_the_largest_of_a_listener_closes_where_many_addresses_share() -> None:
    incomplete = budget()
    holders = [Holder(f"192.0.2.{number}") for number in range(8)]
    for number, holder in enumerate(holders):
        add(incomplete, holder, 8 * MIB + number)
    assert await closed(holders) == [holders[-1]]
    assert incomplete.total <= 64 * MIB


async def test_an_ipv6_network_is_one_address() -> None:
    incomplete = budget()
    holders = [Holder(f"2001:db8::{number}") for number in range(1, 4)]
    for number, holder in enumerate(holders):
        add(incomplete, holder, 12 * MIB + number)
    assert await closed(holders) == [holders[-1]]


async def test_the_longest_request_always_has_room() -> None:
    incomplete = budget(1, 1, longest=100 * MIB)
    one = Holder("192.0.2.1")
    add(incomplete, one, 100 * MIB)
    assert await closed([one]) == []


async def test_what_is_counted_is_what_is_held() -> None:
    incomplete, chance = budget(), random.Random(11)
    holders = [Holder(f"192.0.2.{number % 3}") for number in range(9)]
    for _ in range(3_000):
        holder = chance.choice(holders)
        if holder.reason or chance.random() < 0.1:
            incomplete.forget(cast(BaseConnection, holder))
            holder.size, holder.reason = 0, ""
        elif chance.random() < 0.3:
            add(incomplete, holder, -holder.size)
        else:
            add(incomplete, holder, chance.randrange(3 * MIB))
        await asyncio.sleep(0)
        for each in holders:
            each.size = 0 if each.reason else each.size
        assert incomplete.total == sum(each.size for each in holders) <= 64 * MIB
        for host in {each.host for each in holders}:
            assert sum(each.size for each in holders if each.host == host) <= 32 * MIB
    for each in holders:
        incomplete.forget(cast(BaseConnection, each))
    assert (incomplete.total, incomplete._networks, incomplete._by_network) == (0, {}, {})


class Site:
    """A worker without brokers, with small budgets, and clients of one address."""

    def __init__(self, directory: Path, **limits: Any) -> None:
        config = config_samples.config(
            directory,
            incomplete_requests={"max_bytes": 4 * MIB, "max_bytes_per_ip": 4 * MIB},
            **{"socket.request.max.bytes": 2 * MIB},
        )
        self.server = Server(config)
        self.listener = config.listeners[0]
        self.target = Target("", reach_addresses(config, self.listener).bootstrap.addresses, None)
        self.transports: list[FakeTransport] = []

    def connect(self, *, to_broker: bool = True) -> Connection:
        """A client; it has its broker connection if ``to_broker``."""
        made = self.server.clients.admission.accept(self.listener, self.target)
        assert isinstance(made, Connection)
        transport = FakeTransport()
        made.connection_made(transport)
        if to_broker:
            BrokerSide(made, place_of(made)).connection_made(FakeTransport())
        self.transports.append(transport)
        return made

    @property
    def held(self) -> int:
        return self.server.clients._incomplete[self.listener.name].total


def begun(size: int, sent: int) -> bytes:
    """The beginning of a request."""
    return (size.to_bytes(4, "big") + CREATE_TOPICS + bytes(sent))[:sent]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def test_half_sent_requests_of_clients_have_one_budget(site: Site) -> None:
    clients = [site.connect() for _ in range(12)]
    for number, client in enumerate(clients):
        for _ in range(16):
            client.data_received(
                begun(2 * MIB, 1_000) if not client.session.mid_request else bytes(60_000 + number)
            )
            assert site.held <= 4 * MIB
        await asyncio.sleep(0)
    assert site.held > 3 * MIB
    assert sum(each.closed for each in site.transports) == len(clients) - 4 * MIB // 900_000
    for client in clients:
        client.connection_lost(None)
    assert site.held == 0


async def test_what_arrives_whole_gives_its_room_back(site: Site) -> None:
    client = site.connect()
    client.data_received(begun(100_000, 50_000))
    assert site.held == 50_000
    client.data_received(bytes(30_000))
    assert site.held == 80_000
    client.data_received(bytes(20_004))
    assert site.held == 0


def fetch() -> bytes:
    entity = fetching.request(12, {}, max_wait_ms=60_000)
    return request_frame("Fetch", 12, entity)


async def test_what_waits_behind_a_fetch_is_counted(site: Site) -> None:
    """A broker holds the Fetch back for as long as its client likes."""
    clients = [site.connect() for _ in range(20)]
    for client in clients:
        client.data_received(fetch() + begun(2 * MIB, 250_000))
        assert site.held <= 4 * MIB
        await asyncio.sleep(0)
    assert site.held > 3 * MIB
    assert sum(each.closed for each in site.transports) == len(clients) - 4 * MIB // 250_000
    for client in clients:
        client.connection_lost(None)
    assert site.held == 0


async def test_what_waits_for_a_broker_connection_is_counted(site: Site) -> None:
    client = site.connect(to_broker=False)
    client.data_received(begun(MIB, 250_000))
    assert site.held == 250_000
    BrokerSide(client, place_of(client)).connection_made(FakeTransport())
    assert site.held == 250_000, "of a request that has not arrived whole"
    client.connection_lost(None)
    assert site.held == 0


async def test_small_requests_are_not_counted(site: Site) -> None:
    client = site.connect()
    client.data_received(begun(SMALL - 4, 10_000))
    client.data_received(bytes(100))
    assert site.held == 0
