"""Clients that send nothing: closed after a while, or where somebody else needs their room."""

from __future__ import annotations

from typing import cast

from gateway.connections.connection import Connection
from gateway.connections.silent import SENT_NOTHING, SILENT_SECONDS, SilentClients


class Client:
    """A connection."""

    def __init__(self, silent: SilentClients, listener: str = "here") -> None:
        self.listener = listener
        self.reasons: list[str] = []
        silent.add(self.connection)

    @property
    def connection(self) -> Connection:
        return cast(Connection, self)

    def close(self, reason: str, *, quietly: bool) -> None:
        assert quietly
        self.reasons.append(reason)


def test_who_sends_nothing_is_closed_after_a_while() -> None:
    silent = SilentClients()
    first, second = Client(silent), Client(silent, "there")
    silent.remove(second.connection)
    silent.sweep(0.0)
    assert first.reasons == []
    silent.sweep(float("inf"))
    assert (first.reasons, second.reasons) == ([SENT_NOTHING], [])
    assert SILENT_SECONDS == 600


def test_the_longest_silent_of_the_listener_makes_room() -> None:
    silent = SilentClients()
    other, first, second = Client(silent, "there"), Client(silent), Client(silent)
    assert silent.make_room("here")
    assert (other.reasons, first.reasons, second.reasons) == ([], [SENT_NOTHING], [])
    silent.remove(second.connection)
    assert not silent.make_room("here")
    assert not silent.make_room("nowhere")
