"""Trust: principals of other volumes' listeners that a volume accepts, and their names there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.config.models import Trust

NOBODY: Final = ""
"""The principal of a client that a volume does not trust: no ACL can name it."""


def trusted(trust: Iterable[Trust], listener: str, principal: str) -> str:
    """The name in this volume for a principal of another volume's listener; :data:`NOBODY` without
    trust."""
    for each in trust:
        if each.listener == listener:
            if each.principals is None:
                return principal
            return each.principals.get(principal, NOBODY)
    return NOBODY
