"""What changes, or becomes known, while a heartbeat that names topics of another cluster is
decided."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from gateway.apis.groups.member_mark import MAX_MARK, MAX_MARKS, TOO_LONG, marks_of
from gateway.catalog.freezes import Frozen
from gateway.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    FENCED_MEMBER_EPOCH,
    TOPIC_AUTHORIZATION_FAILED,
)
from gateway.exchanges.exchange import Refresh
from gateway.rules.group_members import Member
from gateway.rules.shadows import shadow_name
from gateway.slices import Slices
from gateway.views.access import Access
from gateway.views.view import View
from tests.session.allowing import Allowing
from tests.session.far import CLICKS, CLICKS_ID, FOREIGN, NY, TREE, FarPair
from tests.session.shadow_members import (
    HEARTBEAT,
    accepted,
    answered,
    assigned,
    heartbeat,
    id_at_home,
)
from tests.views.trees import tree_settings

FLAT = "search..orders"
BOTH = ["search:orders", FOREIGN]


class ListingPair(FarPair):
    """A refresh lists the group's cluster, as a worker's does, and no other."""

    def _go_on(self) -> None:
        super()._go_on()
        while isinstance(self.session.waiting, Refresh):
            asyncio.run(self.home.cluster.refresh())
            self.resume()
            super()._go_on()


def owned(*ids: UUID, partitions: Sequence[int] = (0,)) -> list[dict[str, Any]]:
    return [{"topic_id": each.int, "partitions": list(partitions)} for each in ids]


def full(names: Sequence[str], *ids: UUID) -> Any:
    """The heartbeat of a member that goes on after its connection has failed: all of its state."""
    return heartbeat(1, names, 1, topic_partitions=owned(*ids), subscribed_topic_regex="")


def freeze(pair: FarPair, name: str) -> None:
    """Freeze a topic of the other cluster."""
    settings = tree_settings(TREE, NY, "la:tracking", "colon")
    view = View(settings, pair.other.state.catalog.snapshot, frozen=Frozen(frozenset({name})))
    pair.other.access = lambda: Access(view, "", "")  # type: ignore[method-assign]


def test_partitions_of_a_frozen_topic_stay_owned() -> None:
    """Without them the broker would take its revocation for done (KIP-848)."""
    pair = FarPair()
    pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
    accepted(pair, 1)
    orders, shadow = id_at_home(pair, FLAT), id_at_home(pair, CLICKS)
    freeze(pair, "search:clicks")
    sent = pair.ask(HEARTBEAT, 1, full(BOTH, orders, CLICKS_ID))
    assert [each.topic_id for each in sent.topic_partitions] == [orders, shadow]
    assert sent.subscribed_topic_names == (FLAT, CLICKS)


def test_a_member_owns_a_topic_that_this_worker_does_not_know_yet() -> None:
    pair = ListingPair()
    pair.other.broker.make("search..new")
    new = UUID(bytes=pair.other.broker.topics["search..new"].topic_id)
    sent = pair.ask(HEARTBEAT, 1, full([":ny:search:new"], new))
    assert sent.subscribed_topic_names == (shadow_name(2, new.bytes).decode(),)
    (part,) = sent.topic_partitions
    assert part.topic_id == id_at_home(pair, sent.subscribed_topic_names[0])


def test_an_id_of_nothing_does_not_hide_what_is_denied() -> None:
    pair = ListingPair(authorizer=Allowing([]))
    assert pair.ask(HEARTBEAT, 1, full([FOREIGN], UUID(int=77))) is None
    assert pair.answer(HEARTBEAT, 1).error_code == TOPIC_AUTHORIZATION_FAILED


def test_a_topic_comes_later_to_a_member_with_an_expression() -> None:
    pair = FarPair()
    request = heartbeat(1, [":ny:search:later"], 0, subscribed_topic_regex="search:.*")
    assert pair.ask(HEARTBEAT, 1, request).subscribed_topic_names == (FLAT,)
    accepted(pair, 1)
    pair.other.make("search..later")
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    (shadow,) = pair.made
    assert {*sent.subscribed_topic_names} == {FLAT, shadow}
    accepted(pair, 1)
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1)).subscribed_topic_names is None


def test_a_shadow_that_can_be_made_later() -> None:
    """The member is subscribed to its name at once, as one may be to a topic that is missing."""
    pair = FarPair()
    pair.home.broker.uncreatable[CLICKS] = (44, "policy")
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
    assert sent.subscribed_topic_names == (FLAT, CLICKS)
    accepted(pair, 1)
    assert not pair.made
    pair.home.broker.uncreatable.clear()
    pair.home.clock.forward(seconds=6)
    pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert pair.made == {CLICKS: 3}


def test_describing_a_topic_is_not_enough_to_have_a_shadow_made() -> None:
    """Nor does a member learn whether others read the topic."""
    pair = FarPair(authorizer=Allowing(["DESCRIBE TOPIC search:clicks", "DESCRIBE TOPIC search:x"]))
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0)) is None
    assert pair.answer(HEARTBEAT, 1).error_code == TOPIC_AUTHORIZATION_FAILED
    pair.other.make("search..x")
    assert not pair.made


@pytest.mark.parametrize("version", [0, 1])
def test_a_right_that_comes_back_after_an_assignment_was_cut(version: int) -> None:
    """A broker does not repeat the assignment, so the member asks again, with all of its state."""
    pair = FarPair()
    pair.ask(HEARTBEAT, version, heartbeat(version, BOTH, 0))
    shadow = id_at_home(pair, CLICKS)
    pair.other.authorizer = Allowing([])
    got = answered(pair, version, {"topic_partitions": owned(shadow)})
    assert got.error_code == COORDINATOR_LOAD_IN_PROGRESS
    pair.other.authorizer = None
    sent = pair.ask(HEARTBEAT, version, heartbeat(version, BOTH, 0))
    assert sent.subscribed_topic_names == (FLAT, CLICKS)
    assert assigned(pair, version, {shadow: [0]}) == {CLICKS_ID: [0]}


def test_a_shadow_that_this_worker_does_not_know_yet() -> None:
    """Its id means nothing to the client."""
    pair = FarPair()
    pair.ask(HEARTBEAT, 0, heartbeat(0, BOTH, 0))
    accepted(pair, 0)
    pair.ask(HEARTBEAT, 0, heartbeat(0, None, 1))
    got = answered(pair, 0, {"topic_partitions": owned(UUID(int=123))})
    assert (got.error_code, got.assignment) == (COORDINATOR_LOAD_IN_PROGRESS, None)


@pytest.mark.parametrize("allowed", ["DESCRIBE", "READ"])
def test_what_a_member_needs_there(allowed: str) -> None:
    """Both rights: it would be given partitions that it is not shown, or that it cannot read."""
    pair = FarPair(authorizer=Allowing([f"{allowed} TOPIC search:clicks"]))
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0)) is None
    assert pair.answer(HEARTBEAT, 1).error_code == TOPIC_AUTHORIZATION_FAILED
    pair.ask(HEARTBEAT, 1, heartbeat(1, ["search:orders"], 0, topic_partitions=owned(CLICKS_ID)))
    assert not pair.made, "by its id"


class ChangingPair(FarPair):
    """Something happens between two slices of a decision."""

    change: Callable[[], None] | None = None
    after = 1
    steps = 0

    def _take_turns(self, slices: Slices[Any]) -> None:
        while not slices.done:
            self.callback(slices.step)
            self.steps += 1
            if self.change is not None and self.steps == self.after:
                self.change()
                self.change = None


def revoked(pair: FarPair) -> None:
    pair.other.authorizer = Allowing([])


def gone(pair: FarPair) -> None:
    pair.other.broker.topics.pop("search..clicks")
    pair.other.cluster.list()


def without_shadow(pair: FarPair) -> None:
    pair.home.broker.topics.pop(CLICKS)
    pair.home.cluster.list()


def made_anew(pair: FarPair) -> None:
    pair.other.broker.topics["search..clicks"].topic_id = UUID(int=7).bytes
    pair.other.cluster.list()


@pytest.mark.parametrize("change", [revoked, gone, without_shadow, made_anew])
def test_a_change_during_the_decision(
    change: Callable[[FarPair], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat is decided by one state or another, and the connection goes on."""
    names = [*BOTH, *(f"search:own-{number}" for number in range(100))]
    after, ends = 1, False
    while not ends:
        pair = ChangingPair()
        pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
        accepted(pair, 1)
        orders = id_at_home(pair, FLAT)
        pair.steps, pair.after, pair.change = 0, after, partial(change, pair)
        with monkeypatch.context() as paused:  # a slice ends at each point where it may
            paused.setattr("gateway.slices.FIRST_SECONDS", -1.0)
            paused.setattr("gateway.slices.SLICE_SECONDS", -1.0)
            paused.setattr("gateway.slices.FEW_PIECES", 0)
            sent = pair.ask(HEARTBEAT, 1, full(names, CLICKS_ID, orders))
        if sent is None:
            assert pair.answer(HEARTBEAT, 1).error_code in (
                FENCED_MEMBER_EPOCH,
                TOPIC_AUTHORIZATION_FAILED,
            )
        ends = pair.change is not None  # it was decided before
        after += 7
    assert after > 100


def test_the_mark_of_many_names_is_made_in_time() -> None:
    """It took the square of their number, in one turn."""
    names = tuple(f"search:topic-{number}" for number in range(35_000))
    flats = [name.replace(":", "..") for name in names]
    reached = {flat.encode(): name for flat, name in zip(flats, names, strict=True)}
    member = Member(names=names, pattern="search:.*")

    class Spelling:
        scope = "test"

        def spell(self, flat: bytes) -> bytes:
            return flat.replace(b"..", b":")

        def moved(self, flat: bytes) -> bool:
            return False

    spellings: Any = Spelling()
    assert sum(map(len, names)) > MAX_MARKS * MAX_MARK
    assert marks_of(member, flats, reached, spellings) == (TOO_LONG,)
