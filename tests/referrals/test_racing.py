"""gateway.referrals.racing: a race by itself; test_lookups has its use."""

from __future__ import annotations

import asyncio

import pytest

from gateway.referrals.questions import Answer, Outcome
from gateway.referrals.racing import Race, best
from tests.catalog.skipped_time import skipping

GOOD = Answer(Outcome.ANSWERED, mount="la", number=1)
BAD = Answer(Outcome.NO_SUCH_MOUNT, "none")


def race(answers: dict[str, tuple[float, Answer]], *, at_once: bool, seconds: float = 3.0) -> Race:
    """A race of peers that answer after their seconds."""

    async def ask(peer: str) -> Answer:
        seconds, answer = answers[peer]
        await asyncio.sleep(seconds)
        return answer

    ends = asyncio.get_running_loop().time() + seconds
    return Race(list(answers), ask, at_once=at_once, ends=ends)


async def took(each: Race) -> tuple[str | None, float]:
    """The winner, and the seconds until it had won."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    winner = await each.run()
    return winner and winner.peer, round(loop.time() - began, 3)


@skipping
async def test_the_fastest_good_answer_wins() -> None:
    each = race({"a": (2, GOOD), "b": (1, GOOD), "c": (0.5, BAD)}, at_once=True)
    assert await took(each) == ("b", 1)
    assert each.failures == {"c": BAD}


@skipping
async def test_of_two_at_once_the_first_asked_wins() -> None:
    each = race({"b": (1, GOOD), "a": (1, GOOD)}, at_once=True)
    assert (await took(each))[0] == "b"


@skipping
async def test_with_a_head_start_the_others_are_not_asked() -> None:
    each = race({"a": (0.9, GOOD), "b": (0, GOOD)}, at_once=False)
    assert await took(each) == ("a", 0.9)
    assert each.failures == {}


@skipping
async def test_one_that_is_slow_is_still_waited_for() -> None:
    each = race({"a": (1.5, GOOD), "b": (1, BAD)}, at_once=False)
    assert await took(each) == ("a", 1.5)


@skipping
async def test_the_others_begin_when_the_first_one_fails() -> None:
    each = race({"a": (0.5, BAD), "b": (0.25, GOOD)}, at_once=False)
    assert await took(each) == ("b", 0.75)
    assert each.failures == {"a": BAD}


@pytest.mark.parametrize("at_once", [True, False])
def test_it_ends_when_all_have_failed(at_once: bool) -> None:
    @skipping
    async def test() -> None:
        each = race({"a": (0.25, BAD), "b": (0.25, BAD)}, at_once=at_once)
        assert await took(each) == (None, 0.25 if at_once else 0.5)
        assert each.failures == {"a": BAD, "b": BAD}
        assert each.late == ()

    test()


@skipping
async def test_it_ends_in_time_and_says_who_was_late() -> None:
    each = race({"a": (9, GOOD), "b": (0, BAD), "c": (9, GOOD)}, at_once=False)
    assert await took(each) == (None, 3)
    assert each.failures == {"b": BAD}
    assert each.late == ("a", "c")


def test_the_best_failure_says_most() -> None:
    by_outcome = [Answer(outcome, "text") for outcome in Outcome if outcome is not GOOD.outcome]
    assert best(by_outcome).outcome is Outcome.DENIED
    assert best([by_outcome[0], BAD]) is by_outcome[0]
