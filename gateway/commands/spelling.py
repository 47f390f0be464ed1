"""The spelling of names at the listener that a command is connected to.

Inside the commands names have colons. Names that are sent or printed have the listener's delimiter,
so that an operator finds a printed name in the listings of other tools.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final, NamedTuple

from gateway.names import DELIMITER, SLASH

SPELLING: Final = "gateway.spelling"
AUTHORIZATION: Final = "gateway.authorization"
"""Configs by which the gateway describes a listener, on the resource ``:``."""


class Listener(NamedTuple):
    """The known properties of a listener. ``spelling`` is colon, slash or legal; ``authorizes``
    says whether ACLs of the gateway apply there. If the listener does not report a property, as an
    older gateway does not, it is None."""

    spelling: str | None = None
    authorizes: bool | None = None


_UNKNOWN: Final = Listener()
_LISTENER: Final[ContextVar[Listener]] = ContextVar("listener", default=_UNKNOWN)


def connected_to(listener: Listener) -> None:
    """Make this command spell names as that listener does from now on."""
    _LISTENER.set(listener)


def listener() -> Listener:
    """The listener that this command is connected to."""
    return _LISTENER.get()


def shown(name: str) -> str:
    """A name, or a path, with the listener's delimiter."""
    return name.replace(DELIMITER, SLASH) if listener().spelling == "slash" else name


def with_colons(name: str) -> str:
    """A name as the commands spell it. Each slash is a delimiter, because tiers
    and topics have no slash."""
    return name.replace(SLASH, DELIMITER)
