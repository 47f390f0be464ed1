"""An API with its handlers; not compiled, since a declaration is not (``gateway.hot_path``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.exchanges.exchange import RequestHandler, ResponseHandler
from gateway.rules.declaration import Declaration


@dataclass(frozen=True, kw_only=True)
class Api(Declaration):
    """One API as ``gateway.apis`` declares it; ``gateway.apis.generic`` handles it where it has no
    handler of its own."""

    request: RequestHandler | None = None
    response: ResponseHandler | None = None


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
