"""The gateway's own requests as a broker reads them, and its responses: written and parsed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol import messages
from protocol.messages import Request


def read_request(request: Request, version: int | None = None) -> Any:
    """The request as a broker reads it, by default in the newest version that the gateway sends."""
    version = request.at_most if version is None else version
    return messages.parse(request.name, version, messages.write(request.entity(version)))


def answer(request: Request, values: Mapping[str, object], version: int | None = None) -> Any:
    """The response with these values as the gateway reads it, in that version."""
    version = request.at_most if version is None else version
    name = request.name.removesuffix("Request") + "Response"
    written = messages.write(Request(name, version, values).entity(version))
    return messages.parse(name, version, written)
