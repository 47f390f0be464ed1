"""Why client connections close: the reasons, their count and log, and callbacks that fail.

An event loop logs an exception that a callback raises and goes on, so the connection would stay
behind with both of its sockets open, and nothing would close them. So if a callback fails because
of a defect of ours, its connection closes: both sides, at once. That is counted, and logged with a
traceback, a few times a second.

Only this module may catch any exception, and the two callbacks that carry the bytes
(``Connection.data_received`` and ``Connection.broker_data``), because there every read would pay
for another call, and a ``try`` costs nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from gateway.counts import Counts
from gateway.tls.handshake import FAILED, FULL

log = logging.getLogger(__name__)

INTERNAL: Final = "internal error"
TOO_LATE: Final = "client did not log in in time"
SESSION_EXPIRED: Final = "session expired"
TOO_MANY_LINGERING: Final = "too many connections wait for brokers"
LEFT_TOO_LONG: Final = "what a client has left behind took too long"
NOT_ANY_MORE: Final = "a request in flight is not allowed any more"
OUT_OF_DATE: Final = "a request in flight when the catalog went out of date"
UNREAD: Final = "client does not read what a change waits for"
UNSENT: Final = "client does not send the rest of what a change waits for"
UNTAKEN: Final = "a long response was held for too long"
TOO_MANY_OF_ONE: Final = "max.connections.per.ip"
NO_PEER: Final = "certificate of no peer"
TOO_MANY_OF_PEER: Final = "too many connections of one peer"
TOO_MUCH_INCOMPLETE: Final = "too much of incomplete requests"
NO_ROOM: Final = "no room at the broker"
GAVE_WAY: Final = "gave way to others at a full broker"

LOGGED_FEW_TIMES: Final = frozenset(
    {
        "a change failed",
        "no broker connection",
        "authentication failed",
        TOO_LATE,
        FAILED,
        FULL,
        TOO_MANY_LINGERING,
        LEFT_TOO_LONG,
        NOT_ANY_MORE,
        OUT_OF_DATE,
        UNREAD,
        UNSENT,
        UNTAKEN,
        TOO_MANY_OF_ONE,
        NO_PEER,
        TOO_MANY_OF_PEER,
        TOO_MUCH_INCOMPLETE,
        INTERNAL,
    }
)
"""Kinds of reasons that clients can cause as often as they like."""

LOGGED_A_SECOND: Final = 5
"""Closed connections of each kind in :data:`LOGGED_FEW_TIMES` that are logged between two
collections, a second apart."""


class CloseLog:
    """Counts and logs why the client connections of a worker close."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def note(
        self,
        listener: str,
        address: str,
        reason: str,
        *,
        quietly: bool,
        error: Exception | None = None,
    ) -> None:
        """Log and count that a connection closes; the kind of its ``reason`` is the text before the
        colon.

        ``error`` is the exception if a defect of the gateway was the cause; its traceback is
        logged.
        """
        kind = reason.partition(":")[0]
        count = self._counts.add("closes", (kind,), 1)
        quietly = quietly or (kind in LOGGED_FEW_TIMES and count > LOGGED_A_SECOND)
        failed = logging.WARNING if error is None else logging.ERROR
        level = logging.DEBUG if quietly else failed
        log.log(level, "%s on %s: %s", address, listener, reason, exc_info=error)


class Guarded(Protocol):
    """An owner of callbacks on the event loop: the client's side of a connection
    (``base.BaseConnection``), the broker's (``broker_side.BrokerSide``,
    ``login_connection.LoginBroker``), or a lane (``lane.Lane``)."""

    def fail(self, error: Exception) -> None:
        """Close both sides of the connection, in any state."""
        ...


Owner = TypeVar("Owner", bound=Guarded)
Arguments = ParamSpec("Arguments")


def guarded(
    callback: Callable[Concatenate[Owner, Arguments], None],
) -> Callable[Concatenate[Owner, Arguments], None]:
    """Decorate a method so that it raises nothing: if it fails, its connection closes."""

    @wraps(callback)
    def run(owner: Owner, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            callback(owner, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - no defect may leave sockets behind
            owner.fail(error)

    return run


def guard(owner: Guarded, step: Callable[[], object]) -> None:
    """Do a step for one connection of many; if the step fails, that connection closes."""
    try:
        step()
    except Exception as error:  # noqa: BLE001 - the others' turns have to come
        owner.fail(error)


def guard_each(owners: Iterable[Owner], step: Callable[[Owner], object]) -> None:
    """Do a step for each of many connections; a connection whose step fails closes."""
    for owner in owners:
        try:
            step(owner)
        except Exception as error:  # noqa: BLE001 - the others' turns have to come
            owner.fail(error)


def close_failed(close: Callable[[str], object], error: Exception) -> None:
    """Close a connection that failed, with the reason, and log the exception if closing fails, too.
    The caller aborts its sockets afterwards."""
    try:
        close(internal_error(error))
    except Exception:
        log.exception("a connection that failed could not be closed as others are")


def internal_error(error: Exception) -> str:
    """The reason to close after a defect. It has the error's type only, because the error's text
    may hold a client's bytes."""
    return f"{INTERNAL}: {type(error).__name__}"
