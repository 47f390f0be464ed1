"""How a change says no: an error for the client instead of a change."""

from __future__ import annotations

from typing import Final

from gateway.catalog.source import CatalogUnavailable
from gateway.decision import Denied
from gateway.error_codes import REQUEST_TIMED_OUT

UNAVAILABLE: Final = "unavailable"
"""The rule of what is not refused, but not known or done now."""

UNANSWERED: Final = Denied(
    REQUEST_TIMED_OUT, "The broker does not say what became of it; try again.", UNAVAILABLE
)
"""What a client is told of an item that a broker's answer leaves out."""


class Refused(Exception):
    """Nothing is changed; ``why`` is what the client is told.

    It is raised inside of a catalog change, too, which writes nothing then.
    """

    def __init__(self, code: int, message: str, rule: str = "namespaces") -> None:
        super().__init__(message)
        self.why = Denied(code, message, rule)


def unavailable(error: OSError) -> Denied:
    """What a client is told when the catalog or the cluster cannot be asked now.

    The code is retriable. What the cluster's own errors say holds addresses, so it is not told.
    """
    if isinstance(error, CatalogUnavailable):
        text = str(error)
    else:
        text = "The cluster does not answer now, so it is not known what was done; try again."
    return Denied(REQUEST_TIMED_OUT, text, UNAVAILABLE)
