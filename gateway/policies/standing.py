"""Violations that a change has no part in: a topic that violated a rule before, when the rule was
not there yet or only warned, can still be changed otherwise, and so be repaired step by step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from gateway.policies.declared import violations
from gateway.policies.interface import RequestMetadata
from gateway.policies.tree import Placed
from gateway.policies.violation import Violation

_ABOUT_SEVERAL: Final = frozenset({"configs.allowed", "configs.forbidden"})
"""Rules of which one violation names all configs that do not fit."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Alteration:
    """What the configs are that are changed: a topic, or a namespace, as it is ``before`` it, and
    the keys whose own value is ``changed``."""

    before: RequestMetadata
    changed: Collection[str]


def caused(placed: Placed, after: RequestMetadata, alteration: Alteration) -> list[Violation]:
    """The violations of one block's declared rules that an alteration causes: those of the result
    that were not there before, or that are about what is changed."""
    found = violations(placed, after)
    if not found:
        return found
    before = violations(placed, alteration.before)
    rules_before = {one.rule for one in before}
    touched = {one.rule for one in violations(placed, _only(after, alteration.changed))}

    def stands(one: Violation) -> bool:
        if one.rule in _ABOUT_SEVERAL:
            return one.rule in rules_before and one.rule not in touched
        return one in before and not any(_is_about(one.rule, key) for key in alteration.changed)

    return [one for one in found if not stands(one)]


def _only(metadata: RequestMetadata, keys: Collection[str]) -> RequestMetadata:
    return replace(
        metadata,
        configs=_chosen(metadata.configs, keys),
        effective_configs=_chosen(metadata.effective_configs, keys),
    )


def _chosen(configs: Mapping[str, Value], keys: Collection[str]) -> dict[str, Value]:
    return {key: value for key, value in configs.items() if key in keys}


def _is_about(rule: str, key: str) -> bool:
    """Whether a rule is the range of a config."""
    return rule in (key, f"{key}.min", f"{key}.max")
