"""gateway.referrals.lookups: the peer that has a path is remembered, and that no peer has it."""

from __future__ import annotations

import asyncio

import pytest

from gateway.referrals.questions import Kind, Outcome
from tests.catalog.skipped_time import skipping
from tests.referrals.memory_links import (
    EXPIRY,
    MOUNT,
    UNKNOWN,
    Gateway,
    answer_to,
    dead,
    fails,
    question,
)

MAY_BE_DONE = "The change may or may not have been made"


def now() -> float:
    return asyncio.get_running_loop().time()


async def turns(count: int = 10) -> None:
    """Let every task go on that can."""
    for _ in range(count):
        await asyncio.sleep(0)


class TestWhatIsRemembered:
    @skipping
    async def test_then_that_peer_alone_is_asked_until_it_expires(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = dead
        first = await gateway.lookups.ask(question())
        second = await gateway.lookups.ask(question())
        assert gateway.asked == (1, 2)
        assert [answer.hops[0].cached for answer in (first, second)] == [False, True]
        await asyncio.sleep(EXPIRY)
        third = await gateway.lookups.ask(question())
        assert gateway.asked == (2, 3)
        assert not third.hops[0].cached

    @pytest.mark.parametrize("outcome", [Outcome.UNREACHABLE, Outcome.NO_SUCH_MOUNT])
    def test_a_mount_that_moved_is_found_at_once(self, outcome: Outcome) -> None:
        @skipping
        async def test() -> None:
            gateway = Gateway()
            gateway.left.behaviour = dead
            await gateway.lookups.ask(question())
            gateway.left.behaviour, gateway.right.behaviour = answer_to, fails(outcome, "gone")
            moved = await gateway.lookups.ask(question())
            again = await gateway.lookups.ask(question())
            assert moved.outcome is again.outcome is Outcome.ANSWERED
            assert [answer.hops[0].cached for answer in (moved, again)] == [False, True]
            assert gateway.asked == (3, 2)

        test()

    @skipping
    async def test_a_mount_that_its_old_peer_still_answers_for_is_found_after_expiry(self) -> None:
        """The old peer is slower, as it asks further on."""
        gateway = Gateway()
        gateway.left.behaviour = dead
        await gateway.lookups.ask(question())
        gateway.left.behaviour, gateway.right.holds = answer_to, True
        await asyncio.sleep(EXPIRY)
        assert (await gateway.lookups.ask(question())).outcome is Outcome.ANSWERED
        location = gateway.locations.find(MOUNT)
        assert location is not None
        assert location.peer == "left"

    @skipping
    async def test_a_peer_that_hangs_now_leaves_time_for_the_others(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = dead
        await gateway.lookups.ask(question())
        gateway.left.behaviour, gateway.right.behaviour = answer_to, None
        began = now()
        answer = await gateway.lookups.ask(question(seconds=0.9))
        assert answer.outcome is Outcome.ANSWERED
        assert now() - began == pytest.approx(0.3, abs=0.01)

    @skipping
    async def test_a_denied_principal_does_not_make_it_forget(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = dead
        await gateway.lookups.ask(question())
        gateway.right.behaviour = fails(Outcome.DENIED, "not her")
        assert (await gateway.lookups.ask(question())).text == "not her"
        assert gateway.locations.find(MOUNT) is not None

    @skipping
    async def test_that_nobody_has_it_for_a_shorter_time(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = gateway.right.behaviour = fails(Outcome.NO_SUCH_MOUNT, "none")
        for cached in (False, True):
            answer = await gateway.lookups.ask(question(kind=Kind.REQUEST))
            assert (answer.outcome, answer.hops[0].cached) == (Outcome.NO_SUCH_MOUNT, cached)
            assert gateway.asked == (1, 1)
        gateway.left.behaviour = answer_to
        await asyncio.sleep(UNKNOWN)
        answer = await gateway.lookups.ask(question(kind=Kind.REQUEST))
        assert answer.outcome is Outcome.ANSWERED

    @pytest.mark.parametrize("other", [dead, fails(Outcome.DENIED, "not her"), None])
    def test_not_that_nobody_has_it_if_only_some_say_so(self, other: object) -> None:
        @skipping
        async def test() -> None:
            gateway = Gateway()
            gateway.left.behaviour = fails(Outcome.NO_SUCH_MOUNT, "none")
            gateway.right.behaviour = other  # type: ignore[assignment]
            await gateway.lookups.ask(question())
            gateway.left.behaviour = answer_to
            assert (await gateway.lookups.ask(question())).outcome is Outcome.ANSWERED

        test()

    @skipping
    async def test_a_path_that_is_no_mount_may_still_be_in_one(self) -> None:
        """A request needs the mount itself, but the owner of any path may be looked up."""
        gateway = Gateway(parents=["left"])
        path = f"{MOUNT}:search"
        gateway.left.behaviour = fails(Outcome.NO_SUCH_MOUNT, "none")
        await gateway.lookups.ask(question(path, Kind.REQUEST))
        gateway.left.behaviour = lambda asked: answer_to(asked, mount=MOUNT)
        answer = await gateway.lookups.ask(question(path))
        assert (answer.outcome, answer.mount) == (Outcome.ANSWERED, MOUNT)

    @skipping
    async def test_a_remembered_parent_is_not_asked_for_a_parent(self) -> None:
        gateway = Gateway()
        await gateway.lookups.ask(question())
        asked = gateway.asked
        answer = await gateway.lookups.ask(question(), came_from="right")
        assert answer.outcome is Outcome.NO_SUCH_MOUNT
        assert gateway.asked == asked
