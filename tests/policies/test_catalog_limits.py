"""gateway.policies.catalog_limits: the limits of namespaces, ACLs, links and aliases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from gateway.config.policies import CATALOG_LIMITS
from gateway.policies.catalog_limits import (
    DEFAULTS,
    DEFAULTS_OF_ALL,
    LIMITED,
    catalog_violations,
)
from gateway.policies.tree import NO_POLICIES, Policies
from gateway.policies.violation import Violation
from tests.policies.samples import policies


@dataclass
class Tallies:
    """The same tally of every rule: the number that ``held`` has for a tier."""

    held: Mapping[str | None, int] = field(default_factory=dict)

    def __call__(self, what: str, tier: str | None) -> int:
        return self.held.get(tier, 0)


ONE = Tallies({None: 1, "org": 1, "org:a": 1, "": 1})
"""Another entry, in ``org:a``, and another in the default namespace."""


def found(
    asked: Policies, there: dict[str | None, int], path: str = "org:a", *, defaults: bool = True
) -> list[Violation]:
    """The limits that another entry, in a namespace, exceeds."""
    all_ = catalog_violations(asked, Tallies(there), ONE, [path], "link 'x'", defaults=defaults)
    return [one for one in all_ if not one.near]


@pytest.mark.parametrize("rule", CATALOG_LIMITS)
def test_every_tree_has_limits_without_any_policy(rule: str) -> None:
    most = getattr(DEFAULTS, rule)
    assert rule not in [one.rule for one in found(NO_POLICIES, {"org": most - 1})]
    (one,) = [one for one in found(NO_POLICIES, {"org": most}) if one.rule == rule]
    assert (one.value, one.limit, one.source, one.mode) == (
        most + 1,
        most,
        "the default",
        "enforce",
    )
    assert not found(NO_POLICIES, {"org": most}, defaults=False)
    # Of the outermost namespace, not of each below it.
    assert not found(NO_POLICIES, {"org:a": most})


def test_the_default_namespace_has_some_and_everything_together() -> None:
    links = DEFAULTS.max_links_in_tree
    assert links is not None
    rules = [one.rule for one in found(NO_POLICIES, {"": links}, "")]
    assert "max_links_in_tree" in rules
    namespaces = DEFAULTS_OF_ALL.max_namespaces_in_tree
    assert namespaces is not None
    (one,) = found(NO_POLICIES, {None: namespaces})
    assert one.message == (
        "With link 'x', all namespaces together would have 10001 namespaces, and at most 10000 are"
        " allowed (policies: max_namespaces_in_tree, the default)."
    )


@pytest.mark.parametrize(
    "block",
    [
        {"everywhere": {"max_links_in_tree": 10**6}},
        {"org": {"max_links_in_tree": 10**6}},
        {"org_a": {"max_links_in_tree": 10**6}},
    ],
)
def test_a_block_replaces_the_default_of_its_limit_alone(block: dict[str, Any]) -> None:
    written = policies(**block)
    rules = [one.rule for one in found(written, {"org": 20_000})]
    assert "max_links_in_tree" not in rules
    assert "max_acls_in_tree" in rules


def test_all_blocks_have_to_allow_it() -> None:
    written = policies({"max_links_in_tree": 3}, org={"max_links_in_tree": 2})
    one, other = found(written, {None: 3, "org": 2}, defaults=False)
    assert (one.source, one.value) == ("policies.everywhere", 4)
    assert (other.source, other.value) == ("policies.namespaces.org", 3)
    assert found(written, {None: 2, "org": 1}) == []
    assert found(written, {None: 3, "org": 2}, "")[0].source == "policies.everywhere"


def test_a_block_of_the_default_namespace() -> None:
    written = policies(default_namespace={"max_links_in_tree": 2})
    (one,) = found(written, {"": 2}, "")
    assert "the default namespace would have 3 links" in one.message
    assert found(written, {None: 9}) == []


def test_a_block_that_warns() -> None:
    written = policies(org={"mode": "warn", "max_acls_in_tree": 2})
    (one,) = found(written, {"org": 2})
    assert not one.rejects


def test_what_does_not_grow_is_not_asked() -> None:
    none = Tallies()
    full = Tallies({"org": 10**6, None: 10**6})
    assert catalog_violations(NO_POLICIES, full, none, ["org"], "x", defaults=True) == []


def test_near_the_limit() -> None:
    written = policies(org={"max_links_in_tree": 10})
    near = catalog_violations(
        written, Tallies({"org": 8}), ONE, ["org:a", "org:a"], "link 'x'", defaults=False
    )
    assert [(one.near, one.value, one.limit) for one in near] == [(True, 9, 10)]
    assert near[0].message.startswith("For link 'x' 9 is allowed, near the limit of 10")


def test_a_limit_on_the_catalog_judges_no_topic() -> None:
    written = policies(org=dict.fromkeys(LIMITED, 5))
    assert not written.judges
    assert not written.counts
    assert written.of("org") == ()
