"""gateway.connections.broker_side: how many connections wait for a broker without their clients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from gateway.connections.broker_side import Lingering


class Broker:
    """A broker's side that waits until it is told not to."""

    lingering = False

    def linger(self) -> None:
        assert not self.lingering
        self.lingering = True


class Client:
    """The client's side, which is owed something by the broker, or is not."""

    def __init__(self, owing: bool = True) -> None:
        self.session = SimpleNamespace(owing=owing)


def test_as_many_as_may() -> None:
    lingering = Lingering(most=1)
    one, other = cast(Any, Client()), cast(Any, Client())
    first, second = cast(Any, Broker()), cast(Any, Broker())
    assert lingering.linger(one, first)
    assert lingering.linger(one, first)
    assert not lingering.linger(other, second)
    assert (first.lingering, second.lingering) == (True, False)
    lingering.ended(one)
    lingering.ended(one)
    assert lingering.linger(other, second)
    assert second.lingering


def test_who_has_nothing_to_wait_for_is_not_counted() -> None:
    lingering = Lingering(most=0)
    broker = cast(Any, Broker())
    assert lingering.linger(cast(Any, Client(owing=False)), broker)
    assert lingering.linger(cast(Any, Client()), None)
    assert not broker.lingering
