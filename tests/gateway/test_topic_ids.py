from __future__ import annotations

import gc
from functools import partial
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import slices, topic_ids
from gateway.topic_ids import TopicIndex
from tests.pauses import pause_everywhere

A, B, C = (bytes([n]) * 16 for n in (1, 2, 3))
ZERO = bytes(16)


def index_of(*pairs: tuple[bytes, bytes | None]) -> TopicIndex:
    index = TopicIndex()
    index.replace(pairs)
    return index


def test_looks_up_both_ways() -> None:
    index = index_of((b"orders", A), (b"logs", B))
    assert index.name_of(A) == b"orders"
    assert index.id_of(b"logs") == B
    assert index.exists(b"orders")
    assert set(index.names()) == {b"orders", b"logs"}


def test_what_is_unknown_is_none() -> None:
    index = index_of((b"orders", A))
    assert index.name_of(B) is None
    assert index.id_of(b"logs") is None
    assert not index.exists(b"logs")


def test_topics_without_ids_exist() -> None:
    index = index_of((b"old", None), (b"zero", ZERO))
    assert index.exists(b"old")
    assert index.exists(b"zero")
    assert index.id_of(b"zero") is None
    assert index.name_of(ZERO) is None


def test_a_listing_replaces_names_and_keeps_old_ids_understood() -> None:
    index = index_of((b"orders", A))
    index.replace([(b"logs", B)])
    assert set(index.names()) == {b"logs"}
    assert not index.exists(b"orders")
    assert index.id_of(b"orders") is None
    assert index.name_of(A) == b"orders"


def test_a_topic_made_anew_has_the_new_id_and_the_old_one_is_understood() -> None:
    index = index_of((b"orders", A))
    index.replace([(b"orders", B)])
    assert index.id_of(b"orders") == B
    assert index.name_of(A) == index.name_of(B) == b"orders"


def test_ids_of_gone_topics_are_kept_up_to_a_limit_oldest_dropped_first() -> None:
    limit = topic_ids._RETIRED_LIMIT
    ids = [n.to_bytes(16, "big") for n in range(1, limit + 3)]
    index = TopicIndex()
    for topic_id in ids:
        index.replace([(b"t", topic_id)])
    assert index.name_of(ids[0]) is None
    assert index.name_of(ids[1]) == b"t"
    assert index.name_of(ids[-1]) == b"t"


def test_an_id_that_comes_back_is_not_dropped_with_the_gone_ones() -> None:
    index = index_of((b"orders", A))
    index.replace([])
    index.replace([(b"orders", A)])
    for n in range(100, 100 + topic_ids._RETIRED_LIMIT + 1):
        index.replace([(b"orders", A), (b"t", n.to_bytes(16, "big"))])
    assert index.name_of(A) == b"orders"


def test_learns_one_topic() -> None:
    index = index_of((b"orders", A))
    index.learn(b"logs", B)
    assert index.exists(b"logs")
    assert index.id_of(b"logs") == B
    assert index.name_of(B) == b"logs"


def test_learning_without_an_id_keeps_the_known_one() -> None:
    index = index_of((b"orders", A))
    index.learn(b"orders", ZERO)
    index.learn(b"orders", None)
    assert index.id_of(b"orders") == A
    index.learn(b"logs", ZERO)
    assert index.exists(b"logs")
    assert index.id_of(b"logs") is None


def test_forgets_one_topic() -> None:
    index = index_of((b"orders", A), (b"logs", B))
    index.forget(b"orders")
    assert set(index.names()) == {b"logs"}
    assert index.name_of(A) == b"orders"
    index.forget(b"never seen")
    assert set(index.names()) == {b"logs"}


def test_forgetting_an_old_id_leaves_the_topic_made_anew() -> None:
    index = index_of((b"orders", B))
    index.forget(b"orders", A)
    assert index.id_of(b"orders") == B


def test_forgets_by_an_id_it_never_knew() -> None:
    index = index_of((b"orders", None))
    index.forget(b"orders", A)
    assert not index.exists(b"orders")


def test_a_deleted_id_is_not_brought_back_by_a_broker_that_lags() -> None:
    index = index_of((b"orders", A))
    index.forget(b"orders", A)
    index.learn(b"orders", A)
    assert not index.exists(b"orders")
    index.replace([(b"orders", A)])
    assert not index.exists(b"orders")
    index.replace([(b"orders", B)])
    assert index.id_of(b"orders") == B


def test_deleted_ids_are_remembered_up_to_a_limit() -> None:
    index = index_of((b"orders", A))
    index.forget(b"orders", A)
    for n in range(100, 100 + topic_ids._DELETED_LIMIT):
        index.forget(b"t", n.to_bytes(16, "big"))
    index.replace([(b"orders", A)])
    assert index.exists(b"orders")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_listing_does_not_undo_what_was_learnt_after_it_was_asked_for() -> None:
    index = TopicIndex(0.0, clock=(clock := Clock()))
    index.replace([(b"orders", A), (b"logs", B)])
    mark = index.mark()
    clock.now += 0.01
    index.learn(b"new", C)
    index.forget(b"logs")
    index.replace([(b"orders", A), (b"logs", B)], mark)
    assert set(index.names()) == {b"orders", b"new"}


def test_a_listing_does_not_undo_what_was_learnt_right_before_it_was_asked_for() -> None:
    index = TopicIndex(1.0, clock=(clock := Clock()))
    index.replace([(b"orders", A)])
    index.learn(b"new", C)
    index.forget(b"orders")
    for _ in range(3):
        clock.now += 0.3
        index.replace([(b"orders", A)], index.mark())
        assert set(index.names()) == {b"new"}


def test_a_listing_decides_once_things_have_settled() -> None:
    index = TopicIndex(1.0, clock=(clock := Clock()))
    index.replace([(b"orders", A)])
    index.learn(b"new", C)
    index.forget(b"orders")
    clock.now += 1.0
    index.replace([(b"orders", A)], index.mark())
    assert set(index.names()) == {b"orders"}


def test_a_topic_made_anew_is_seen_at_once_if_the_deleted_id_is_known() -> None:
    index = TopicIndex(1.0, clock=Clock())
    index.replace([(b"orders", A)])
    index.forget(b"orders", A)
    index.replace([(b"orders", B)], index.mark())
    assert index.id_of(b"orders") == B


def test_without_a_mark_a_listing_is_the_newest() -> None:
    index = TopicIndex()
    index.learn(b"new", C)
    index.replace([(b"orders", A)])
    assert set(index.names()) == {b"orders"}


def test_the_version_moves_when_names_change_and_only_then() -> None:
    index = index_of((b"orders", A))
    version = index.version

    index.replace([(b"orders", A)])
    index.replace([(b"orders", B)])
    index.learn(b"orders", C)
    index.forget(b"logs")
    assert index.version == version

    index.learn(b"logs", A)
    assert index.version > version
    version = index.version
    index.forget(b"logs")
    assert index.version > version
    version = index.version
    index.replace([(b"other", A)])  # as many names as before
    assert index.version > version


def test_learning_what_is_known_changes_nothing() -> None:
    index = TopicIndex(1.0, clock=Clock())
    index.replace([(b"orders", A)])
    index.learn(b"orders", A)
    index.replace([], index.mark())
    assert not index.exists(b"orders")


def test_what_was_learnt_is_not_noted_for_longer_than_needed() -> None:
    index = TopicIndex(1.0, clock=(clock := Clock()))
    index.learn(b"orders", A)
    clock.now += 1.0
    index.replace([(b"orders", A)], index.mark())
    assert not index._recent


def test_names_is_a_view() -> None:
    index = index_of((b"orders", A))
    names = index.names()
    index.learn(b"logs", B)
    assert set(names) == {b"orders", b"logs"}


topics = st.dictionaries(
    st.sampled_from([b"a", b"b", b"c", b"d"]), st.integers(1, 9).map(lambda n: bytes([n]) * 16)
).filter(lambda listing: len(set(listing.values())) == len(listing))


@given(st.lists(topics, max_size=6))
def test_after_any_listings_the_last_one_holds(listings: list[dict[bytes, bytes]]) -> None:
    index = TopicIndex()
    for listing in listings:
        before, version = set(index.names()), index.version
        index.replace(listing.items())
        assert (index.version != version) == (before != set(listing))
    last = listings[-1] if listings else {}
    assert set(index.names()) == set(last)
    for name, topic_id in last.items():
        assert index.id_of(name) == topic_id
        assert index.name_of(topic_id) == name


names = st.sampled_from([b"a", b"b", b"c", b"d"])
ids = st.integers(1, 9).map(lambda n: bytes([n]) * 16)
news = st.lists(st.tuples(st.sampled_from(["learn", "forget"]), names, st.none() | ids), max_size=6)


def own_id(name: bytes, topic_id: bytes) -> bytes:
    """An id that no other topic has."""
    return name + topic_id[len(name) :]


def hear(index: TopicIndex, heard: tuple[str, bytes, bytes | None]) -> None:
    how, name, topic_id = heard
    (index.learn if how == "learn" else index.forget)(name, topic_id)


def content(index: TopicIndex) -> object:
    every = [own_id(name, bytes([n]) * 16) for name in (b"a", b"b", b"c", b"d") for n in range(10)]
    return (
        {name: index.id_of(name) for name in index.names()},
        {topic_id: index.name_of(topic_id) for topic_id in every},
        index.partitions,
    )


@given(steps=st.lists(st.tuples(topics, news, st.floats(0, 2)), max_size=5), settle=st.booleans())
def test_a_listing_in_slices_is_one_at_once(
    steps: list[tuple[dict[bytes, bytes], list[tuple[str, bytes, bytes | None]], float]],
    settle: bool,
) -> None:
    """Names that are learnt and forgotten meanwhile come after it."""
    now = 0.0
    sliced, whole = (TopicIndex(1.0, clock=lambda: now) for _ in range(2))
    with pytest.MonkeyPatch.context() as patched:
        pause_everywhere(patched)
        patched.setattr(topic_ids, "_EVERY", 1)
        for listing, learnt, later in steps:
            now += later + 2 * settle
            pairs = tuple((name, own_id(name, topic_id)) for name, topic_id in listing.items())
            partitions = dict.fromkeys(listing, 3)
            learnt = [(how, name, by and own_id(name, by)) for how, name, by in learnt]
            for _ in range(2):  # the second time it may be no news
                before, version = set(sliced.names()), sliced.version
                work = slices.Slices(partial(sliced.replace_in_slices, pairs, now, partitions))
                rest, heard_meanwhile = list(learnt), []
                whole.mark()
                while not work.step():
                    assert set(sliced.names()) == before
                    if rest:
                        held = content(sliced)
                        hear(sliced, rest[0])
                        how, name, by = rest[0]
                        topic_id = sliced.id_of(name)
                        if how == "forget" or content(sliced) != held:
                            heard_meanwhile.append(rest[0])
                        # A known name is no news, but it stays, even if the listing lacks it.
                        elif (
                            by in (None, topic_id)
                            and whole.exists(name)
                            and whole.id_of(name) == topic_id
                        ):
                            whole.learn(name, topic_id)
                        del rest[0]
                        assert (sliced.version != version) >= (set(sliced.names()) != before)
                        before = set(sliced.names())
                work.result()
                whole.replace(pairs, now, partitions)
                for heard in heard_meanwhile:
                    hear(whole, heard)
                for heard in rest:
                    hear(sliced, heard)
                    hear(whole, heard)
                assert content(sliced) == content(whole)
                assert (sliced.version != version) >= (set(sliced.names()) != before)
                learnt = []
                now += 2 * settle


@pytest.mark.parametrize("slices_before", [0, 1, 3, 6])
@pytest.mark.parametrize("by", [A, None], ids=["by its id", "by its name"])
def test_a_known_topic_that_is_confirmed_meanwhile_stays(
    monkeypatch: pytest.MonkeyPatch, slices_before: int, by: bytes | None
) -> None:
    """The listing is of a broker that lags, the answer that names the topic of another."""
    pause_everywhere(monkeypatch)
    monkeypatch.setattr(topic_ids, "_EVERY", 1)
    index = TopicIndex(0.0)
    index.replace([(b"orders", A), (b"gone", C)])
    version, listing, mark = index.version, ((b"logs", B),), index.mark()
    if not slices_before:
        index.learn(b"orders", by)  # while the listing is requested
    work = slices.Slices(partial(index.replace_in_slices, listing, mark, {}))
    for _ in range(slices_before):
        assert not work.step()
    index.learn(b"orders", by)
    while not work.step():
        pass
    work.result()
    assert set(index.names()) == {b"orders", b"logs"}
    assert index.id_of(b"orders") == A
    assert index.version > version
    # Once it has settled, a listing decides, also if it is the same one.
    index.replace_in_slices(listing, index.mark() + 1, {})
    assert set(index.names()) == {b"logs"}


def test_a_topic_that_is_confirmed_and_then_deleted_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    pause_everywhere(monkeypatch)
    index = index_of((b"orders", A))
    work = slices.Slices(partial(index.replace_in_slices, ((b"logs", B),), index.mark(), {}))
    assert not work.step()
    index.learn(b"orders", A)
    index.forget(b"orders", A)
    while not work.step():
        pass
    work.result()
    assert set(index.names()) == {b"logs"}


def test_a_listing_that_is_abandoned_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "FIRST_SECONDS", 0.0)
    index = index_of((b"orders", A))
    work = slices.Slices(partial(index.replace_in_slices, ((b"logs", B),), index.mark(), {}))
    assert not work.step()
    index.learn(b"logs", A)
    work.abandon()
    assert set(index.names()) == {b"orders", b"logs"}
    index.learn(b"more", None)
    assert index.exists(b"more")


MANY = 200_000
WANTED_SECONDS = 0.05


def longest_turn(index: TopicIndex, listing: tuple[tuple[bytes, bytes], ...]) -> float:
    """The CPU seconds of the longest slice, at best."""
    partitions = {name: 1 for name, _ in listing}
    best = 1.0
    for _ in range(3):
        tried, longest, done = index._copied(), 0.0, False
        gc.collect()
        work = slices.Slices(
            partial(tried.replace_in_slices, listing, tried.mark(), dict(partitions))
        )
        while not done:
            before = thread_time()
            done = work.step()
            longest = max(longest, thread_time() - before)
        work.result()
        assert set(tried.names()) == set(partitions)
        best = min(best, longest)
    return best


@pytest.mark.alone
def test_no_turn_is_long_with_many_topics() -> None:
    """In a single slice it took 0.2 s, and 0.5 s if all are others."""
    pairs = tuple((b"team..topic-%d" % n, n.to_bytes(16, "big")) for n in range(1, MANY))
    others = tuple((name, topic_id[::-1]) for name, topic_id in pairs)
    index = TopicIndex(0.0)
    assert longest_turn(index, pairs) < WANTED_SECONDS
    index.replace(pairs, index.mark(), dict.fromkeys(dict(pairs), 1))
    assert longest_turn(index, pairs) < WANTED_SECONDS
    assert longest_turn(index, others) < WANTED_SECONDS
