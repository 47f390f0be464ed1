"""Trust: principals of other volumes' listeners that count in a volume, and their names there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.config.models import Trust

NOBODY: Final = ""
"""The principal of a client that a volume does not trust: no ACL can name it."""


def trusted(trust: Iterable[Trust], listener: str, principal: str) -> str:
    """The principal of another volume's listener as this volume knows it; :data:`NOBODY` without
    trust."""
    for each in trust:
        if each.listener == listener:
            if each.principals is None:
                return principal
            return each.principals.get(principal, NOBODY)
    return NOBODY
