"""Twins: one topic or namespace under two spellings in one CreateTopics request.

Twins that are alike are answered alike. Of those that are not none is created, as Kafka does with a
name that is in a request twice (ReplicationControlManager: INVALID_REQUEST).
"""

from __future__ import annotations

from typing import Any

from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.rules.nested import changed


def are_alike(one: Any, other: Any) -> bool:
    """Whether two topics of a request are to be the same but for their names."""
    return bool(changed(other, {"name": one.name}) == one)


def have_like_configs(one: Any, other: Any) -> bool:
    """The same of two namespaces, which have nothing but configs."""
    return bool(one.configs == other.configs)


def contradiction(first: str, second: str) -> Denied:
    """The error for both."""
    message = (
        f"'{first}' and '{second}' are one and the same name, which is in the request with two "
        "different meanings; nothing was created under it."
    )
    return Denied(INVALID_REQUEST, message, "spelling")
