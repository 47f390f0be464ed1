"""How the listener that a command is connected to writes names.

Inside the commands names have colons. What is sent and what is printed has the listener's
delimiter, so that a name that was printed can be looked for in what other tools list there.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final, NamedTuple

from gateway.names import DELIMITER, SLASH

SPELLING: Final = "gateway.spelling"
AUTHORIZATION: Final = "gateway.authorization"
"""Configs by which the gateway describes a listener, of the name ``:``."""


class Listener(NamedTuple):
    """What is known of a listener. ``spelling`` is colon, slash or legal; ``authorizes`` says
    whether ACLs of the gateway apply there. None: it does not say, as one of an older gateway."""

    spelling: str | None = None
    authorizes: bool | None = None


_UNKNOWN: Final = Listener()
_LISTENER: Final[ContextVar[Listener]] = ContextVar("listener", default=_UNKNOWN)


def connected_to(listener: Listener) -> None:
    """From now on this command writes names as that listener does."""
    _LISTENER.set(listener)


def listener() -> Listener:
    """The listener that this command is connected to."""
    return _LISTENER.get()


def shown(name: str) -> str:
    """A name, or a path, with the listener's delimiter."""
    return name.replace(DELIMITER, SLASH) if listener().spelling == "slash" else name


def with_colons(name: str) -> str:
    """A name as the commands have it. No tier and no topic has a slash, so each is a delimiter."""
    return name.replace(SLASH, DELIMITER)
