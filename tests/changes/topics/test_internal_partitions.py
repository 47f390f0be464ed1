"""Partition counts of internal topics; what Kafka's own class decides is compared in
``tests/live/oracle/test_topology_oracle.py``."""

from __future__ import annotations

from time import thread_time

import pytest

from gateway.changes.topics.internal_partitions import (
    InternalTopic,
    Subtopology,
    Undecided,
    in_java_order,
    missing_topics,
)


def counts(parts: list[Subtopology], existing: dict[str, int]) -> dict[str, int]:
    found = missing_topics(parts, existing.get)
    return {name: topic.partitions for name, topic in found.items()}


def test_a_changelog_has_as_many_partitions_as_the_largest_source() -> None:
    part = Subtopology("0", ("a", "b"), changelogs=(InternalTopic("c"),))
    assert counts([part], {"a": 2, "b": 5}) == {"c": 5}


def test_a_repartition_topic_is_as_its_copartitioned_source() -> None:
    """By its writer alone it would have 2 partitions."""
    parts = [
        Subtopology("0", ("a",), ("r",)),
        Subtopology("1", ("b",), (), (InternalTopic("r"),), copartitioned=(("b", "r"),)),
    ]
    assert counts(parts, {"a": 2, "b": 5}) == {"r": 5}


@pytest.mark.parametrize(
    ("parts", "existing"),
    [
        ([Subtopology("0", ("a",))], {}),
        ([Subtopology("0", ("a", "b"), copartitioned=(("a", "b"),))], {"a": 1, "b": 2}),
        ([Subtopology("0", changelogs=(InternalTopic("c"),))], {}),
        ([Subtopology("0", ("a",), (), (InternalTopic("r"),))], {"a": 1}),
        ([Subtopology("0", (), ("r",), (InternalTopic("r"),))], {}),
        ([Subtopology("0", ("a",), changelogs=(InternalTopic("c"),))], {"a": 1, "c": 2}),
    ],
    ids=["no source", "copartitioned", "sourceless", "never written", "loop", "another count"],
)
def test_what_a_coordinator_does_not_create(
    parts: list[Subtopology], existing: dict[str, int]
) -> None:
    with pytest.raises(Undecided):
        counts(parts, existing)


def test_the_order_of_a_hash_map() -> None:
    """As Java prints the keys of a HashMap into which "10", "9", "Aa", "BB" and "a" were put; "Aa"
    and "BB" have one hash."""
    parts = [Subtopology(each) for each in ("10", "9", "Aa", "BB", "a")]
    assert [part.id for part in in_java_order(parts)] == ["Aa", "BB", "a", "9", "10"]


def test_a_chain_in_the_worst_order_takes_linear_time() -> None:
    """Kafka passes over all subtopologies once for each."""

    def chain(length: int) -> float:
        parts = [Subtopology("s", ("a",), ("r0",))]
        for n in range(length):
            parts.append(Subtopology(f"{n}", (), (f"r{n + 1}",), (InternalTopic(f"r{n}"),)))
        parts.append(Subtopology("e", (), (), (InternalTopic(f"r{length}"),)))
        before = thread_time()
        assert len(counts(parts[::-1], {"a": 3})) == length + 1
        return thread_time() - before

    chain(100)
    assert chain(8_000) < 40 * max(chain(800), 0.005)
