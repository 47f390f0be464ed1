"""ListGroups: only the groups that a view may see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from protocol import messages
from protocol.pausing import paced


def keep(version: int, body: bytes, allowed: Callable[[bytes], bool]) -> bytes:
    """A ListGroupsResponse with the groups whose id (UTF-8) is ``allowed``.

    Raises ProtocolError.
    """
    response = messages.parse("ListGroupsResponse", version, body)
    groups = tuple(group for group in paced(response.groups) if allowed(group.group_id.encode()))
    return messages.write(replace(response, groups=groups))
