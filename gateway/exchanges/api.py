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
"""(tree, mount path of the node's volume, plan, request body) -> how the request is answered in a
tree; None: as one without a tree, by the node's broker."""

NodeHandler = Callable[[Exchange, bytes], Outcome]
"""(exchange, request body) -> the answer of a node that is a gateway."""


@dataclass(frozen=True, kw_only=True)
class Api(Declaration):
    """One API as ``gateway.apis`` declares it; ``gateway.apis.generic`` handles it if it has no
    handler of its own.

    ``in_tree`` handles requests of an API without a ``division`` that any node of a tree can
    answer. ``at_gateway_node`` handles requests by which a client means the broker that it sends
    them to, at a node that stands for a gateway.
    """

    request: RequestHandler | None = None
    response: ResponseHandler | None = None
    on_change: ChangeHandler | None = None
    in_tree: TreeHandler | None = None
    at_gateway_node: NodeHandler | None = None


APIS: Final[dict[int, Api]] = {}
"""Every API that the gateway serves, by key; ``gateway.apis`` fills it.

Any other is not advertised in ApiVersions and is answered UNSUPPORTED_VERSION, or the connection is
closed where Kafka has no answer for it.
"""


def declare(api: Api) -> Api:
    """Serve this API. Raises ValueError if it is declared already."""
    if api.key in APIS:
        raise ValueError(f"{api.name} is declared twice")
    APIS[api.key] = api
    return api
