"""Rules of listeners' mirrors: aliases that can be read back, namespaces that do not overlap."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gateway.config.errors import Problem
from gateway.config.models import Listener
from gateway.config_file.parts import Parts
from gateway.names import DELIMITER

_SEPARATOR: Final = re.compile(r"[a-zA-Z0-9._-]{1,16}\Z")
_ALIAS: Final = re.compile(r"[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,63}\Z")
"""Characters of topic names: a topic's name begins with it. Names that begin '..' are absolute."""


def mirror_problems(parts: Parts) -> Iterator[Problem]:
    """Every mistake in listeners' ``mirrors`` and ``mirror_separator``."""
    for index, listener in parts.listeners.items():
        for key, text in _listener(listener):
            yield Problem(("listeners", index, *key), text)


def _listener(listener: Listener) -> Iterator[tuple[tuple[str, ...], str]]:
    separator = listener.mirror_separator
    if not _SEPARATOR.match(separator) or ".." in separator:
        text = (
            f"'{separator}' is no separator; give MirrorMaker 2's replication.policy.separator, 1"
            " to 16 of letters, digits, '.', '_' and '-', without '..'"
        )
        yield ("mirror_separator",), text
        return
    if not listener.mirrors and "mirror_separator" in listener.model_fields_set:
        yield ("mirror_separator",), "means nothing without mirrors; remove it or give mirrors"
    for alias, namespace in listener.mirrors.items():
        key = ("mirrors", alias)
        if not _ALIAS.match(alias):
            text = (
                f"'{alias}' is no alias; give MirrorMaker 2's of the source cluster, 1 to 64 of"
                " letters, digits, '.', '_' and '-', that begins with no '.'"
            )
            yield key, text
        elif (alias + separator).find(separator) != len(alias):
            text = (
                f"alias '{alias}' and separator '{separator}' cannot be told apart in a name, as"
                " MirrorMaker 2 ends an alias at the first separator; rename the alias"
            )
            yield key, text
        if listener.home is not None and not _is_within(namespace, listener.home):
            text = (
                f"'{namespace}' is outside namespace '{listener.home}', the home here; give one at"
                " or below it, written from the root of the volume"
            )
            yield key, text
    before: dict[str, str] = {}
    for other_alias, other in listener.mirrors.items():
        met = next((one for one in before.items() if _overlap(one[1], other)), None)
        before[other_alias] = other
        if met is not None:
            text = (
                f"'{other}' and '{met[1]}' of alias '{met[0]}' overlap; give each alias a"
                " namespace of its own"
            )
            yield ("mirrors", other_alias), text


def _overlap(one: str, other: str) -> bool:
    return _is_within(one, other) or _is_within(other, one)


def _is_within(namespace: str, other: str) -> bool:
    return namespace == other or namespace.startswith(other + DELIMITER)
