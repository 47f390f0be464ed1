"""Settings of namespaces: what the gateway itself does in them, by the virtual configs
``gateway.auto.create.topics.enable`` and ``gateway.num.partitions``.

They are inherited down the tree like configs, but no topic has them and no broker is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused
from gateway.changes.base.resources import DELETE, SET, Operation
from gateway.changes.base.virtual_configs import AUTO_CREATE, NUM_PARTITIONS
from gateway.changes.namespaces.alter_namespaces import existing
from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST

__all__ = ["AUTO_CREATE", "NUM_PARTITIONS"]

MAX_PARTITIONS: Final = 10_000
"""More than a broker creates of one topic (ReplicationControlManager: MAX_PARTITIONS_PER_BATCH)."""


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
"""What reads the value of each, None for one that makes no sense, and what would."""


def is_setting(key: str) -> bool:
    """Whether a config key is a namespace's setting."""
    return key in SETTINGS


def read_setting(key: str, value: str | None) -> str:
    """The value as it is kept. Raises :class:`Refused`, INVALID_CONFIG."""
    read, wanted = SETTINGS[key]
    found = read(value or "")
    if found is None:
        raise Refused(INVALID_CONFIG, f"'{key}' is {wanted}, not '{value}'.")
    return found


def wrong_setting(key: str, value: str) -> str | None:
    """What is wrong with a setting that comes from elsewhere than a client; None: nothing."""
    if not is_setting(key):
        return f"'{key}' is no setting of a namespace; there are {', '.join(sorted(SETTINGS))}"
    try:
        read = read_setting(key, value)
    except Refused as refused:
        return refused.why.message.removesuffix(".")
    return None if read == value else f"'{key}' is written '{read}', not '{value}'"


def altered_settings(own: Mapping[str, str], operations: Sequence[Operation]) -> dict[str, str]:
    """A namespace's own settings after SET and DELETE of some. Raises :class:`Refused`."""
    new = dict(own)
    seen: set[str] = set()
    for one in operations:
        if one.key in seen:
            raise Refused(INVALID_REQUEST, f"Config key '{one.key}' is in the request twice.")
        seen.add(one.key)
        if one.operation == DELETE:
            new.pop(one.key, None)
        elif one.operation == SET:
            new[one.key] = read_setting(one.key, one.value)
        else:
            message = f"Config '{one.key}' is no list, so nothing is added to it or taken off."
            raise Refused(INVALID_CONFIG, message)
    return dict(sorted(new.items()))


async def change_settings(
    context: Context, path: str, operations: Sequence[Operation], validate_only: bool = False
) -> None:
    """Change a namespace's own settings. Raises :class:`Refused` and OSError."""

    def decide(newest: Snapshot) -> Sequence[Change]:
        present = existing(newest, path)
        settings = altered_settings(present.settings, operations)
        return [] if settings == present.settings else [replace(present, settings=settings)]

    await context.decide(decide, validate_only)
