"""Which ACLs have allowed something: those that nobody needs can be told by it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, Protocol

from gateway.acl_model import Permission
from gateway.acls.authorizer import Verdict

MOST: Final = 10_000
"""Verdicts, and ACLs, that are remembered of one principal."""

_ALLOW: Final = f"{Permission.ALLOW.name} "


class AllowedBy:
    """The ACLs that have allowed one principal something. Their text is made when somebody wants to
    read it."""

    def __init__(self) -> None:
        self._verdicts: list[Verdict] = []
        self._told: dict[str, None] = {}

    def add(self, verdict: Verdict) -> None:
        """An ACL, or what stands for one, has allowed something."""
        if len(self._verdicts) < MOST:
            self._verdicts.append(verdict)

    def texts(self) -> Collection[str]:
        """They, as ``ALLOW READ for User:alice on TOPIC:LITERAL:org:orders``."""
        verdicts, self._verdicts = self._verdicts, []
        for verdict in verdicts:
            if len(self._told) < MOST and (text := verdict.rule).startswith(_ALLOW):
                self._told[text] = None
        return self._told.keys()


class HasRights(Protocol):
    """What somebody may do (gateway/views/access.py)."""

    principal: str
    allowed_by: AllowedBy


def needed_acls(clients: Iterable[HasRights]) -> set[tuple[str, str]]:
    """The principals of clients that are busy, each with every ACL that it needs."""
    rights = {(one.principal, one.allowed_by) for one in clients}
    return {(principal, text) for principal, acls in rights for text in acls.texts()}
