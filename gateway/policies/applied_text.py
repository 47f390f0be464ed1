"""The rules that apply to the topics of a namespace, as one line of text.

The line is the value of ``gateway.policies`` in the output of ``kafka-configs``:
``partitions.max=12 (policies.namespaces.org, enforce); producer.acks=upgrade (the default)``: a
rule, its limit, where it is set, and the mode of its block. Values that are not plain words are
JSON strings. :func:`parse_rules` parses the text into the same rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast, get_args

from gateway.config.policy_modes import Mode

MAX_BYTES: Final = 30_000
"""Bytes of the text as UTF-8: before DescribeConfigs v4 a value has at most 32,767."""

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
class AppliedRule:
    """A rule by its name in violations, a class (``create.topic.policy.class.name``), or half of
    the producer guarantee."""

    rule: str
    limit: str
    mode: Mode | None
    """The mode of the rule's block; None for the producer guarantee, which has none."""
    source: str
    """The place in the configuration, or "the default"."""


class ParsedRules(NamedTuple):
    """The rules in a text, and the number of rules for which the text had no room (``more``)."""

    rules: tuple[AppliedRule, ...]
    more: int = 0


def rules_text(rules: Sequence[AppliedRule], most: int = MAX_BYTES) -> str:
    """The rules as one line of at most ``most`` bytes; if some rules do not fit, it ends in ``and 3
    more``."""
    items = [_item(rule) for rule in rules]
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


def parse_rules(text: str) -> ParsedRules:
    """Parse the text of :func:`rules_text`. Raises ValueError for any other text."""
    found: list[AppliedRule] = []
    at = 0
    while at < len(text):
        item = _ITEM.match(text, at)
        if item is None:
            more = _MORE.fullmatch(text, at)
            if more is None:
                raise ValueError(f"'{text[at : at + 60]}' is no rule of a policy")
            return ParsedRules(tuple(found), int(more["more"]))
        rule, limit, source = (_unquoted(item[part]) for part in ("rule", "limit", "source"))
        found.append(AppliedRule(rule, limit, cast(Mode | None, item["mode"]), source))
        at = item.end()
        if at < len(text):
            if not text.startswith(_SEPARATOR, at) or at + len(_SEPARATOR) == len(text):
                raise ValueError(f"'{text[at : at + 60]}' follows a rule of a policy")
            at += len(_SEPARATOR)
    return ParsedRules(tuple(found))


def _item(rule: AppliedRule) -> str:
    mode = "" if rule.mode is None else f", {rule.mode}"
    return f"{_quoted(rule.rule)}={_quoted(rule.limit)} ({_quoted(rule.source)}{mode})"


def _quoted(value: str) -> str:
    plain = value.isprintable() and _IS_PLAIN.fullmatch(value)
    return value if plain else json.dumps(value)


def _unquoted(token: str) -> str:
    if not token.startswith('"'):
        return token
    value = json.loads(token)
    assert isinstance(value, str), "a JSON string"
    return value
