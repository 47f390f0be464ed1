"""The end of a client's login, which is checked when a request has come, as by brokers (KIP-368).

A broker does not close a connection when the login expires. It responds to the request that it
handles, and closes the connection when the next request is there
(SocketServer.processCompletedReceives), unless that begins to prolong the session. So a member
whose JoinGroup is held for a rebalance gets its response, and Java's client, which re-authenticates
before it sends anything else, never notices.
"""

from __future__ import annotations

import time
from math import inf
from typing import Final

from gateway.auth.messages import AUTHENTICATE, HANDSHAKE
from gateway.exchanges.state import ConnectionState
from gateway.identity import Identity
from protocol.errors import ProtocolError
from protocol.schema import api_key_of

NEVER: Final = inf
"""The end of a login that lasts as long as its connection."""

_HANDSHAKE: Final = api_key_of(f"{HANDSHAKE}Request")
_AUTHENTICATE: Final = api_key_of(f"{AUTHENTICATE}Request")


class SessionExpired(ProtocolError):
    """A request came after the end of the login: the connection closes."""

    def __init__(self) -> None:
        super().__init__("a request came after the end of the login")


def end_of(identity: Identity) -> float:
    """The end of an identity, in seconds of the monotonic clock. It is computed once, as by a
    broker, so that setting the clock later changes nothing."""
    if identity.expires is None:
        return NEVER
    return time.monotonic() + identity.expires - time.time()


def prolongs(state: ConnectionState, api_key: int) -> bool:
    """Whether a request is part of a re-authentication. ApiVersions is not, as at brokers."""
    if api_key == _HANDSHAKE:
        return True
    return api_key == _AUTHENTICATE and state.reauth is not None
