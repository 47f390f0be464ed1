"""Limits on namespaces, ACLs, links and aliases, which are in the catalog besides topics.

Every tree has such limits, even if the configuration sets none: each outermost namespace with all
namespaces below it, the default namespace, and the whole catalog. A block that sets a limit
replaces the defaults of that limit wherever the block applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.config.policies import CATALOG_LIMITS, PolicyBlock
from gateway.names import parents
from gateway.policies.limits import Limit, tree_text
from gateway.policies.tree import BUILT_IN, Placed, Policies
from gateway.policies.violation import Violation, is_near, near_miss_of, violation

LIMITED: Final[Mapping[str, str]] = MappingProxyType(
    dict(zip(CATALOG_LIMITS, ("namespaces", "ACLs", "links", "aliases"), strict=True))
)
"""By rule, the entities that it limits, by the names of the catalog's tallies."""

DEFAULTS: Final = PolicyBlock(
    max_namespaces_in_tree=500,
    max_acls_in_tree=10_000,
    max_links_in_tree=1_000,
    max_aliases_in_tree=1_000,
)
"""The limits of each outermost namespace with all namespaces below it, and of the default
namespace."""

DEFAULTS_OF_ALL: Final = PolicyBlock(max_namespaces_in_tree=10_000)
"""The limits of the whole catalog."""


Tally: TypeAlias = Callable[[str, str | None], int]
"""The number of entities of a name in and below a tier; ``""``: in the default namespace alone,
None: in the whole catalog (``Snapshot.tally``)."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A limit and the block, or the default, that sets it."""

    rule: str
    most: int
    placed: Placed


@lru_cache(maxsize=10_000)
def rules_of(policies: Policies, namespace: str, *, defaults: bool) -> tuple[_Rule, ...]:
    """The limits that apply to entities in a namespace, with or without the ``defaults``."""
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
    there: Tally,
    more: Tally,
    namespaces: Iterable[str],
    subject: str,
    *,
    defaults: bool,
) -> list[Violation]:
    """The limits that ``more`` entities in these namespaces would exceed, and, as near misses, the
    limits that they would nearly reach.

    Messages name the ``subject`` (``namespace 'org:a'``). A limit on a number that does not grow is
    not checked. ``defaults``: whether the defaults apply, too.
    """
    found: dict[Violation, None] = {}
    rules = (one for path in namespaces for one in rules_of(policies, path, defaults=defaults))
    for one in rules:
        what, tier = LIMITED[one.rule], one.placed.namespace
        added = more(what, tier)
        if added <= 0:
            continue
        limit = _limit(one, there(what, tier) + added)
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
