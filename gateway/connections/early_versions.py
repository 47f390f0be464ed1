"""ApiVersions for clients that have not logged in: from what a broker said earlier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.apis.table import APIS
from gateway.rules import api_versions


class EarlyVersions:
    """Response bodies by version, made once for each answer of the broker's."""

    def __init__(self, served: Callable[[], Any]) -> None:
        """``served`` gives the ApiVersionsResponse of the broker asked last."""
        self._served = served
        self._made_of: Any = None
        self._bodies: dict[int, bytes] = {}

    def body(self, version: int) -> bytes:
        """The response body of a version that the gateway reads."""
        served = self._served()
        if served is not self._made_of:
            self._made_of, self._bodies = served, {}
        body = self._bodies.get(version)
        if body is None:
            body = api_versions.before_login(version, served, APIS)
            self._bodies[version] = body
        return body
