"""The exchange of a login with a broker (KIP-152), over any connection that sends requests in turn.

The same exchange on a connection that is logged in already is a re-authentication (KIP-368).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from gateway.brokers.errors import LoginError
from gateway.brokers.login import BrokerLogin
from protocol import messages
from protocol.schema import api_key_of, message_versions

HANDSHAKE: Final = "SaslHandshakeRequest"
AUTHENTICATE: Final = "SaslAuthenticateRequest"

HANDSHAKE_VERSION: Final = 1
"""From this version on, tokens are sent in SaslAuthenticate (KIP-152), not bare."""

_LOWEST_AUTHENTICATE: Final = 1  # v0 lacks the session's lifetime (KIP-368)

Ask = Callable[[str, int, Any], Awaitable[Any]]
"""(request's name, version, request entity) -> response entity, in turn."""


async def log_in(login: BrokerLogin, ask: Ask, version: int) -> None:
    """Exchange SaslHandshake and SaslAuthenticate, the latter in ``version``. Raises LoginError,
    and the exceptions of ``ask``.

    A password's hash is computed in a thread: it would hold up the event loop for milliseconds.
    """
    handshake = messages.message_class(HANDSHAKE, HANDSHAKE_VERSION)
    request = messages.build(handshake, mechanism=login.mechanism)
    response = await ask(HANDSHAKE, HANDSHAKE_VERSION, request)
    token: bytes | None = login.first_token(int(response.error_code), response.mechanisms)
    authenticate = messages.message_class(AUTHENTICATE, version)
    while token is not None:
        request = messages.build(authenticate, auth_bytes=token)
        response = await ask(AUTHENTICATE, version, request)
        seconds = response.session_lifetime.total_seconds()
        answer = int(response.error_code), response.error_message, response.auth_bytes, seconds
        if login.is_slow:
            token = await asyncio.to_thread(login.next_token, *answer)
        else:
            token = login.next_token(*answer)


def authenticate_version(api_versions: Mapping[int, tuple[int, int]]) -> int:
    """The version of SaslAuthenticate for a broker that has these API versions.

    Raises LoginError for a broker before Kafka 2.2.
    """
    newest = message_versions(AUTHENTICATE)[-1]
    _, highest = api_versions.get(api_key_of(AUTHENTICATE), (0, _LOWEST_AUTHENTICATE))
    if highest < _LOWEST_AUTHENTICATE:
        raise LoginError("speaks no SaslAuthenticate of Kafka 2.2 or later")
    return min(newest, highest)
