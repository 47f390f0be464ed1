"""Clients that have not authenticated, or have sent nothing: their shares, and which of them is
closed."""

from __future__ import annotations

from typing import cast

import pytest

from gateway.config.security import Unauthenticated
from gateway.connections.base import BaseConnection
from gateway.connections.waiting_clients import (
    LONGER_ABOUT_IT,
    SENT_NOTHING,
    SILENT_SECONDS,
    SilentClients,
    UnauthenticatedClients,
)


class Client:
    """A login under way."""

    def __init__(self, places: UnauthenticatedClients, host: str = "192.0.2.1") -> None:
        self.host = host
        self.reasons: list[str] = []
        self._places = places
        places.enter(self)

    def give_way(self, reason: str) -> None:
        self.reasons.append(reason)
        self._places.leave(self)


def places(most: int = 4, share: float = 1.0) -> UnauthenticatedClients:
    return UnauthenticatedClients(Unauthenticated(max_connections=most, max_share_per_ip=share))


def gone(*clients: Client) -> list[bool]:
    assert all(each.reasons in ([], [LONGER_ABOUT_IT]) for each in clients)
    return [bool(each.reasons) for each in clients]


def test_the_longest_silent_gives_way_to_the_newest() -> None:
    here = places(2)
    first, second, third = (Client(here) for _ in range(3))
    assert gone(first, second, third) == [True, False, False]
    assert len(here) == 2


def test_who_has_sent_something_stays_while_others_have_not() -> None:
    here = places(2)
    first, second = Client(here), Client(here)
    here.spoke(first)
    third = Client(here)
    assert gone(first, second, third) == [False, True, False]
    here.spoke(third)
    fourth = Client(here)
    assert gone(first, third, fourth) == [True, False, False]


def test_a_byte_does_not_buy_a_place_for_good() -> None:
    """A crowd sends one byte each, from many addresses: a newcomer has his time, too."""
    here = places(10)
    crowd = [Client(here, f"192.0.2.{number}") for number in range(10)]
    for each in crowd:
        here.spoke(each)
    newcomer = Client(here, "198.51.100.1")
    assert gone(newcomer, *crowd[:2]) == [False, True, False]
    for number in range(10, 14):
        here.spoke(Client(here, f"192.0.2.{number}"))
    assert gone(newcomer) == [False]
    here.spoke(newcomer)
    for number in range(14, 18):
        here.spoke(Client(here, f"192.0.2.{number}"))
    assert gone(newcomer) == [False]


def test_an_address_takes_no_more_than_its_share_of_the_others() -> None:
    here = places(4, 0.5)
    honest = [Client(here, f"192.0.2.{number}") for number in (2, 3)]
    crowd = [Client(here, "192.0.2.66") for _ in range(50)]
    assert gone(*honest) == [False, False]
    assert gone(*crowd) == [True] * 48 + [False] * 2
    assert len(here) == 4


def test_where_many_addresses_take_all_the_longest_silent_gives_way() -> None:
    here = places(4, 0.5)
    crowd = [Client(here, f"192.0.2.{number}") for number in range(4)]
    honest = Client(here, "198.51.100.1")
    assert gone(*crowd, honest) == [True, False, False, False, False]


def test_the_smallest_share_is_one_place() -> None:
    here = places(1, 0.1)
    first = Client(here)
    assert gone(first) == [False]
    assert gone(first, Client(here)) == [True, False]


@pytest.mark.parametrize(("other", "same"), [("2001:db8::ffff", True), ("2001:db8:0:1::1", False)])
def test_an_ipv6_network_is_one_address(other: str, same: bool) -> None:
    here = places(4, 0.25)
    first = Client(here, "2001:db8::1")
    Client(here, other)
    assert gone(first) == [same]


def test_places_that_were_left_are_free() -> None:
    here = places(2)
    first, second = Client(here), Client(here)
    here.leave(first)
    here.leave(first)
    here.spoke(first)
    third = Client(here)
    assert gone(first, second, third) == [False, False, False]


def test_room_is_made_of_those_who_are_silent() -> None:
    here = places()
    assert not here.make_room()
    first, second = Client(here), Client(here)
    here.spoke(first)
    assert here.make_room()
    assert not here.make_room()
    assert gone(first, second) == [False, True]
    assert len(here._all.speaking) == len(here) == 1


class Silent:
    """A connection."""

    def __init__(self, silent: SilentClients, listener: str = "here") -> None:
        self.listener = listener
        self.reasons: list[str] = []
        silent.add(self.connection)

    @property
    def connection(self) -> BaseConnection:
        return cast(BaseConnection, self)

    def close(self, reason: str, *, quietly: bool) -> None:
        assert quietly
        self.reasons.append(reason)


def test_who_sends_nothing_is_closed_after_a_while() -> None:
    silent = SilentClients()
    first, second = Silent(silent), Silent(silent, "there")
    silent.remove(second.connection)
    silent.sweep(0.0)
    assert first.reasons == []
    silent.sweep(float("inf"))
    assert (first.reasons, second.reasons) == ([SENT_NOTHING], [])
    assert SILENT_SECONDS == 600


def test_the_longest_silent_of_the_listener_makes_room() -> None:
    silent = SilentClients()
    other, first, second = Silent(silent, "there"), Silent(silent), Silent(silent)
    assert silent.make_room("here")
    assert (other.reasons, first.reasons, second.reasons) == ([], [SENT_NOTHING], [])
    silent.remove(second.connection)
    assert not silent.make_room("here")
    assert not silent.make_room("nowhere")
