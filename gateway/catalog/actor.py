"""On whose behalf something is done, for those who tell later who changed what.

Whoever begins a piece of work sets :data:`ACTOR` in its task; what that task calls, and the tasks
that it makes, inherit it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Actor:
    """A client whose request is served, or the gateway itself.

    ``principal`` is ``User:alice``; the gateway's own are ``gateway``, ``gateway:`` and the kind of
    a background task, and ``operator:`` and the login of who runs a command. ``address`` is
    ``host:port`` of the client; ``api`` Kafka's name of the request, or the command. All but
    ``principal`` may be empty.
    """

    principal: str
    address: str = ""
    listener: str = ""
    client_id: str = ""
    api: str = ""


GATEWAY: Final = Actor("gateway")
"""What nobody asked for, such as a gateway that registers when it starts."""

ACTOR: Final[ContextVar[Actor]] = ContextVar("ACTOR", default=GATEWAY)
