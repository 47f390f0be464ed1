"""An API with its handlers; not compiled, because a declaration is not (``gateway.hot_path``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gateway.exchanges.exchange import (
    ChangeHandler,
    Exchange,
    Outcome,
    Plan,
    RequestHandler,
    ResponseHandler,
)
from gateway.exchanges.tree import Tree
from gateway.rules.declaration import Declaration

TreeHandler = Callable[[Tree, str, Plan, bytes], Outcome | None]
"""(tree, mount path of the node's volume, plan, request body) -> the outcome in a tree; None: the
node's broker answers the request, as without a tree."""

NodeHandler = Callable[[Exchange, bytes], Outcome]
"""(exchange, request body) -> the answer of a gateway's node."""


@dataclass(frozen=True, kw_only=True)
class Api(Declaration):
    """One API as ``gateway.apis`` declares it; without a handler of its own, the handlers of
    ``gateway.apis.generic`` apply.

    ``in_tree`` handles requests of an API without a ``division`` that any node of a tree can
    answer. ``in_fleet`` makes the request handler of a gateway in a fleet from the one of a
    gateway alone. ``at_gateway_node`` handles requests that a client means for the broker that it
    sends them to, at a node that stands for a gateway.
    """

    request: RequestHandler | None = None
    response: ResponseHandler | None = None
    on_change: ChangeHandler | None = None
    in_tree: TreeHandler | None = None
    in_fleet: Callable[[RequestHandler], RequestHandler] | None = None
    at_gateway_node: NodeHandler | None = None


@dataclass(frozen=True)
class Around:
    """Handlers that the tree, or the fleet, puts around the handlers of each API.

    The functions are called with an API, a version and the handler inside; they return that handler
    if there is nothing to add. ``place``: 0 is next to the API's own handlers.
    """

    place: int
    request_of: Callable[[Api, int, RequestHandler], RequestHandler]
    response_of: Callable[[Api, int, ResponseHandler], ResponseHandler]


APIS: Final[dict[int, Api]] = {}
"""Every API that the gateway serves, by key; ``gateway.apis`` fills it.

A request of any other API is answered UNSUPPORTED_VERSION, or its connection is closed if Kafka has
no response for that; ApiVersions does not list such an API.
"""


def declare(api: Api) -> Api:
    """Serve this API. Raises ValueError if it is declared already."""
    if api.key in APIS:
        raise ValueError(f"{api.name} is declared twice")
    APIS[api.key] = api
    return api
