"""The numbers of topics and partitions are always as if all had been counted anew."""

from __future__ import annotations

from functools import partial
from random import Random
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import Change, Namespace, Removal, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base import usage as usage_module
from gateway.changes.base.usage import UNCOUNTED, UNCOUNTED_PARTITIONS, Expected, Usage
from gateway.names import LogicalName, encode
from gateway.slices import Slices
from gateway.topic_ids import TopicIndex
from tests.pauses import pause_everywhere

PATHS = ["", "org", "org:a", "org:a:b", "team"]
FLATS = ["plain", "org..x", "org..y", "org.a..x", "org.a.b..x", "team..x", "__kafka_gateway_x"]
FLATS += ["org..mm2-1.internal", "org..mm2-2.internal", "org..A.checkpoints.internal"]


def index_of(**partitions: int) -> TopicIndex:
    index = TopicIndex()
    listed = {name.replace("__", "..").encode(): count for name, count in partitions.items()}
    index.replace([(name, None) for name in listed], None, listed)
    return index


def counts(usage: Usage | Expected) -> list[tuple[int, int, int, int]]:
    return [
        (
            usage.topics(p),
            usage.partitions(p),
            usage.tree_topics(p or None),
            usage.tree_partitions(p or None),
        )
        for p in PATHS
    ]


def test_topics_count_where_they_belong() -> None:
    snapshot = Snapshot.of(["org:a", "team"])
    usage = Usage().at(snapshot, index_of(plain=1, org__x=2, team__y=4))
    assert counts(usage) == [(1, 1, 3, 7), (1, 2, 1, 2), (0, 0, 0, 0), (0, 0, 0, 0), (1, 4, 1, 4)]


def test_a_moved_topic_counts_where_it_is() -> None:
    moved = TopicEntry("plain", LogicalName("org:a", "x"))
    usage = Usage().at(Snapshot.of(["org:a"], topics=[moved]), index_of(plain=3))
    assert (usage.topics(""), usage.topics("org:a"), usage.tree_partitions("org")) == (0, 1, 3)


def test_what_is_about_to_be_made_counts_by_its_entry() -> None:
    """Once it is listed it counts once, with the larger number, because a listing may be older."""
    entry = TopicEntry("org..x", LogicalName("org", "x"), creating=True, counted=5)
    snapshot = Snapshot.of(["org"], topics=[entry])
    usage = Usage()
    assert usage.at(snapshot, index_of()).partitions("org") == 5
    assert usage.at(snapshot, index_of(org__x=2)).partitions("org") == 5
    assert usage.at(snapshot, index_of(org__x=6)).topics("org") == 1
    assert usage.partitions("org") == 6


def test_an_entry_alone_is_no_topic() -> None:
    """The entry may be left over from a topic that was deleted at the broker."""
    entry = TopicEntry("org..x", LogicalName("org", "x"), own_configs=("retention.ms",))
    assert Usage().at(Snapshot.of(["org"], topics=[entry]), index_of()).topics("org") == 0


def test_the_gateways_own_topics_do_not_count() -> None:
    index = TopicIndex()
    index.learn(b"__kafka_gateway_catalog", None)
    assert Usage().at(Snapshot.of([]), index).tree_topics(None) == 0


def test_what_is_expected_comes_on_top() -> None:
    expected = Expected(Usage().at(Snapshot.of(["org:a"]), index_of(org__x=2)))
    expected.add("org:a", 3)
    expected.add("", 1, topics=0)
    assert counts(expected)[:3] == [(0, 1, 2, 6), (1, 2, 2, 5), (1, 3, 1, 3)]


Step = st.one_of(
    st.tuples(st.just("learn"), st.sampled_from(FLATS)),
    st.tuples(st.just("forget"), st.sampled_from(FLATS)),
    st.tuples(st.just("list"), st.dictionaries(st.sampled_from(FLATS), st.integers(1, 9))),
    st.tuples(st.just("make"), st.sampled_from(PATHS[1:])),
    st.tuples(st.just("remove"), st.sampled_from(FLATS)),
    st.tuples(
        st.just("enter"),
        st.builds(
            lambda flat, path, topic, counted: TopicEntry(
                flat, LogicalName(path, topic), counted=counted
            ),
            st.sampled_from(FLATS),
            st.sampled_from(PATHS),
            st.sampled_from(["t", "mm2-t.internal"]),
            st.integers(0, 9),
        ),
    ),
)


def own(count: int) -> dict[str, int]:
    return {f"org__mm2-{number:03}.internal": 5 for number in range(count)}


def test_mirrormakers_own_topics_are_not_counted_up_to_a_bound() -> None:
    snapshot = Snapshot.of(["org:a", "team"])
    usage = Usage().at(snapshot, index_of(org__x=2, org__A_internal=1, **own(UNCOUNTED)))
    assert (usage.topics("org"), usage.partitions("org"), usage.tree_topics("org")) == (2, 3, 2)
    usage.at(snapshot, index_of(org__x=2, **own(UNCOUNTED + 3)))
    assert (usage.topics("org"), usage.partitions("org"), usage.tree_topics(None)) == (4, 17, 4)
    assert not usage.is_counted("org..mm2-000.internal")
    assert usage.is_counted("org..mm2-066.internal")
    assert not usage.is_counted("org..none")
    usage.at(snapshot, index_of(org__x=2))
    assert (usage.topics("org"), usage.partitions("org")) == (1, 2)


def grown(expected: Expected, topic: str, partitions: int = 1, path: str = "org") -> list[int]:
    """By how many topics and partitions a new topic makes its namespace, and the whole tree,
    larger."""
    name = LogicalName(path, topic)
    more = expected.growth(encode(name), name, partitions)
    expected.expect(encode(name), name, partitions)
    return [more.topics(path), more.partitions(path), more.tree_topics(None)]


def test_new_topics_of_mirrormakers_own_are_expected_up_to_the_bound() -> None:
    usage = Usage().at(Snapshot.of(["org", "free"]), index_of(**own(UNCOUNTED - 2)))
    expected = Expected(usage)
    assert grown(expected, "orders.internal") == [1, 1, 1]
    names = [f"z{name}.checkpoints.internal" for name in "ABC"]
    assert [grown(expected, name) for name in names] == [[0, 0, 0], [0, 0, 0], [1, 1, 1]]
    # Another namespace leaves out as many of its own; in the whole tree there are too many.
    assert grown(expected, "z.checkpoints.internal", path="free") == [0, 0, 1]
    fresh = Expected(Usage().at(Snapshot.of(["org"]), index_of()))
    assert grown(fresh, "mm2-offsets.A.internal", 25) == [0, 0, 0]
    assert grown(fresh, "mm2-offsets.B.internal", 26) == [1, 26, 1]


def test_what_is_only_asked_changes_nothing() -> None:
    usage = Usage().at(Snapshot.of(["org"]), index_of(org__x=2, **own(UNCOUNTED)))
    before = counts(usage)
    expected = Expected(usage)
    more = expected.growth("org..mm2-000.internal", LogicalName("org", "y"), 1)
    assert (more.topics("org"), more.partitions("org")) == (1, 5), "it has no fewer than it has"
    expected.expect("org..x", LogicalName("org:a", "mm2.internal"), 1)
    assert (expected.topics("org"), expected.tree_topics("org")) == (0, 1), "one too many in all"
    assert counts(usage) == before


def test_one_with_more_partitions_than_mirrormaker_creates_is_counted() -> None:
    names = {"org__mm2-a.internal": UNCOUNTED_PARTITIONS, "org__mm2-b.internal": 26}
    usage = Usage().at(Snapshot.of(["org"]), index_of(**names))
    assert (usage.topics("org"), usage.partitions("org")) == (1, 26)
    assert not usage.is_counted("org..mm2-a.internal")
    usage.at(Snapshot.of(["org"]), index_of(**dict.fromkeys(names, 3)))
    assert (usage.topics("org"), usage.partitions("org")) == (0, 0)


@given(st.integers(1, 3), st.lists(Step, max_size=30))
def test_counted_on_is_counted_anew_with_a_smaller_bound(
    bound: int, steps: list[tuple[str, object]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usage_module, "UNCOUNTED", bound)
        count_on(steps)


@given(st.lists(Step, max_size=30))
def test_counted_on_is_counted_anew(steps: list[tuple[str, object]]) -> None:
    count_on(steps)


def count_on(steps: list[tuple[str, object]]) -> None:
    """Count after each step, and compare with a new count."""
    usage, index, snapshot = Usage(), TopicIndex(), Snapshot.of(["org"])
    for step in steps:
        changes = taken(step, index)
        snapshot = snapshot.apply(changes, snapshot.version + 1)
        assert counts(usage.at(snapshot, index)) == counts(Usage().at(snapshot, index))


def taken(step: tuple[str, object], index: TopicIndex) -> list[Change]:
    """Take a step; returns the changes that it makes in the catalog."""
    match step:
        case "learn", str(flat):
            index.learn(flat.encode(), None)
        case "forget", str(flat):
            index.forget(flat.encode())
        case "list", dict(listed):
            partitions = {str(name).encode(): int(count) for name, count in listed.items()}
            index.replace([(name, None) for name in partitions], None, partitions)
        case "make", str(path):
            return [Namespace(path)]
        case "remove", str(flat):
            return [Removal(("topic", flat))]
        case "enter", TopicEntry() as entry:
            return [entry]
    return []


@given(st.lists(Step, max_size=12), st.lists(Step, max_size=12), st.randoms())
def test_counts_that_pause_are_those_of_who_asks(
    one: list[tuple[str, object]], other: list[tuple[str, object]], chance: Random
) -> None:
    """Two counts, by different states of the catalog, in turns that end anywhere."""
    usage, index = Usage(), TopicIndex()
    states = [after(steps, index) for steps in (one, other)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usage_module, "PLACED_AT_ONCE", 1)
        pause_everywhere(patch)

        def asked(snapshot: Snapshot) -> bool:
            return counts(usage.at(snapshot, index)) == counts(Usage().at(snapshot, index))

        asking = [Slices(partial(asked, snapshot)) for snapshot in states]
        try:
            while left := [slices for slices in asking if not slices.done]:
                chance.choice(left).step()
            assert all(slices.result() for slices in asking)
        finally:
            for slices in asking:
                slices.abandon()  # hypothesis may give a try up at any choice


def after(steps: list[tuple[str, object]], index: TopicIndex) -> Snapshot:
    """The catalog, and the cluster's topics, after these steps."""
    snapshot = Snapshot.of(["org"])
    for step in steps:
        changes = taken(step, index)
        snapshot = snapshot.apply(changes, snapshot.version + 1)
    return snapshot


def test_two_who_ask_by_different_namespaces_come_to_an_end() -> None:
    """In turns, neither undoes again and again the counts of the other."""
    usage, index, snapshot = Usage(), TopicIndex(), Snapshot.of(["org"])
    index.replace([(b"org..t%d" % number, None) for number in range(1_000)])
    usage.at(snapshot, index)
    with pytest.MonkeyPatch.context() as patch:
        pause_everywhere(patch)
        states = [snapshot.apply([Namespace(path)], 2) for path in ("one", "two")]
        asking = [Slices(partial(usage.at, state, index)) for state in states]
        for _ in range(1_000):
            for slices in asking:
                if not slices.done:
                    slices.step()
    assert all(slices.done for slices in asking)
    assert usage.topics("org") == 1_000


@pytest.mark.parametrize("pauses", [False, True])
def test_a_namespace_that_comes_or_goes_takes_its_topics_along(
    pauses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if pauses:
        pause_everywhere(monkeypatch)
    usage, index, before = Usage(), TopicIndex(), Snapshot.of(["org"])
    index.replace([(b"org..a", None), (b"org.sub..b", None), (b"plain", None)])
    after = before.apply([Namespace("org:sub")], 2)
    for snapshot, there in ((before, 0), (after, 1), (before, 0)):
        asking = Slices(partial(usage.at, snapshot, index))
        while not asking.step():
            pass
        assert usage.topics("org:sub") == there
        assert counts(usage) == counts(Usage().at(snapshot, index))


@pytest.mark.alone
def test_counting_anew_lets_others_have_their_turn() -> None:
    """As after a namespace was created, because each topic may belong to it now."""
    listed = {b"org..t%d" % number: 3 for number in range(50_000)}
    index, usage = TopicIndex(), Usage()
    index.replace([(name, None) for name in listed], None, listed)
    counting = Slices(partial(usage.at, Snapshot.of(["org"]), index))
    longest = 0.0
    while not counting.done:
        before = thread_time()
        counting.step()
        longest = max(longest, thread_time() - before)
    assert usage.topics("org") == 50_000
    assert longest < 0.05


@pytest.mark.alone
def test_a_listing_with_one_more_partition_is_not_counted_anew() -> None:
    """A new count takes 10 us for each topic, in a single turn."""
    listed = {b"org..t%d" % number: 3 for number in range(50_000)}
    index, usage, snapshot = TopicIndex(), Usage(), Snapshot.of(["org"])
    index.replace([(name, None) for name in listed], None, listed)
    usage.at(snapshot, index)
    taken = []
    for partitions in (4, 5, 6):
        more = {**listed, b"org..t7": partitions}
        index.replace([(name, None) for name in more], None, more)
        before = thread_time()
        usage.at(snapshot, index)
        taken.append(thread_time() - before)
        assert usage.partitions_of("org..t7") == partitions
    assert min(taken) < 0.05
