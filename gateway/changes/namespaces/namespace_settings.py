"""Settings of namespaces beside topic configs: virtual configs, which never reach a broker.

Settings control the gateway's own behaviour in a namespace: ``gateway.auto.create.topics.enable``
and ``gateway.num.partitions``. Namespaces inherit them down the tree like configs.
``gateway.principals`` are the principals whose home the namespace is. Homes belong to the whole
gateway, as users do, so a principal that may ALTER the cluster sets them, and no tenant does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gateway.catalog.entities import Change, Namespace, PrincipalHome, Removal, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import APPEND, DELETE, SET, SUBTRACT, Operation
from gateway.changes.base.virtual_configs import AUTO_CREATE, NUM_PARTITIONS, PRINCIPALS
from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    INVALID_CONFIG,
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import DELIMITER
from gateway.views.view import View

MAX_PARTITIONS: Final = 10_000
"""More than a broker creates of one topic (ReplicationControlManager: MAX_PARTITIONS_PER_BATCH)."""

MAX_BYTES: Final = 1_024
"""Bytes of one principal: a certificate's subject is seldom longer than 200."""

MAX_PRINCIPALS: Final = 10_000
"""Principals in one request."""

_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
"""The type of a principal, before its colon."""

_NEXT: Final = re.compile(rf",\s*(?={_KIND.pattern}:)")
"""A separator of principals: a comma inside a principal's name, as in certificates' subjects, is
not followed by a type."""

_LOOSE: Final = re.compile(r"(?<!\\),(?![^,]*=)")
"""A comma followed neither by a principal nor by a further part of a certificate's subject, which
shows that a value like ``User:alice,bob`` is wrong."""


def existing(snapshot: Snapshot, path: str) -> Namespace:
    """The namespace. Raises :class:`Rejected` if it does not exist or is being deleted."""
    found = snapshot.namespaces.get(path)
    if found is None:
        raise Rejected(UNKNOWN_TOPIC_OR_PARTITION, f"Namespace '{path}' does not exist.")
    if snapshot.deleting_tier(path) is not None:
        raise Rejected(
            INVALID_TOPIC_EXCEPTION,
            f"InvalidNamespaceException: namespace '{path}' is being deleted.",
        )
    return found


# -- settings --------------------------------------------------------------------------------------


def _boolean(value: str) -> str | None:
    text = value.strip().lower()
    return text if text in ("true", "false") else None


def _count(value: str) -> str | None:
    text = value.strip()
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_PARTITIONS))
    return str(int(text)) if digits and 1 <= int(text) <= MAX_PARTITIONS else None


SETTINGS: Final[Mapping[str, tuple[Callable[[str], str | None], str]]] = {
    AUTO_CREATE: (_boolean, "'true' or 'false'"),
    NUM_PARTITIONS: (_count, f"a number from 1 to {MAX_PARTITIONS:,}"),
}
"""By key, the function that reads a value (None if it is invalid), and the valid values in
words."""


def read_setting(key: str, value: str | None) -> str:
    """The value in the form in which the catalog keeps it. Raises :class:`Rejected`,
    INVALID_CONFIG."""
    read, wanted = SETTINGS[key]
    found = read(value or "")
    if found is None:
        raise Rejected(INVALID_CONFIG, f"'{key}' is {wanted}, not '{value}'.")
    return found


def wrong_setting(key: str, value: str) -> str | None:
    """The error in a setting that does not come from a client, or None if it is valid."""
    if key not in SETTINGS:
        return f"'{key}' is no setting of a namespace; there are {', '.join(sorted(SETTINGS))}"
    try:
        read = read_setting(key, value)
    except Rejected as rejected:
        return rejected.why.message.removesuffix(".")
    return None if read == value else f"'{key}' is written '{read}', not '{value}'"


def altered_settings(own: Mapping[str, str], operations: Sequence[Operation]) -> dict[str, str]:
    """A namespace's own settings after the operations SET and DELETE. Raises :class:`Rejected`."""
    new = dict(own)
    seen: set[str] = set()
    for one in operations:
        if one.key in seen:
            raise Rejected(INVALID_REQUEST, f"Config key '{one.key}' is in the request twice.")
        seen.add(one.key)
        if one.operation == DELETE:
            new.pop(one.key, None)
        elif one.operation == SET:
            new[one.key] = read_setting(one.key, one.value)
        else:
            message = f"Config '{one.key}' is no list, so nothing is added to it or taken off."
            raise Rejected(INVALID_CONFIG, message)
    return dict(sorted(new.items()))


Check = Callable[[Snapshot], None]
"""Raises :class:`Rejected` if the client may not make a change on this state of the catalog: a
right may be revoked while the change waits for brokers and for its turn in the catalog."""


def allowed(_: Snapshot) -> None:
    """The :data:`Check` of a change that needs no right."""


async def change_settings(
    context: Context,
    path: str,
    operations: Sequence[Operation],
    validate_only: bool = False,
    check: Check = allowed,
) -> None:
    """Alter a namespace's own settings. Raises :class:`Rejected` and OSError."""

    def decide(newest: Snapshot) -> Sequence[Change]:
        check(newest)
        present = existing(newest, path)
        settings = altered_settings(present.settings, operations)
        return [] if settings == present.settings else [replace(present, settings=settings)]

    await context.decide(decide, validate_only)


# -- principals ------------------------------------------------------------------------------------


def principals_of(snapshot: Snapshot, path: str) -> str:
    """The value of the config: ``User:alice,User:bob``, sorted; empty if the namespace has none."""
    return ",".join(sorted(who for who, home in snapshot.homes.items() if home == path))


def is_home_change(operations: Sequence[Operation]) -> bool:
    """Whether operations on a namespace change its principals. Raises :class:`Rejected` if they
    change other configs as well."""
    about = [one for one in operations if one.key == PRINCIPALS]
    if about and len(operations) > 1:
        raise Rejected(
            INVALID_REQUEST,
            f"'{PRINCIPALS}' is changed alone; change the namespace's other configs in a request of"
            " their own.",
        )
    return bool(about)


async def change_principals(
    context: Context,
    view: View,
    path: str,
    one: Operation,
    validate_only: bool = False,
    check: Check = allowed,
) -> None:
    """Change the principals whose home a namespace is: SET, DELETE, APPEND, SUBTRACT.

    A principal has one home, so a principal that is added here loses its former home. Raises
    :class:`Rejected` and OSError.
    """
    home = view.settings.home
    if home:
        raise Rejected(
            CLUSTER_AUTHORIZATION_FAILED,
            f"'{PRINCIPALS}' is changed where no home namespace is in force, and '{home}' is here.",
            "access",
        )
    named = frozenset() if one.operation == DELETE else read_principals(one.value)

    def decide(newest: Snapshot) -> list[Change]:
        check(newest)
        existing(newest, path)
        present = {who for who, home in newest.homes.items() if home == path}
        if one.operation == APPEND:
            wanted = present | named
        elif one.operation == SUBTRACT:
            wanted = present - named
        elif one.operation in (SET, DELETE):
            wanted = set(named)
        else:
            text = f"Operation {one.operation} on config '{PRINCIPALS}' is none of Kafka's."
            raise Rejected(INVALID_REQUEST, text)
        gone = (PrincipalHome(who, path) for who in sorted(present - wanted))
        made = (PrincipalHome(who, path) for who in sorted(wanted - present))
        return [*(Removal(key_of(home)) for home in gone), *made]

    await context.decide(decide, validate_only)


def read_principals(value: str | None) -> frozenset[str]:
    """The principals of a list. Raises :class:`Rejected`, INVALID_CONFIG."""
    items = (item.strip(", \t") for item in _NEXT.split(value or ""))
    found = frozenset(item for item in items if item)
    for principal in found:
        kind, _, name = principal.partition(DELIMITER)
        if not (_KIND.fullmatch(kind) and name) or _LOOSE.search(principal):
            # kafka-configs accepts a list in brackets, and removes the brackets before it sends the
            # list.
            brackets = ", without brackets" if principal.startswith("[") else ""
            raise Rejected(
                INVALID_CONFIG,
                f"'{PRINCIPALS}' is a list like User:alice,User:bob{brackets}, and '{principal}' is"
                " no principal.",
            )
        if len(principal.encode()) > MAX_BYTES:
            text = f"A principal of '{PRINCIPALS}' is longer than {MAX_BYTES:,} bytes."
            raise Rejected(INVALID_CONFIG, text)
    if len(found) > MAX_PRINCIPALS:
        text = f"'{PRINCIPALS}' has more than {MAX_PRINCIPALS:,} principals in one request."
        raise Rejected(INVALID_CONFIG, text)
    return found
