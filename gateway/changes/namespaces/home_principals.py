"""The principals whose home a namespace is: its virtual config ``gateway.principals``.

They are the whole gateway's, as users are: who may ALTER the cluster says whose home is where,
and no tenant does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from gateway.catalog.entities import Change, PrincipalHome, Removal, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused
from gateway.changes.base.resources import APPEND, DELETE, SET, SUBTRACT, Operation
from gateway.changes.base.virtual_configs import PRINCIPALS
from gateway.changes.namespaces.alter_namespaces import existing
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, INVALID_CONFIG, INVALID_REQUEST
from gateway.names import DELIMITER
from gateway.views.view import View

_LOOSE: Final = re.compile(r"(?<!\\),(?![^,]*=)")
"""A comma after which neither a principal begins nor a further part of a certificate's subject:
whoever wrote ``User:alice,bob`` meant something else."""

MAX_BYTES: Final = 1_024
"""Bytes of one principal: a certificate's subject is seldom longer than 200."""

MAX_PRINCIPALS: Final = 10_000
"""Principals in one request."""

_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
"""The type of a principal, before its colon."""

_NEXT: Final = re.compile(rf",\s*(?={_KIND.pattern}:)")
"""A comma inside of a name, as certificates' subjects have them, is followed by no type."""


def principals_of(snapshot: Snapshot, path: str) -> str:
    """The value of the config: ``User:alice,User:bob``, sorted; empty for nobody's home."""
    return ",".join(sorted(who for who, home in snapshot.homes.items() if home == path))


def is_home_change(operations: Sequence[Operation]) -> bool:
    """Whether operations on a namespace are about its principals.

    Raises :class:`Refused` where they are about something else as well.
    """
    about = [one for one in operations if one.key == PRINCIPALS]
    if about and len(operations) > 1:
        raise Refused(
            INVALID_REQUEST,
            f"'{PRINCIPALS}' is changed alone; change the namespace's other configs in a request of"
            " their own.",
        )
    return bool(about)


async def change_principals(
    context: Context, view: View, path: str, one: Operation, validate_only: bool = False
) -> None:
    """Make a namespace the home of principals, or of some no more: SET, DELETE, APPEND, SUBTRACT.

    A principal has one home: what makes this its home takes it from another. Raises
    :class:`Refused` and OSError.
    """
    home = view.settings.home
    if home:
        raise Refused(
            CLUSTER_AUTHORIZATION_FAILED,
            f"'{PRINCIPALS}' is changed where no home namespace is in force, and '{home}' is here.",
            "access",
        )
    named = frozenset() if one.operation == DELETE else read_principals(one.value)

    def decide(newest: Snapshot) -> list[Change]:
        existing(newest, path)
        return _changes(newest, path, one.operation, named)

    await context.decide(decide, validate_only)


def read_principals(value: str | None) -> frozenset[str]:
    """The principals of a list. Raises :class:`Refused`, INVALID_CONFIG."""
    items = (item.strip(", \t") for item in _NEXT.split(value or ""))
    found = frozenset(item for item in items if item)
    for principal in found:
        kind, _, name = principal.partition(DELIMITER)
        if not (_KIND.fullmatch(kind) and name) or _LOOSE.search(principal):
            # kafka-configs takes a list in brackets, and takes them off before it sends it.
            brackets = ", without brackets" if principal.startswith("[") else ""
            raise Refused(
                INVALID_CONFIG,
                f"'{PRINCIPALS}' is a list like User:alice,User:bob{brackets}, and '{principal}' is"
                " no principal.",
            )
        if len(principal.encode()) > MAX_BYTES:
            text = f"A principal of '{PRINCIPALS}' is longer than {MAX_BYTES:,} bytes."
            raise Refused(INVALID_CONFIG, text)
    if len(found) > MAX_PRINCIPALS:
        text = f"'{PRINCIPALS}' has more than {MAX_PRINCIPALS:,} principals in one request."
        raise Refused(INVALID_CONFIG, text)
    return found


def _changes(snapshot: Snapshot, path: str, operation: int, named: frozenset[str]) -> list[Change]:
    present = {who for who, home in snapshot.homes.items() if home == path}
    if operation == APPEND:
        wanted = present | named
    elif operation == SUBTRACT:
        wanted = present - named
    elif operation in (SET, DELETE):
        wanted = set(named)
    else:
        text = f"Operation {operation} on config '{PRINCIPALS}' is none of Kafka's."
        raise Refused(INVALID_REQUEST, text)
    gone = (PrincipalHome(who, path) for who in sorted(present - wanted))
    made = (PrincipalHome(who, path) for who in sorted(wanted - present))
    return [*(Removal(key_of(home)) for home in gone), *made]
