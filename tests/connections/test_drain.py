"""A drain of many connections, whose clients are served meanwhile."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import cast

from gateway.config.reach import reach_addresses
from gateway.connections.broker_side import BrokerSide
from gateway.connections.clients import PIECE
from gateway.connections.connection import Connection
from tests.connections.fake_transport import FakeTransport
from tests.connections.places import place_of
from tests.connections.test_admission import Gate

PIECES = 10


def clients(gate: Gate, count: int) -> list[Connection]:
    """Idle clients of the listener without SASL, each with its broker connection."""
    settings = gate.config.listeners[0]
    target = reach_addresses(gate.config, settings).bootstrap
    made = []
    for number in range(count):
        client = cast(Connection, gate.server.clients.admission.accept(settings, target))
        client.connection_made(FakeTransport(5_000 + number))
        BrokerSide(client, place_of(client)).connection_made(FakeTransport())
        made.append(client)
    return made


async def test_idle_connections_end_some_at_a_time(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    idle = clients(gate, PIECES * PIECE)
    ended_by_round: list[int] = []

    def turn() -> None:
        """Note the ended clients in each round of the event loop."""
        ended_by_round.append(sum(client.closing for client in idle))
        if ended_by_round[-1] < len(idle):
            asyncio.get_running_loop().call_soon(turn)

    turn()
    await gate.server.clients.drain(0.0)
    assert all(client.closing for client in idle)
    assert max(after - before for before, after in pairwise(ended_by_round)) <= PIECE
