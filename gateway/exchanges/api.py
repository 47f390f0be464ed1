"""An API as ``gateway.apis`` declares it: what it names, and who handles it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.exchanges.exchange import Exchange, Outcome
from gateway.rules.declaration import Declaration
from protocol.splice import Edit

if TYPE_CHECKING:
    from gateway.exchanges.state import ConnectionState

RequestHandler = Callable[["ConnectionState", Exchange, bytes, int, int], Outcome]
"""(connection, exchange, buffer, body start, body end) -> outcome. May raise ProtocolError."""

ResponseHandler = Callable[
    ["ConnectionState", Exchange, bytes, int, int], "list[Edit] | bytes | None"
]
"""The same for a response; edits of the buffer, or the whole new body (logical names). None: it
answers a request of the gateway's own, and the client gets nothing."""

KIB: Final = 1024


@dataclass(frozen=True, kw_only=True)
class Api(Declaration):
    """One API. Without a handler of its own it is handled by ``gateway.apis.generic``.

    Requests of up to ``small_request`` bytes and responses of up to ``small_response`` are decided,
    or restored, in one go, whatever they hold; longer ones may take several slices
    (``gateway.slices``).
    """

    request: RequestHandler | None = None
    response: ResponseHandler | None = None
    small_request: int = 1 * KIB
    small_response: int = 2 * KIB


APIS: Final[dict[int, Api]] = {}
"""Every API that the gateway has decided, by key; ``gateway.apis`` fills it.

What is not in it is not advertised in ApiVersions and is answered UNSUPPORTED_VERSION, or the
connection is closed where Kafka has no answer for it.
"""


def declare(api: Api) -> Api:
    """Serve this API. Raises ValueError if it is declared already."""
    if api.key in APIS:
        raise ValueError(f"{api.name} is declared twice")
    APIS[api.key] = api
    return api
