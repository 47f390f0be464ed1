"""What follows when a callback of the event loop fails: its connection ends, and no other.

An event loop logs what a callback raises and goes on, so a connection would stay behind with both
of its sockets open, and with nobody to close them. So a callback that fails, through whatever
defect of ours, ends its connection: both sides, at once. That is counted and logged, with a
traceback, a few times a second (``ends``).

This is the one place that may catch whatever there is, with the two callbacks that carry the bytes
(``Connection.data_received`` and ``Connection.broker_data``): there a call more would be paid for
every read, and a ``try`` costs nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

log = logging.getLogger(__name__)

INTERNAL: Final = "internal error"
"""Kind of the end of a connection that failed here (``gateway/connections/ends.py``)."""


class Guarded(Protocol):
    """What has callbacks on the event loop."""

    def fail(self, error: Exception) -> None:
        """End the connection, both sides of it, whatever state it is in."""
        ...


Owner = TypeVar("Owner", bound=Guarded)
Arguments = ParamSpec("Arguments")


def guarded(
    callback: Callable[Concatenate[Owner, Arguments], None],
) -> Callable[Concatenate[Owner, Arguments], None]:
    """A method that ends its connection if it fails, and raises nothing."""

    @wraps(callback)
    def run(owner: Owner, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            callback(owner, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - no defect may leave sockets behind
            owner.fail(error)

    return run


def guard(owner: Guarded, step: Callable[[], object]) -> None:
    """Do something for one connection of many; if it fails, that connection ends."""
    try:
        step()
    except Exception as error:  # noqa: BLE001 - the others' turns have to come
        owner.fail(error)


def end(close: Callable[[], object]) -> None:
    """Close a connection that failed; it may fail at that, too. Its sockets end afterwards."""
    try:
        close()
    except Exception:
        log.exception("a connection that failed could not be closed as others are")


def reason(error: Exception) -> str:
    """Why a connection ends; the text of the error may hold a client's bytes."""
    return f"{INTERNAL}: {type(error).__name__}"
