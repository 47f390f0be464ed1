"""gateway.connections.shares: who has room, and who waits for it. Its use by responses and by work
is tested with them."""

from __future__ import annotations

from gateway.connections.shares import Lines, Shares


class Entry:
    """Something of an address, that needs room."""

    def __init__(self, sharer: str, size: int = 1) -> None:
        self.sharer = sharer
        self.size = size


def test_addresses_take_turns() -> None:
    lines = Lines[Entry]()
    a1, a2, b1, c1 = (Entry(sharer) for sharer in "aabc")
    for each in (a1, a2, b1, c1):
        lines.add(each)
    lines.take(a1)
    lines.set_aside("c")
    assert (lines.first(), lines.is_aside("c"), "c" in lines) == (b1, True, True)
    lines.postpone("b")
    assert lines.first() is a2
    lines.take_back("c")
    lines.take(a2)
    lines.take(b1)
    assert lines.first() is c1
    lines.drop(c1)
    assert (lines.first(), bool(lines), "c" in lines) == (None, False, False)


def test_an_address_has_half_at_most() -> None:
    given: list[Entry] = []
    shares = Shares[Entry](10, 10, given.append)
    first, second, other = Entry("a", 3), Entry("a", 3), Entry("b", 5)
    for each in (first, second, other):
        shares.enter(each)
    assert (given, shares.total) == ([first, other], 8)
    assert shares.lacks_share(second)
    assert shares.delays(first)
    assert not shares.delays(other)
    assert shares.has_waiting("a")
    assert not shares.has_waiting("b")
    shares.leave(first)
    shares.go_on()
    assert given == [first, other, second]
    for each in (second, other):
        shares.leave(each)
    assert not shares


def test_what_is_longer_than_a_share_has_a_place_beside_the_others() -> None:
    given: list[Entry] = []
    shares = Shares[Entry](10, 4, given.append)
    long, longer, short = Entry("a", 5), Entry("a", 500), Entry("a", 4)
    late = Entry("b", 5)
    for each in (long, longer, short, late):
        shares.enter(each)
    assert (given, shares.total, shares.long) == ([long, short], 4, long)
    assert shares.delays(long)
    shares.leave(long)
    shares.go_on()
    assert shares.long is late, "its address has waited, the other's had the place"
    shares.leave(longer)
    assert not shares.delays(late)
    for each in (late, short):
        shares.leave(each)
    assert not shares
