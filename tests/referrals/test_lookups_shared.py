"""gateway.referrals.lookups: many questions at once, and questions that change something."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.referrals.questions import Kind, Outcome, Question
from tests.catalog.skipped_time import skipping
from tests.referrals.memory_links import (
    Gateway,
    answer_to,
    dead,
    fails,
    lost,
    metadata,
    question,
)

MAY_BE_DONE = "The change may or may not have been made"


def now() -> float:
    return asyncio.get_running_loop().time()


async def turns(count: int = 10) -> None:
    """Let every task go on that can."""
    for _ in range(count):
        await asyncio.sleep(0)


class TestSharing:
    @skipping
    async def test_identical_lookups_in_flight_share_one_answer(self) -> None:
        gateway = Gateway(parents=["left"])
        gateway.left.holds = True
        asks = [
            asyncio.ensure_future(
                gateway.lookups.ask(question(kind=Kind.REQUEST, correlation_id=number))
            )
            for number in range(1, 51)
        ]
        await turns()
        assert gateway.lookups.under_way == 50
        gateway.left.release.set()
        answers = await asyncio.gather(*asks)
        assert len(gateway.left.asked) == 1
        assert [answer.response for answer in answers] == list(map(metadata, range(1, 51)))
        assert gateway.lookups.under_way == 0
        await gateway.lookups.ask(question(kind=Kind.REQUEST))
        assert len(gateway.left.asked) == 2

    def test_others_do_not(self) -> None:
        asked = question(kind=Kind.REQUEST)
        others = [
            replace(asked, kind=Kind.DESCRIBE),
            replace(asked, volume="ny:shop"),
            replace(asked, target="sf"),
            replace(asked, principal="User:bob"),
            replace(asked, host="192.0.2.8"),
            replace(asked, request=asked.request + b"!"),
            replace(asked, request=b"\x00\x0a\x00\x04" + asked.request[4:]),
            replace(asked, path=("below",)),
            replace(asked, hops=3),
        ]

        @skipping
        async def test() -> None:
            gateway = Gateway(parents=["left"])
            gateway.left.behaviour = None
            asks = [asyncio.ensure_future(gateway.lookups.ask(each)) for each in [asked, *others]]
            asks.append(asyncio.ensure_future(gateway.lookups.ask(asked, came_from="child")))
            await asyncio.wait(asks)
            assert len(gateway.left.asked) == len(asks)

        test()

    @skipping
    async def test_a_caller_that_goes_away_takes_nothing_from_the_others(self) -> None:
        gateway = Gateway(parents=["left"])
        gateway.left.holds = True
        first, second = (asyncio.ensure_future(gateway.lookups.ask(question())) for _ in "ab")
        await turns()
        first.cancel()
        await turns()
        gateway.left.release.set()
        assert (await second).outcome is Outcome.ANSWERED
        assert first.cancelled()
        assert len(gateway.left.asked) == 1
        assert gateway.left.cancelled == 0
        assert gateway.lookups.under_way == 0

    @skipping
    async def test_each_waits_no_longer_than_its_own_time(self) -> None:
        gateway = Gateway(parents=["left"])
        gateway.left.behaviour = None
        patient = asyncio.ensure_future(gateway.lookups.ask(question(seconds=9)))
        await turns()
        began = now()
        answer = await gateway.lookups.ask(question(seconds=0.2))
        assert answer.outcome is Outcome.UNREACHABLE
        assert now() - began == pytest.approx(0.2, abs=0.01)
        assert not patient.done()
        await patient
        assert len(gateway.left.asked) == 1


class TestChanges:
    @skipping
    async def test_go_to_one_peer_once(self) -> None:
        gateway = Gateway()
        answer = await gateway.lookups.ask(question(kind=Kind.REQUEST), changes=True)
        assert (answer.outcome, answer.response) == (Outcome.ANSWERED, metadata())
        assert gateway.asked == (1, 0)

    @skipping
    async def test_go_to_the_peer_that_is_known_to_have_the_mount(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = dead
        await gateway.lookups.ask(question(kind=Kind.REQUEST))
        gateway.left.behaviour = answer_to
        answer = await gateway.lookups.ask(question(kind=Kind.REQUEST), changes=True)
        assert answer.hops[0].cached
        assert gateway.asked == (1, 2)

    @skipping
    async def test_go_to_a_peer_that_responds(self) -> None:
        gateway = Gateway()
        gateway.left.up = False
        await gateway.lookups.ask(question(kind=Kind.REQUEST), changes=True)
        assert gateway.asked == (0, 1)

    @skipping
    async def test_are_not_repeated_when_the_connection_is_lost(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = lost
        answer = await gateway.lookups.ask(question(kind=Kind.REQUEST), changes=True)
        assert answer.outcome is Outcome.UNREACHABLE
        assert answer.text.startswith(f"It does not respond. {MAY_BE_DONE}")
        assert gateway.asked == (1, 0)

    @skipping
    async def test_are_not_repeated_when_no_answer_comes(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = None
        answer = await gateway.lookups.ask(question(kind=Kind.REQUEST), changes=True)
        assert answer.outcome is Outcome.UNREACHABLE
        assert MAY_BE_DONE in answer.text
        assert gateway.asked == (1, 0)
        assert gateway.counted() == {("left", "unreachable"): 1}

    @skipping
    async def test_are_not_made_where_nothing_was_sent(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = dead
        answer = await gateway.lookups.ask(question(kind=Kind.REQUEST), changes=True)
        assert answer.outcome is Outcome.UNREACHABLE
        assert MAY_BE_DONE not in answer.text
        assert gateway.asked == (1, 0)

    @skipping
    async def test_a_lie_does_not_say_whether_they_were_made(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = lambda asked: answer_to(asked, mount="sf")
        answer = await gateway.lookups.ask(question(kind=Kind.REQUEST), changes=True)
        assert answer.outcome is Outcome.UNREACHABLE
        assert MAY_BE_DONE in answer.text

    @skipping
    async def test_are_never_shared(self) -> None:
        gateway = Gateway()
        asks = (gateway.lookups.ask(question(kind=Kind.REQUEST), changes=True) for _ in "ab")
        await asyncio.gather(*asks)
        assert gateway.asked == (2, 0)

    @skipping
    async def test_a_caller_that_goes_away_is_not_asked_for(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = None
        ask = asyncio.ensure_future(gateway.lookups.ask(question(), changes=True))
        await turns()
        ask.cancel()
        await turns()
        assert gateway.left.cancelled == 1
        assert gateway.lookups.under_way == 0


class TestFloods:
    @skipping
    async def test_unknown_names_leave_bounded_traces(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = gateway.right.behaviour = fails(Outcome.NO_SUCH_MOUNT, "none")
        for number in range(10_000):
            await gateway.lookups.ask(question(f"nobody-{number}"))
        assert gateway.asked == (10_000, 10_000)
        assert len(gateway.locations) == 100
        assert gateway.lookups.under_way == 0
        assert gateway.lookups.shared == 0

    @skipping
    async def test_own_questions_under_way_are_so_many_and_no_more(self) -> None:
        gateway = Gateway(parents=["left"])
        gateway.left.behaviour = None
        answers = await asyncio.gather(
            *(gateway.lookups.ask(question(f"nobody-{number}")) for number in range(10_000))
        )
        assert len(gateway.left.asked) == 1_000
        assert {answer.outcome for answer in answers} == {Outcome.UNREACHABLE}
        assert sum("Too many" in answer.text for answer in answers) == 9_000
        assert gateway.lookups.under_way == 0

    @skipping
    async def test_a_peer_that_floods_leaves_room_for_others(self) -> None:
        gateway = Gateway(parents=["left"])
        gateway.left.holds = True
        gateway.left.behaviour = fails(Outcome.NO_SUCH_MOUNT, "none")

        def asked(number: int) -> Question:
            return replace(question(f"nobody-{number}"), path=("below",))

        flood = [
            asyncio.ensure_future(gateway.lookups.ask(asked(number), came_from="child"))
            for number in range(1_000)
        ]
        await turns()
        assert len(gateway.left.asked) == 64
        own = asyncio.ensure_future(gateway.lookups.ask(question()))
        await turns()
        assert len(gateway.left.asked) == 65
        gateway.left.release.set()
        assert (await own).text == "none"
        answers = await asyncio.gather(*flood)
        assert sum(answer.text == "none" for answer in answers) == 64
