"""gateway.connections.broker_side: how many connections wait for a broker without their clients."""

from __future__ import annotations

from typing import cast

from gateway.connections.broker_side import ClientSide, Lingering
from gateway.connections.tenants import tenant_of
from gateway.identity import ANONYMOUS


class Client:
    """The client's side of a connection whose client has gone."""

    def __init__(self, lingering: Lingering, principal: str, host: str = "10.0.0.1") -> None:
        self._lingering = lingering
        self.tenant = tenant_of(principal, host)
        self.reasons: list[str] = []
        lingering.add(self.side)

    @property
    def side(self) -> ClientSide:
        return cast(ClientSide, self)

    def reset(self, reason: str) -> None:
        self.reasons.append(reason)
        self._lingering.ended(self.side)


def ended(clients: list[Client]) -> list[int]:
    return [place for place, client in enumerate(clients) if client.reasons]


def test_who_has_most_gives_up_the_oldest() -> None:
    lingering = Lingering(most=3)
    few = Client(lingering, "User:few")
    many = [Client(lingering, "User:many", f"10.0.0.{n}") for n in range(10)]
    assert ended(many) == list(range(8))
    assert not few.reasons


def test_without_a_login_it_is_the_address_that_has_most() -> None:
    lingering = Lingering(most=3)
    few = Client(lingering, ANONYMOUS.principal, "10.0.0.2")
    many = [Client(lingering, ANONYMOUS.principal) for _ in range(10)]
    assert ended(many) == list(range(8))
    assert not few.reasons


def test_what_has_ended_takes_no_place() -> None:
    lingering = Lingering(most=1)
    first = Client(lingering, "User:few")
    lingering.ended(first.side)
    lingering.ended(first.side)
    second = Client(lingering, "User:few")
    lingering.add(second.side)
    assert not first.reasons
    assert not second.reasons
