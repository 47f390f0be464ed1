"""ListTransactions and DescribeTransactions in a session: expressions, changes of rights, trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from time import process_time
from typing import Any, Final

import pytest

from protocol.errors import ProtocolError
from tests.session.allowing import Allowing
from tests.session.far import CLICKS, LA, NY
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.test_trees import message, tree_pair

LAST: Final = 2
LOADING, NOT_COORDINATOR, INVALID_REGULAR_EXPRESSION, FORBIDDEN = 14, 16, 128, 53
DESCRIBED: Final = "DESCRIBE TRANSACTIONAL_ID tx"
LONGEST_SECONDS: Final = 0.05
"""CPU seconds of the longest callback, as in test_callback_search."""


def ask_list(pair: Pair, **values: object) -> Any:
    """The request that the broker gets; None: it gets none."""
    return pair.ask("ListTransactions", LAST, message("ListTransactionsRequest", LAST, **values))


def listing(ids: Sequence[str]) -> Any:
    """A broker's response with these ids."""
    states = [{"transactional_id": each, "producer_id": 7} for each in ids]
    return message("ListTransactionsResponse", LAST, transaction_states=states)


def listed(pair: Pair, *ids: str) -> list[str]:
    """The ids that the client gets if the broker lists ``ids``."""
    answer = pair.reply("ListTransactions", LAST, listing(ids))
    assert answer.error_code == 0
    return [each.transactional_id for each in answer.transaction_states]


def ask_describe(pair: Pair, *ids: str) -> Any:
    """The request that the broker gets; None: it gets none."""
    asked = message("DescribeTransactionsRequest", 0, transactional_ids=list(ids))
    return pair.ask("DescribeTransactions", 0, asked)


def described(pair: Pair, *topics: str, transactional_id: str = "tx") -> Any:
    """What the client gets of a transaction that has these topics (flat names)."""
    in_it = [{"topic": topic, "partitions": [0]} for topic in topics]
    state = {"transactional_id": transactional_id, "topics": in_it}
    answer = message("DescribeTransactionsResponse", 0, transaction_states=[state])
    (found,) = pair.reply("DescribeTransactions", 0, answer).transaction_states
    return found


def allow(pair: Pair, *allowed: str) -> None:
    """Allow only these operations from now on."""
    pair.authorizer = Allowing(allowed)
    pair.catalog_changed()


# -- changes while a request is in flight ----------------------------------------------------------


def test_a_listing_shows_what_may_be_described_when_it_arrives() -> None:
    pair = Pair(authorizer=Allowing([DESCRIBED, "DESCRIBE TRANSACTIONAL_ID old"]))
    assert ask_list(pair, transactional_id_pattern=".*") is not None
    allow(pair, DESCRIBED, "DESCRIBE TRANSACTIONAL_ID new")
    assert not pair.reset
    assert listed(pair, "old", "new", "tx") == ["new", "tx"]


def test_a_description_in_flight_ends_with_the_right_to_it() -> None:
    pair = Pair(authorizer=Allowing([DESCRIBED]))
    assert ask_describe(pair, "tx") is not None
    allow(pair, DESCRIBED, "READ TOPIC plain")
    assert not pair.reset
    allow(pair)
    assert pair.reset


def test_topics_are_shown_by_the_rights_at_the_response() -> None:
    topics = ["team-a..orders", "plain"]
    before = [DESCRIBED, "DESCRIBE TOPIC team-a:orders", "DESCRIBE TOPIC plain"]
    pair = Pair(topics=topics, authorizer=Allowing(before))
    ask_describe(pair, "tx")
    allow(pair, DESCRIBED, "DESCRIBE TOPIC plain")
    assert [topic.topic for topic in described(pair, *topics).topics] == ["plain"]


def test_nothing_is_listed_while_the_catalog_is_out_of_date() -> None:
    pair = Pair()
    pair.close_view()
    assert ask_list(pair) is None
    answer = pair.answer("ListTransactions", LAST)
    assert (answer.error_code, answer.transaction_states) == (LOADING, ())


def test_a_listing_that_arrives_when_the_catalog_is_out_of_date() -> None:
    pair = Pair()
    ask_list(pair)
    pair.close_view()
    answer = pair.reply("ListTransactions", LAST, listing(["tx"]))
    assert (answer.error_code, answer.transaction_states) == (LOADING, ())


# -- expressions -----------------------------------------------------------------------------------

TOO_DEAR = "tx|(?:[ab]*a){490}a*"
"""Takes 5 microseconds for each letter of a long id."""


@pytest.mark.parametrize("pattern", ["tx", "", "(", "team-a.*"])
def test_no_expression_reaches_a_broker(pattern: str) -> None:
    pair = Pair(home="team-a")
    frame = message("ListTransactionsRequest", LAST, transactional_id_pattern=pattern)
    pair.send(request_frame("ListTransactions", LAST, frame))
    sent = pair.to_broker()
    assert not pattern or pattern.encode() not in sent
    assert bool(sent) is (pattern != "(")


def test_an_expression_is_over_absolute_ids_at_a_node_of_another_volume() -> None:
    pair = tree_pair(NY)
    assert ask_list(pair, transactional_id_pattern=":ny:t.*").transactional_id_pattern is None
    assert listed(pair, "tx", "app") == [":ny:tx"]


def test_an_id_that_would_take_too_long_is_not_matched() -> None:
    pair = Pair()
    ids = ["tx", "a" * 30_000]
    ask_list(pair, transactional_id_pattern="t.*")
    assert listed(pair, *ids) == ["tx"]
    ask_list(pair, transactional_id_pattern=TOO_DEAR)
    answer = pair.reply("ListTransactions", LAST, listing(ids))
    assert (answer.error_code, answer.transaction_states) == (INVALID_REGULAR_EXPRESSION, ())
    ask_list(pair)
    assert listed(pair, *ids) == ids, "without an expression it is listed"


def test_an_id_that_is_not_shown_costs_nothing() -> None:
    """Otherwise the error would tell of another tenant's id."""
    pair = Pair(home="team-a")
    ask_list(pair, transactional_id_pattern=TOO_DEAR)
    assert listed(pair, "team-a..tx", "team-b.." + "a" * 30_000) == ["tx"]


DEAR: Final = {
    "a wide window": ".*a.{400}",
    "states that do not fit": "(x*)*(a|b)*a(a|b){12}c",
    "alternatives": "|".join([".*a?b"] * 80),
    "repeated": "((a?){30}){16}",
}


@pytest.mark.alone
@pytest.mark.usefixtures("quietly")
@pytest.mark.parametrize("pattern", DEAR.values(), ids=DEAR)
@pytest.mark.parametrize("size", [200, 9_000, 32_000])
def test_no_id_takes_the_event_loop(pattern: str, size: int) -> None:
    pair = Pair()
    took: list[float] = []

    def timed(call: Callable[[], object]) -> None:
        began = process_time()
        call()
        took.append(process_time() - began)

    pair.callback = timed  # type: ignore[method-assign]
    text = "".join(Random(1).choices("ab", k=size))
    frame = message("ListTransactionsRequest", LAST, transactional_id_pattern=pattern)
    pair.send(request_frame("ListTransactions", LAST, frame))
    assert pair.to_broker()
    pair.answered(response_frame("ListTransactions", LAST, listing([f"{text}{n}" for n in "abcd"])))
    answer = pair.answer("ListTransactions", LAST)
    assert answer.error_code in (0, INVALID_REGULAR_EXPRESSION)
    assert max(took) < LONGEST_SECONDS


# -- trees -----------------------------------------------------------------------------------------


def test_each_node_lists_the_transactions_of_its_own_volume() -> None:
    """Producer ids of transactions are the coordinators' own."""
    for volume, shown in ((LA, "tx"), (NY, ":ny:tx")):
        pair = tree_pair(volume)
        assert ask_list(pair, producer_id_filters=[7]).producer_id_filters == (7,)
        answer = pair.reply("ListTransactions", LAST, listing(["tx"]))
        found = [(each.transactional_id, each.producer_id) for each in answer.transaction_states]
        assert found == [(shown, 7)]


@pytest.mark.parametrize("spelled", [":ny:tx", "/ny/tx", "..ny..tx"])
def test_a_description_at_a_node_of_the_ids_volume(spelled: str) -> None:
    pair = tree_pair(NY)
    assert ask_describe(pair, spelled).transactional_ids == ("tx",)
    found = described(pair, "orders", CLICKS)
    assert found.transactional_id == spelled
    assert [topic.topic for topic in found.topics] == [":ny:orders"], "a shadow is not shown"


def test_a_description_at_a_node_of_another_volume() -> None:
    pair = tree_pair(LA)
    assert ask_describe(pair, ":ny:tx") is None
    (found,) = pair.answer("DescribeTransactions", 0).transaction_states
    assert (found.transactional_id, found.error_code) == (":ny:tx", NOT_COORDINATOR)


def test_markers_of_too_many_partitions_end_the_connection() -> None:
    topics = [{"name": "plain", "partition_indexes": [*range(100_001)]}]
    marker = {"producer_id": 5, "producer_epoch": 0, "coordinator_epoch": 0, "topics": topics}
    request = message("WriteTxnMarkersRequest", 1, markers=[marker])
    for rights in ([], ["ALTER CLUSTER kafka-cluster"]):
        pair = Pair(topics=["plain"], authorizer=Allowing(rights))
        with pytest.raises(ProtocolError):
            pair.send(request_frame("WriteTxnMarkers", 1, request))
