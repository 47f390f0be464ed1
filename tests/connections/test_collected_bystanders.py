"""The memory for long responses beside an address that reads nothing: what it may hold up."""

from __future__ import annotations

from typing import Final, cast

from hypothesis import given
from hypothesis import strategies as st

from gateway.connections.collected import MOST_SECONDS, Collecting, Room
from tests.connections.test_collected import MIB, Holder, Rooms

MOST: Final = 16
SHARE: Final = 8
"""MiB of the budget, and of an address."""

SILENT: Final = "192.0.2.1"
"""The address whose clients read nothing."""

OTHERS: Final = ("192.0.2.2", "192.0.2.3", "2001:db8::1")

SIZES: Final = st.integers(1, 3 * SHARE)
"""MiB of responses: two of three are longer than a share."""

STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("enter"), st.sampled_from([SILENT, *OTHERS]), SIZES),
        st.tuples(st.just("read"), st.integers(0, 9)),
        st.tuples(st.just("leave"), st.integers(0, 9)),
        st.tuples(st.just("wait"), st.sampled_from([1, 10, 31])),
    ),
    max_size=60,
)


class World:
    """Connections with a response each. All but those of the silent address may be read."""

    def __init__(self) -> None:
        self.rooms = Rooms(MOST, SHARE)
        self.open: dict[Holder, Room] = {}

    def enter(self, host: str, mib: int) -> None:
        holder = Holder(host)
        holder.holds_response = host == SILENT
        self.open[holder] = self.rooms.enter(holder, mib)

    def read(self, holder: Holder) -> None:
        """The response arrives, and its client takes it, unless it reads nothing."""
        room = self.open[holder]
        room.whole = True
        self.rooms.collected.look(cast(Collecting, holder))
        if not holder.holds_response:
            del self.open[holder]

    def leave(self, holder: Holder) -> None:
        self.rooms.forget(holder)
        del self.open[holder]

    def wait(self, seconds: float) -> None:
        """Time passes, and connections that are closed leave."""
        self.rooms.now += seconds
        self.rooms.collected.sweep()
        for holder in [*self.open]:
            if holder.dropped or holder.was_reset:
                self.leave(holder)

    @property
    def given(self) -> list[Holder]:
        return [holder for holder in self.open if not holder.waits]

    def waiting(self, host: str) -> list[Holder]:
        return [each for each in self.open if each.host == host and each.waits]

    def step(self, kind: str, *values: int | str) -> None:
        if kind == "enter":
            host, mib = values
            self.enter(cast(str, host), cast(int, mib))
        elif kind == "wait":
            self.wait(cast(int, values[0]))
        else:
            some = self.given if kind == "read" else [*self.open]
            if some:
                holder = some[cast(int, values[0]) % len(some)]
                (self.read if kind == "read" else self.leave)(holder)

    def all_read(self) -> None:
        """Every client that reads takes what has room, and what gets room then, without a pause."""
        while reading := [each for each in self.given if each.host != SILENT]:
            for holder in reading:
                self.read(holder)

    def check(self) -> None:
        """The bounds hold, and the counts are those of the rooms that are given."""
        collected = self.rooms.collected
        sizes = {holder: self.open[holder].size for holder in self.given}
        long = [size for size in sizes.values() if size > SHARE * MIB]
        assert len(long) <= 1
        assert (collected.long is not None) == bool(long)
        short = {holder: size for holder, size in sizes.items() if size <= SHARE * MIB}
        assert collected.total == sum(short.values()) <= MOST * MIB
        for host in (SILENT, *OTHERS):
            of_host = sum(size for holder, size in short.items() if holder.host == host)
            assert of_host <= SHARE * MIB


@given(STEPS)
def test_others_wait_for_an_address_that_reads_nothing_only_in_the_one_place(
    steps: list[tuple[str, *tuple[int | str, ...]]],
) -> None:
    world = World()
    for kind, *values in steps:
        world.step(kind, *values)
        world.check()
    world.all_read()
    world.check()
    others = {host: world.waiting(host) for host in OTHERS}
    for holders in others.values():
        for holder in holders:
            assert world.open[holder].size > SHARE * MIB, "it fits into a share, and waits"
    if any(others.values()):
        silent = world.rooms.collected.long
        assert silent is not None, "the place is free, and somebody waits for it"
        assert silent.connection.host == SILENT
    while any(others.values()):
        world.wait(MOST_SECONDS)
        world.all_read()
        world.check()
        left = {host: world.waiting(host) for host in OTHERS}
        for host, holders in others.items():
            assert len(left[host]) < max(len(holders), 1), "its turn has not come"
        others = left
    for holder in [*world.open]:
        world.leave(holder)
    assert world.rooms.is_empty
    assert world.rooms.collected._rooms == {}
