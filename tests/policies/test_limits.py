"""gateway.policies.limits: the limits of topics and partitions."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.names import parents
from gateway.policies.limits import Counts, nearly_over, over
from gateway.policies.tree import Policies
from tests.policies.samples import policies


class Counted(Counts):
    """The existing topics: for each namespace its topics' numbers of partitions."""

    def __init__(self, held: dict[str, list[int]]) -> None:
        super().__init__()
        self.held = held

    def topics(self, path: str) -> int:
        return len(self.held.get(path, ()))

    def partitions(self, path: str) -> int:
        return sum(self.held.get(path, ()))

    def tree_topics(self, path: str | None) -> int:
        return sum(self.topics(each) for each in self._tree(path))

    def tree_partitions(self, path: str | None) -> int:
        return sum(self.partitions(each) for each in self._tree(path))

    def _tree(self, path: str | None) -> Iterable[str]:
        return [each for each in self.held if path is None or path in parents(each)]


HELD = Counted({"": [1, 1], "org": [2], "org:apache": [3, 3], "other": [9]})


def added(namespace: str, topics: int = 1, partitions: int = 1) -> Counts:
    """These numbers of topics and partitions, added to a namespace."""
    more = Counts()
    more.add(namespace, partitions, topics)
    return more


def rules(asked: Policies, namespace: str, topics: int = 1, partitions: int = 1) -> list[str]:
    topic = f"{namespace}:new" if namespace else "new"
    found = over(asked, HELD, added(namespace, topics, partitions), topic, namespace)
    return [one.rule for one in found]


def test_a_limit_may_be_reached_and_not_exceeded() -> None:
    assert rules(policies(org={"max_topics": 2}), "org") == []
    assert rules(policies(org={"max_topics": 1}), "org") == ["max_topics"]
    assert rules(policies(org={"max_topics": 2}), "org", topics=2) == ["max_topics"]
    assert rules(policies(org={"max_partitions": 5}), "org", partitions=3) == []
    assert rules(policies(org={"max_partitions": 5}), "org", partitions=4) == ["max_partitions"]


def test_each_namespace_that_a_block_reaches_is_counted_by_itself() -> None:
    limit = policies(org={"max_topics": 2})
    assert rules(limit, "org:apache") == ["max_topics"]
    assert rules(limit, "org:new") == []
    assert rules(limit, "other") == []


def test_a_tree_is_counted_together() -> None:
    three = policies(org={"max_topics_in_tree": 3})
    assert rules(three, "org") == rules(three, "org:new:below") == ["max_topics_in_tree"]
    assert rules(three, "other") == rules(three, "") == []
    assert rules(policies(org={"max_topics_in_tree": 4}), "org:new") == []
    eight = policies(org={"max_partitions_in_tree": 9})
    assert rules(eight, "org:new", partitions=1) == []
    assert rules(eight, "org:new", partitions=2) == ["max_partitions_in_tree"]


def test_everywhere_is_a_tree_too() -> None:
    assert rules(policies(everywhere={"max_topics_in_tree": 6}), "new") == ["max_topics_in_tree"]
    assert rules(policies(everywhere={"max_topics_in_tree": 7}), "") == []
    assert rules(policies(everywhere={"max_partitions_in_tree": 19}), "") == [
        "max_partitions_in_tree"
    ]


def test_the_default_namespace_is_a_tree_of_its_own() -> None:
    limit = policies(default_namespace={"max_topics_in_tree": 2, "max_partitions_in_tree": 2})
    assert rules(limit, "") == ["max_topics_in_tree", "max_partitions_in_tree"]
    assert rules(limit, "org") == []
    three = policies(default_namespace={"max_topics_in_tree": 3, "max_partitions_in_tree": 3})
    assert rules(three, "") == []


def test_what_does_not_become_more_is_not_asked() -> None:
    """A limit below the present number rejects no other change."""
    limit = policies(org={"max_topics": 0, "max_partitions": 0, "max_topics_in_tree": 0})
    assert rules(limit, "org", topics=0, partitions=1) == ["max_partitions"]
    assert rules(limit, "org", topics=0, partitions=0) == []


@pytest.mark.parametrize(
    ("limits", "namespace", "expected"),
    [
        (
            policies(org={"max_topics": 2}),
            "org:apache",
            "With topic 'org:apache:new', namespace 'org:apache' would have 3 topics, and at most 2"
            " are allowed (policies: max_topics, set by namespace 'org').",
        ),
        (
            policies(org={"max_partitions_in_tree": 8}),
            "org:apache",
            "With topic 'org:apache:new', namespace 'org' and all below it would have 9 partitions,"
            " and at most 8 are allowed"
            " (policies: max_partitions_in_tree, set by namespace 'org').",
        ),
        (
            policies(everywhere={"max_topics_in_tree": 1}),
            "",
            "With topic 'new', all namespaces together would have 7 topics, and at most 1 is"
            " allowed (policies: max_topics_in_tree, set for every namespace).",
        ),
        (
            policies(default_namespace={"max_partitions": 0}),
            "",
            "With topic 'new', the default namespace would have 3 partitions, and at most 0 are"
            " allowed (policies: max_partitions, set for the default namespace).",
        ),
    ],
)
def test_a_violation_says_how_many_there_would_be(
    limits: Policies, namespace: str, expected: str
) -> None:
    topic = f"{namespace}:new" if namespace else "new"
    (one,) = over(limits, HELD, added(namespace), topic, namespace)
    assert one.message == expected


def test_a_namespace_that_moves() -> None:
    limit = policies(org={"mode": "warn", "max_topics_in_tree": 4})
    (one,) = over(limit, HELD, added("org", 5, 5), "team:", "org")
    assert one.message.startswith("With namespace 'team', namespace 'org' and all below it would")
    assert (one.mode, one.source) == ("warn", "policies.namespaces.org")


def test_what_stays_in_a_tree_is_checked_where_it_comes_to_alone() -> None:
    limit = policies(org={"max_topics": 1, "max_topics_in_tree": 0})
    moved = added("org:apache")
    moved.add("org", -1, -1)
    (one,) = over(limit, HELD, moved, "org:apache:x", "org:apache")
    assert (one.rule, one.value) == ("max_topics", 3)


@given(st.integers(0, 20), st.lists(st.integers(1, 3), max_size=30))
def test_one_after_the_other_never_too_many_come(most: int, batches: list[int]) -> None:
    usage = Counted({})
    limit = policies(org={"max_topics": most})
    for size in batches:
        if not over(limit, usage, added("org", size, size), "org:t", "org"):
            usage.held.setdefault("org", []).extend([1] * size)
    assert usage.topics("org") <= most


def test_limits_that_hold_and_are_nearly_reached() -> None:
    made = policies(org={"max_topics": 100, "max_partitions": 1_000_000})
    there = HELD.topics("org")
    for more, expected in ((79 - there, []), (80 - there, [(80, 100)]), (101 - there, [])):
        found = nearly_over(made, HELD, added("org", more), "org:x", "org")
        assert [(one.value, one.limit) for one in found] == expected
        assert not any(one.rejects for one in found)
