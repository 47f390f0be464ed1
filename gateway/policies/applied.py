"""The rules that apply to the topics of a namespace, as rows and as one line of text.

The line is the value of ``gateway.policies`` in what ``kafka-configs`` prints:
``partitions.max=12 (policies.namespaces.org, enforce); producer.acks=upgrade (the default)``: a
rule, its limit, where it is set, and the mode of its block. Values that are not plain words are
JSON strings. :func:`parse_rules` makes the same rows of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast, get_args

from gateway.config.policies import Mode, PolicyBlock
from gateway.policies.instance import KEY
from gateway.policies.tree import BUILT_IN, Policies
from gateway.policies.violation import ends

ACKS: Final = "producer.acks"
IDEMPOTENCE: Final = "producer.idempotence"

MIN_ISR: Final = "min.insync.replicas"
HOLLOW_BELOW: Final = 2
"""With a lower ``min.insync.replicas`` a broker acknowledges acks=all when the leader alone has a
record."""

NOTHING: Final = "nothing"
"""The limit shown for ``configs.allowed`` that is an empty list."""

_COUNTED: Final = ("max_topics", "max_partitions", "max_topics_in_tree", "max_partitions_in_tree")

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
class AppliedRule:
    """A rule by the name that violations have for it, a class (``create.topic.policy.class.name``),
    or half of the producer guarantee.

    ``mode`` is that of the rule's block; None: the producer guarantee has none. ``source`` is the
    place in the configuration, or "the default".
    """

    rule: str
    limit: str
    mode: Mode | None
    source: str


def applied_rules(policies: Policies, namespace: str) -> list[AppliedRule]:
    """Every rule that applies in a namespace (``""``: the default one): its blocks from the
    outermost one on, then the producer guarantee, which always applies."""
    found = [
        AppliedRule(rule, limit, placed.block.mode, placed.source)
        for placed in policies.of(namespace)
        for rule, limit in _rules(placed.block)
    ]
    held = policies.guarantee(namespace)
    found.append(AppliedRule(ACKS, held.acks, None, held.acks_source))
    found.append(AppliedRule(IDEMPOTENCE, held.idempotence, None, held.idempotence_source))
    return found


def is_hollow(policies: Policies, namespace: str, replicas: str) -> bool:
    """Whether a topic's ``min.insync.replicas`` is too low to give the acks=all that producers of
    its namespace are held to any effect."""
    held = policies.guarantee(namespace).acks != "observe"
    return held and replicas.isdigit() and int(replicas) < HOLLOW_BELOW


def anything_set(found: list[AppliedRule]) -> bool:
    """Whether the configuration sets any of the rules; the others are the defaults."""
    return any(rule.source != BUILT_IN for rule in found)


def _rules(block: PolicyBlock) -> Iterator[tuple[str, str]]:
    """Rules and limits, in the order of docs/policies.md; the class, which is run last, last."""
    declared = {"partitions": block.partitions, "replication_factor": block.replication_factor}
    for key, allowed in (declared | block.ranges()).items():
        yield from ((rule, str(limit)) for rule, limit in ends(key, allowed))
    for key, value in block.configs.required.items():
        yield "configs.required", key if value is None else f"{key}={value}"
    if block.configs.allowed is not None:
        yield "configs.allowed", ", ".join(block.configs.allowed) or NOTHING
    if block.configs.forbidden:
        yield "configs.forbidden", ", ".join(block.configs.forbidden)
    if block.name_pattern is not None:
        yield "name_pattern", block.name_pattern
    for rule in _COUNTED:
        limit = getattr(block, rule)
        if limit is not None:
            yield rule, str(limit)
    if block.class_name is not None:
        yield KEY, block.class_name


class ParsedRules(NamedTuple):
    """The rules in a text, and the number of those that it had no room for (``more``)."""

    rules: tuple[AppliedRule, ...]
    more: int = 0


def rules_text(rules: Sequence[AppliedRule], most: int = MAX_BYTES) -> str:
    """The rules as one line of at most so many bytes; it ends in ``and 3 more`` if some do not
    fit."""
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
    """Parse the text of :func:`rules_text`. Raises ValueError for any other."""
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
