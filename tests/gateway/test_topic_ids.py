from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway import topic_ids
from gateway.topic_ids import TopicIndex

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
