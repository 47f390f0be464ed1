"""The memory for long responses: whose turn it is, and that everybody's comes."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import cast

import pytest

from gateway.config.security import CollectedResponses
from gateway.connections.closing import UNTAKEN
from gateway.connections.collected import MOST_SECONDS, CollectedBytes, Collecting, Room
from protocol import messages
from tests.connections.test_incomplete import Site
from tests.session.pair import request_frame

MIB = 2**20


class Holder:
    """A connection. ``waits``: for room. ``takes``: its client reads what is written."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.waits = self.paced = False
        self.holds_response = False
        self.dropped = self.was_reset = ""

    def await_room(self, waits: bool) -> None:
        self.waits = waits

    def pace(self, paced: bool) -> None:
        self.paced = paced

    def drop_client(self, reason: str) -> None:
        self.dropped = reason

    def reset(self, reason: str) -> None:
        self.was_reset = reason

    def fail(self, error: Exception) -> None:
        raise error


class Rooms:
    """A budget, with a clock that the test moves."""

    def __init__(self, most: int = 64, per_ip: int = 32) -> None:
        limits = CollectedResponses(max_bytes=most * MIB, max_bytes_per_ip=per_ip * MIB)
        self.now = 0.0
        self.waited: list[str] = []
        self.collected = CollectedBytes(limits, lambda: self.now, self._note)

    def _note(self, setting: str) -> None:
        self.waited.append(setting)

    def enter(self, holder: Holder, mib: int) -> Room:
        return self.collected.enter(cast(Collecting, holder), mib * MIB)

    async def taken(self, room: Room) -> None:
        """The response arrives, and its client takes it at once."""
        room.holds_more(-room.size)
        await asyncio.sleep(0)

    def forget(self, holder: Holder) -> None:
        self.collected.forget(cast(Collecting, holder))

    @property
    def is_empty(self) -> bool:
        return not (self.collected._shares or self.collected._rooms or self.collected.total)


def holders(count: int, *, addresses: int = 256) -> list[Holder]:
    return [Holder(f"192.0.2.{number % addresses}") for number in range(count)]


async def test_an_address_waits_for_its_own_share() -> None:
    rooms = Rooms()
    first, second, other = Holder("192.0.2.1"), Holder("192.0.2.1"), Holder("192.0.2.2")
    room = rooms.enter(first, 30)
    rooms.enter(second, 3)
    rooms.enter(other, 30)
    assert (first.waits, second.waits, other.waits) == (False, True, False)
    await rooms.taken(room)
    assert (second.waits, first.paced, second.paced) == (False, False, True)
    assert rooms.collected.total == 33 * MIB


async def test_what_a_response_waits_for_is_counted_once() -> None:
    """By the setting that would have to be raised."""
    rooms = Rooms(64, 32)
    rooms.enter(Holder("192.0.2.1"), 30)
    rooms.enter(Holder("192.0.2.2"), 30)
    assert rooms.waited == []
    rooms.enter(Holder("192.0.2.1"), 3)
    rooms.enter(Holder("192.0.2.3"), 30)
    assert rooms.waited == ["max_bytes_per_ip", "max_bytes"]
    rooms.collected.sweep()
    assert len(rooms.waited) == 2


async def test_nobody_overtakes_what_waits_for_the_listener() -> None:
    rooms = Rooms()
    first, second, long, short = holders(4)
    given = [rooms.enter(first, 32), rooms.enter(second, 30)]
    rooms.enter(long, 20)
    rooms.enter(short, 1)
    assert (long.waits, short.waits) == (True, True)
    await rooms.taken(given[0])
    assert (long.waits, short.waits) == (False, False)


async def test_addresses_take_turns() -> None:
    """However many connections two addresses have, another waits for one of them only."""
    rooms = Rooms(8, 4)
    many = holders(20, addresses=2)
    given = [rooms.enter(holder, 4) for holder in many]
    late = Holder("192.0.2.77")
    rooms.enter(late, 4)
    assert late.waits
    await rooms.taken(given[0])
    assert not late.waits
    assert [holder.waits for holder in many[:4]] == [False, False, True, True]
    await rooms.taken(given[1])
    assert [holder.waits for holder in many[:4]] == [False, False, False, True]


async def test_an_address_has_half_of_the_budget_at_most() -> None:
    rooms = Rooms(8, 8)
    one, two, other = Holder("192.0.2.1"), Holder("192.0.2.1"), Holder("192.0.2.2")
    rooms.enter(one, 3)
    rooms.enter(two, 3)
    rooms.enter(other, 4)
    assert (one.waits, two.waits, other.waits) == (False, True, False)
    assert rooms.waited == ["max_bytes"], "the setting that would have to be raised"


async def test_responses_longer_than_a_share_come_one_at_a_time_beside_the_budget() -> None:
    rooms = Rooms(8, 4)
    first, second, *others = holders(6)
    alone = rooms.enter(first, 100)
    later = rooms.enter(second, 5)
    assert (first.waits, second.waits) == (False, True)
    for other in others:
        rooms.enter(other, 2)
    assert not any(other.waits for other in others)
    assert (rooms.collected.total, rooms.waited) == (8 * MIB, ["max_bytes_per_ip"])
    await rooms.taken(alone)
    assert not second.waits
    await rooms.taken(later)
    assert rooms.collected.long is None


async def test_addresses_take_turns_with_long_responses() -> None:
    """Also those that come while another has the place."""
    rooms = Rooms(8, 4)
    many = holders(20, addresses=1)
    first, *_ = [rooms.enter(holder, 5) for holder in many]
    late = Holder("192.0.2.77")
    rooms.enter(late, 5)
    await rooms.taken(first)
    assert (late.waits, many[1].waits) == (False, True)


async def test_who_holds_up_other_long_responses_is_closed_and_nobody_else() -> None:
    rooms = Rooms(8, 4)
    unread, short, waiting = holders(3)
    room = rooms.enter(unread, 100)
    rooms.enter(short, 4)
    unread.holds_response = True
    await rooms.taken(room)
    rooms.now = MOST_SECONDS
    rooms.collected.sweep()
    assert unread.dropped == ""
    rooms.enter(waiting, 5)
    rooms.collected.sweep()
    assert unread.dropped.startswith(UNTAKEN)
    assert short.was_reset == ""


@pytest.mark.parametrize(("most", "per_ip"), [(4, 4), (8, 4)])
async def test_a_response_has_its_room_until_its_client_has_taken_it(
    most: int, per_ip: int
) -> None:
    rooms = Rooms(most, per_ip)
    one, other = holders(2, addresses=1)
    room = rooms.enter(one, 4)
    rooms.enter(other, 4)
    one.holds_response = True
    await rooms.taken(room)
    assert other.waits
    one.holds_response = False
    rooms.collected.look(cast(Collecting, one))
    assert not other.waits


@pytest.mark.parametrize(("most", "per_ip"), [(4, 4), (8, 4)])
async def test_a_response_that_arrives_whole_while_it_waits(most: int, per_ip: int) -> None:
    """TLS may hold bytes that were read before reading stopped."""
    rooms = Rooms(most, per_ip)
    one, other = holders(2, addresses=1)
    first = rooms.enter(one, 4)
    await rooms.taken(rooms.enter(other, 3))
    assert not other.waits
    await rooms.taken(first)
    assert rooms.is_empty


async def test_a_connection_whose_next_response_waits_is_not_read() -> None:
    """Although the last one, which waited, too, has come whole and is taken."""
    rooms = Rooms(8, 4)
    first, other = holders(2, addresses=1)
    rooms.enter(first, 4)
    last = rooms.enter(other, 2)
    rooms.enter(other, 2)
    await rooms.taken(last)
    assert other.waits


async def test_the_next_response_of_a_connection_is_counted_beside_the_last() -> None:
    rooms = Rooms(16, 8)
    (one,) = holders(1)
    first = rooms.enter(one, 3)
    one.holds_response = True
    await rooms.taken(first)
    second = rooms.enter(one, 3)
    assert rooms.collected.total == 6 * MIB
    one.holds_response = False
    rooms.collected.look(cast(Collecting, one))
    assert (rooms.collected.total, one.paced) == (3 * MIB, True)
    await rooms.taken(second)
    assert (rooms.is_empty, one.paced) == (True, False)


@pytest.mark.parametrize(("most", "per_ip"), [(4, 4), (8, 4)])
async def test_who_is_gone_gives_room_and_place_back(most: int, per_ip: int) -> None:
    rooms = Rooms(most, per_ip)
    one, leaves, last = holders(3, addresses=1)
    rooms.enter(one, 4)
    rooms.enter(leaves, 4)
    rooms.enter(last, 4)
    rooms.forget(leaves)
    assert last.waits
    rooms.forget(one)
    assert (leaves.waits, last.waits) == (True, False)
    rooms.forget(last)
    assert rooms.is_empty


async def test_who_holds_up_others_for_too_long_is_closed() -> None:
    """A client that does not read loses its connection; so does one whose broker has stopped."""
    rooms = Rooms(8, 4)
    unread, stopped, waiting = holders(3)
    room = rooms.enter(unread, 4)
    rooms.enter(stopped, 4)
    unread.holds_response = True
    await rooms.taken(room)
    rooms.now = 10 * MOST_SECONDS
    rooms.collected.sweep()
    assert (unread.dropped, stopped.was_reset) == ("", ""), "nobody waits"
    rooms.enter(waiting, 4)
    rooms.collected.sweep()
    assert unread.dropped.startswith(UNTAKEN)
    assert stopped.was_reset.startswith(UNTAKEN)


async def test_who_holds_up_nobody_of_its_address_stays() -> None:
    rooms = Rooms(64, 4)
    one, slow, waiting = Holder("192.0.2.1"), Holder("192.0.2.2"), Holder("192.0.2.2")
    rooms.enter(one, 4)
    rooms.enter(slow, 4)
    rooms.enter(waiting, 4)
    rooms.now = MOST_SECONDS
    rooms.collected.sweep()
    assert (one.was_reset, bool(slow.was_reset)) == ("", True)


async def test_whatever_happens_the_bounds_hold_and_everybody_comes() -> None:
    chance = random.Random(932)
    rooms = Rooms(16, 8)
    everyone = holders(200, addresses=9)
    left = {holder: 5 for holder in everyone}
    hosts = {each.host for each in everyone}
    open_rooms: dict[Holder, Room] = {}
    for _ in range(200_000):
        if not any(left.values()):
            break
        holder = chance.choice(everyone)
        room = open_rooms.get(holder)
        if room is None and left[holder]:
            open_rooms[holder] = rooms.enter(holder, chance.randrange(1, 9))
        elif room is not None and not holder.waits:
            if chance.random() < 0.05:
                rooms.forget(holder)
            else:
                await rooms.taken(room)
            del open_rooms[holder]
            left[holder] -= 1
        assert rooms.collected.total <= 16 * MIB
        for host in hosts:
            assert rooms.collected._shares._by_sharer.get(host, 0) <= 8 * MIB
    assert not any(left.values())
    assert rooms.is_empty


async def test_a_worker_counts_what_arrives_until_the_connection_is_gone(tmp_path: Path) -> None:
    site = Site(tmp_path)
    client = site.connect()
    collected = site.server.clients._collected[site.listener.name]
    asked = messages.build(messages.message_class("ListGroupsRequest", 0))
    client.data_received(request_frame("ListGroups", 0, asked))
    head = (MIB).to_bytes(4, "big") + (7).to_bytes(4, "big")
    client.broker_data(head + bytes(1_000))
    assert collected.total == MIB + 4
    client.broker_data(bytes(1_000))
    site.server.clients.sweep()
    assert collected.total == MIB + 4
    client.connection_lost(None)
    assert collected.total == 0


async def test_a_worker_counts_responses_that_wait(tmp_path: Path) -> None:
    site = Site(tmp_path)
    asked = messages.build(messages.message_class("ListGroupsRequest", 0))
    head = (100 * MIB).to_bytes(4, "big") + (7).to_bytes(4, "big")
    for _ in range(3):  # 128 MiB are for their address
        client = site.connect()
        client.data_received(request_frame("ListGroups", 0, asked))
        client.broker_data(head)
    rows = [row for row in site.server.collect().rows if row[0] == "collected_response_waits"]
    assert rows == [("collected_response_waits", (site.listener.name, "max_bytes_per_ip"), 2)]
