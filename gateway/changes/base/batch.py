"""What an admin request that the gateway answers itself has come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.decision import Denied


@dataclass(frozen=True, slots=True)
class Answered:
    """A response body in the client's names, and what of the request was ``denied``: by what was
    asked for, in words."""

    body: bytes
    denied: Mapping[str, Denied] = field(default_factory=dict)
