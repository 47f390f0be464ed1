"""What applies to a namespace as one line of text: the value of ``gateway.policies``.

``partitions.max=12 (policies.namespaces.org, enforce); producer.acks=upgrade (the default)``: a
rule, its limit, where it is set, and the mode of its block. What holds anything but plain words is
in quotes, as a JSON string. So people can read it in what ``kafka-configs`` prints, and
:func:`parse` makes the same rows of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast, get_args

from gateway.config.policies import Mode
from gateway.policies.told import Row

MAX_BYTES: Final = 30_000
"""Of the text as UTF-8: before DescribeConfigs v4 a value has at most 32,767."""

_WORD: Final = r'[^\s"();,=]+'
_PLAIN: Final = rf"{_WORD}(?: {_WORD})*"
_TOKEN: Final = rf'{_PLAIN}|"(?:[^"\\]|\\.)*"'
_IS_PLAIN: Final = re.compile(_PLAIN)
_ITEM: Final = re.compile(
    rf"(?P<rule>{_TOKEN})=(?P<limit>{_TOKEN})"
    rf" \((?P<source>{_TOKEN})(?:, (?P<mode>{'|'.join(get_args(Mode))}))?\)"
)
_MORE: Final = re.compile(r"and (?P<more>[1-9][0-9]{0,8}) more")
_SEPARATOR: Final = "; "


@dataclass(frozen=True, slots=True)
class Told:
    """The rows of a text, and how many ``more`` there are that it had no room for."""

    rows: tuple[Row, ...]
    more: int = 0


def text(rows: Sequence[Row], most: int = MAX_BYTES) -> str:
    """The rows as one line of at most so many bytes, which ends in ``and 3 more`` where not all
    of them fit."""
    items = [_item(row) for row in rows]
    whole = _SEPARATOR.join(items)
    if len(whole.encode()) <= most:
        return whole
    room = most - len(f"{_SEPARATOR}and {len(items)} more")
    fitting: list[str] = []
    for item in items:
        room -= len(f"{item}{_SEPARATOR}".encode())
        if room < 0:
            break
        fitting.append(item)
    return _SEPARATOR.join([*fitting, f"and {len(items) - len(fitting)} more"])


def parse(told: str) -> Told:
    """What :func:`text` has written. Raises ValueError for anything else."""
    found: list[Row] = []
    at = 0
    while at < len(told):
        item = _ITEM.match(told, at)
        if item is None:
            more = _MORE.fullmatch(told, at)
            if more is None:
                raise ValueError(f"'{told[at : at + 60]}' is no rule of a policy")
            return Told(tuple(found), int(more["more"]))
        found.append(_row(item))
        at = item.end()
        if at < len(told):
            if not told.startswith(_SEPARATOR, at) or at + len(_SEPARATOR) == len(told):
                raise ValueError(f"'{told[at : at + 60]}' follows a rule of a policy")
            at += len(_SEPARATOR)
    return Told(tuple(found))


def _item(row: Row) -> str:
    mode = "" if row.mode is None else f", {row.mode}"
    return f"{_quoted(row.rule)}={_quoted(row.limit)} ({_quoted(row.source)}{mode})"


def _quoted(value: str) -> str:
    plain = value.isprintable() and _IS_PLAIN.fullmatch(value)
    return value if plain else json.dumps(value)


def _row(item: re.Match[str]) -> Row:
    rule, limit, source = (_unquoted(item[part]) for part in ("rule", "limit", "source"))
    return Row(rule, limit, cast(Mode | None, item["mode"]), source)


def _unquoted(token: str) -> str:
    if not token.startswith('"'):
        return token
    value = json.loads(token)
    assert isinstance(value, str), "a JSON string"
    return value
