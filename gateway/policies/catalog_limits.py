"""Limits on what the catalog holds besides topics: namespaces, ACLs, links and aliases.

Every tree has some, also where the configuration sets none: each outermost namespace with all below
it, the default namespace, and everything together. A block that sets a limit replaces the defaults
of that limit wherever it applies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Protocol

from gateway.config.policies import CATALOG_LIMITS, PolicyBlock
from gateway.names import parents
from gateway.policies.limits import Limit, tree_text
from gateway.policies.tree import BUILT_IN, Placed, Policies
from gateway.policies.violation import Violation, is_near, near_miss_of, violation

LIMITED: Final[Mapping[str, str]] = MappingProxyType(
    dict(zip(CATALOG_LIMITS, ("namespaces", "ACLs", "links", "aliases"), strict=True))
)
"""What each rule limits, by the words of the catalog's tallies."""

DEFAULTS: Final = PolicyBlock(
    max_namespaces_in_tree=500,
    max_acls_in_tree=10_000,
    max_links_in_tree=1_000,
    max_aliases_in_tree=1_000,
)
"""The limits of each outermost namespace with all below it, and of the default namespace."""

DEFAULTS_OF_ALL: Final = PolicyBlock(max_namespaces_in_tree=10_000)
"""The limits of everything together."""


class Tallies(Protocol):
    """How many there are in a tier and below it; ``""``: in the default namespace alone, None: in
    the whole catalog. A snapshot of the catalog has them."""

    def tally(self, what: str, tier: str | None) -> int: ...


@dataclass(frozen=True, slots=True)
class _Rule:
    """A limit and the block, or the default, that sets it."""

    rule: str
    most: int
    placed: Placed


@lru_cache(maxsize=10_000)
def rules_of(policies: Policies, namespace: str, *, defaults: bool) -> tuple[_Rule, ...]:
    """The limits that apply to what is in a namespace; the ``defaults`` only if these hold, too."""
    blocks = policies.blocks(namespace)
    default = [Placed(BUILT_IN, BUILT_IN, None, DEFAULTS_OF_ALL)]
    default.append(Placed(BUILT_IN, BUILT_IN, (parents(namespace) or [""])[0], DEFAULTS))
    found: list[_Rule] = []
    for rule in CATALOG_LIMITS:
        found += list(_rules(rule, blocks)) or (_rules(rule, default) if defaults else ())
    return tuple(found)


def _rules(rule: str, blocks: Iterable[Placed]) -> Iterator[_Rule]:
    for placed in blocks:
        most = getattr(placed.block, rule)
        if most is not None:
            yield _Rule(rule, most, placed)


def catalog_violations(
    policies: Policies,
    there: Tallies,
    more: Tallies,
    namespaces: Iterable[str],
    subject: str,
    *,
    defaults: bool,
) -> list[Violation]:
    """The limits that so many ``more`` in these namespaces would exceed, and those that they would
    nearly reach, as near misses.

    Messages name the ``subject`` (``namespace 'org:a'``). A limit on a number that does not grow is
    not checked. ``defaults``: whether the defaults hold, too.
    """
    found: dict[Violation, None] = {}
    rules = (one for path in namespaces for one in rules_of(policies, path, defaults=defaults))
    for one in rules:
        what, tier = LIMITED[one.rule], one.placed.namespace
        added = more.tally(what, tier)
        if added <= 0:
            continue
        limit = _limit(one, there.tally(what, tier) + added)
        if limit.would_be > limit.most:
            text, numbers = limit.sentence(subject), (limit.would_be, limit.most)
            found[violation(one.placed, one.rule, text, *numbers)] = None
        elif is_near(limit.would_be, limit.most):
            numbers = limit.would_be, limit.most
            found[near_miss_of(one.placed, one.rule, subject, *numbers)] = None
    return list(found)


def _limit(one: _Rule, would_be: int) -> Limit:
    what, tier = LIMITED[one.rule], one.placed.namespace
    where, noun = tree_text(tier), what
    if what == "namespaces" and tier is not None:
        where, noun = f"namespace '{tier}'", "namespaces below it"
    return Limit(one.rule, one.most, would_be, noun, where)
