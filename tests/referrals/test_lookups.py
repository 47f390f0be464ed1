"""gateway.referrals.lookups: which peers are asked, and whose answer counts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import combinations

import pytest

from gateway.referrals.questions import Answer, Kind, Outcome, Question
from tests.catalog.skipped_time import skipping
from tests.referrals.memory_links import (
    CHILD,
    MOUNT,
    NUMBER,
    PARENTS,
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


class TestWhoIsAsked:
    @skipping
    async def test_a_child_is_asked_for_what_is_below_its_mount(self) -> None:
        gateway = Gateway()
        answer = await gateway.lookups.ask(question(f"{CHILD}:eu"))
        assert answer.outcome is Outcome.ANSWERED
        assert len(gateway.child.asked) == 1
        assert gateway.asked == (0, 0)

    @skipping
    async def test_the_next_gateway_gets_the_path_fewer_hops_and_less_time(self) -> None:
        gateway = Gateway()
        asked = replace(question(CHILD), path=("client-side",), hops=3)
        answer = await gateway.lookups.ask(asked, came_from="left")
        (passed,) = gateway.child.asked
        assert passed == replace(asked, path=("client-side", "me"), hops=2, seconds=passed.seconds)
        assert 0.9 < passed.seconds < 1.0
        assert [hop.gateway_id for hop in answer.hops] == ["me", "owner"]

    @skipping
    async def test_its_own_limit_of_hops_counts_too(self) -> None:
        gateway = Gateway()
        await gateway.lookups.ask(replace(question(CHILD), hops=64))
        assert gateway.child.asked[0].hops == 15

    @skipping
    async def test_a_parents_question_goes_neither_up_nor_back(self) -> None:
        gateway = Gateway()
        up = await gateway.lookups.ask(question(), came_from="left")
        back = await gateway.lookups.ask(question(CHILD), came_from="child")
        assert up.outcome is back.outcome is Outcome.NO_SUCH_MOUNT
        assert gateway.asked == (0, 0)
        assert not gateway.child.asked
        # These outcomes do not limit the mounts that clients here may reach.
        gateway.child.behaviour = lambda asked: answer_to(asked, number=NUMBER + 1)
        assert (await gateway.lookups.ask(question())).outcome is Outcome.ANSWERED
        assert (await gateway.lookups.ask(question(CHILD))).outcome is Outcome.ANSWERED

    @skipping
    async def test_without_parents_nobody_has_the_path(self) -> None:
        gateway = Gateway(parents=())
        answer = await gateway.lookups.ask(question())
        assert answer.outcome is Outcome.NO_SUCH_MOUNT
        assert answer.text == "No cluster is mounted at ':la:tracking'."

    @skipping
    async def test_a_loop_is_cut(self) -> None:
        gateway = Gateway()
        asked = replace(question(), path=("me", "other"))
        answer = await gateway.lookups.ask(asked, came_from="child")
        assert answer.outcome is Outcome.REJECTED
        assert "in a circle: me > other > me." in answer.text
        assert [hop.gateway_id for hop in answer.hops] == ["me"]
        assert gateway.asked == (0, 0)

    @skipping
    async def test_a_question_without_hops_goes_no_further(self) -> None:
        gateway = Gateway()
        answer = await gateway.lookups.ask(replace(question(), path=("far",), hops=0))
        assert answer.outcome is Outcome.REJECTED
        assert "may pass no more gateways: far > me." in answer.text
        assert gateway.asked == (0, 0)

    @pytest.mark.parametrize("request_", [b"", b"\x00\x03\x00\x0c", b"\x7f\xff\x00\x00abcd"])
    def test_a_request_that_nobody_can_read_is_rejected(self, request_: bytes) -> None:
        @skipping
        async def test() -> None:
            gateway = Gateway()
            asked = replace(question(kind=Kind.REQUEST), request=request_)
            answer = await gateway.lookups.ask(asked)
            assert answer.outcome is Outcome.REJECTED
            assert "cannot be read" in answer.text
            assert gateway.asked == (0, 0)

        test()

    @skipping
    async def test_an_own_path_is_a_mistake_of_the_caller(self) -> None:
        with pytest.raises(AssertionError, match="own path"):
            await Gateway().lookups.ask(question("ny:orders"))


class TestRace:
    @skipping
    async def test_parents_are_asked_at_once_and_the_first_answer_counts(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = None
        began = now()
        answer = await gateway.lookups.ask(question(kind=Kind.REQUEST))
        assert (answer.outcome, answer.response) == (Outcome.ANSWERED, metadata())
        assert gateway.asked == (1, 1)
        assert now() == began
        await turns()
        assert gateway.left.cancelled == 1
        assert gateway.counted() == {("right", "answered"): 1}

    @skipping
    async def test_a_dead_parent_delays_nothing(self) -> None:
        gateway = Gateway()
        gateway.right.behaviour = dead
        began = now()
        assert (await gateway.lookups.ask(question())).outcome is Outcome.ANSWERED
        assert now() == began

    @skipping
    async def test_a_lookup_whose_connection_is_lost_is_asked_once_more(self) -> None:
        gateway = Gateway(parents=["left"])
        gateway.left.behaviour = lost
        answer = await gateway.lookups.ask(question())
        assert answer == Answer(Outcome.UNREACHABLE, "It does not respond.", hops=answer.hops)
        assert len(gateway.left.asked) == 2
        gateway.left.up = False
        await gateway.lookups.ask(question())
        assert len(gateway.left.asked) == 3
        assert gateway.counted() == {("left", "unreachable"): 2}

    @skipping
    async def test_no_longer_than_the_question_allows(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = gateway.right.behaviour = None
        began = now()
        answer = await gateway.lookups.ask(question(seconds=0.5))
        assert answer.outcome is Outcome.UNREACHABLE
        assert answer.text == "Gateway 'left' does not respond in time."
        assert 0.48 <= now() - began <= 0.5
        await turns()
        assert (gateway.left.cancelled, gateway.right.cancelled) == (1, 1)
        assert gateway.counted() == {("left", "unreachable"): 1, ("right", "unreachable"): 1}
        assert gateway.lookups.under_way == 0

    def test_of_failures_the_one_that_says_most_counts(self) -> None:
        order = (Outcome.DENIED, Outcome.REJECTED, Outcome.NO_SUCH_MOUNT, Outcome.UNREACHABLE)

        @skipping
        async def test() -> None:
            for better, worse in combinations(order, 2):
                gateway = Gateway()
                gateway.left.behaviour = fails(worse, "worse")
                gateway.right.behaviour = fails(better, "better")
                answer = await gateway.lookups.ask(question())
                assert (answer.outcome, answer.text) == (better, "better")

        test()

    @skipping
    async def test_a_gateway_on_the_way_asks_one_parent_before_the_other(self) -> None:
        gateway = Gateway()
        asked = replace(question(), path=("below",))
        assert (await gateway.lookups.ask(asked, came_from="child")).outcome is Outcome.ANSWERED
        assert gateway.asked == (1, 0)

    @skipping
    async def test_on_the_way_the_other_parent_is_asked_when_the_first_takes_long(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = None
        began = now()
        asked = replace(question(seconds=0.9), path=("below",))
        assert (await gateway.lookups.ask(asked, came_from="child")).outcome is Outcome.ANSWERED
        assert now() - began == pytest.approx(0.3, abs=0.01)

    @skipping
    async def test_on_the_way_a_parent_that_is_down_is_asked_last(self) -> None:
        gateway = Gateway()
        gateway.left.up = False
        asked = replace(question(), path=("below",))
        await gateway.lookups.ask(asked, came_from="child")
        assert gateway.asked == (0, 1)


class TestLies:
    @skipping
    async def test_a_lie_is_counted_and_the_other_parent_believed(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = lambda asked: answer_to(asked, number=0)
        answer = await gateway.lookups.ask(question())
        assert (answer.outcome, answer.number) == (Outcome.ANSWERED, NUMBER)
        assert gateway.counted() == {("left", "lied"): 1, ("right", "answered"): 1}

    @skipping
    async def test_alone_it_is_as_if_the_peer_did_not_respond(self) -> None:
        gateway = Gateway(parents=["left"])
        gateway.left.behaviour = lambda asked: answer_to(asked, mount=CHILD)
        answer = await gateway.lookups.ask(question())
        assert answer.outcome is Outcome.UNREACHABLE
        assert "Gateway 'left' answered for ':ny:shop'" in answer.text
        assert gateway.locations.find(MOUNT) is None


@skipping
async def test_a_loop_of_three_gateways_ends() -> None:
    """Each takes the next gateway for its parent."""
    ring = {name: Gateway(parents=["left"], gateway_id=name) for name in ("a", "b", "c")}
    following = {"a": "b", "b": "c", "c": "a"}
    asked: list[str] = []
    for name, gateway in ring.items():

        async def ask(question: Question, after: str = following[name]) -> Answer:
            asked.append(after)
            return await ring[after].lookups.ask(question, came_from="child")

        gateway.left.ask = ask  # type: ignore[method-assign]
    answer = await ring["a"].lookups.ask(question())
    assert asked == ["b", "c", "a"]
    assert answer.outcome is Outcome.REJECTED
    assert "in a circle: a > b > c > a." in answer.text
    assert [hop.gateway_id for hop in answer.hops] == ["a", "b", "c", "a"]
    assert ring["a"].lookups.under_way == 0


class TestWhoseANumberIs:
    """If two mounts have the same number, the first is believed, until it has another; both are
    named."""

    @skipping
    async def test_a_number_that_another_mount_has(self, caplog: pytest.LogCaptureFixture) -> None:
        gateway = Gateway()
        liar, honest = question(CHILD), question(MOUNT)
        gateway.child.behaviour = lambda asked: answer_to(asked, number=NUMBER)
        gateway.left.behaviour = gateway.right.behaviour = lambda asked: answer_to(asked)
        assert (await gateway.lookups.ask(liar)).outcome is Outcome.ANSWERED
        gateway.counted()
        for _ in range(2):
            answer = await gateway.lookups.ask(honest)
            assert answer.outcome is Outcome.UNREACHABLE
            assert f"':{CHILD}'" in answer.text
            assert f"':{MOUNT}'" in answer.text
        rows = {(family, labels): count for family, labels, count in gateway.counts.take()}
        assert rows["tree_number_conflicts", (str(NUMBER), f":{MOUNT}", f":{CHILD}")] == 4
        assert rows["tree_lookups", ("left", "number_conflict")] == 2
        assert ("tree_lookups", ("left", "lied")) not in rows
        lines = [line for line in caplog.messages if f":{CHILD}" in line and f":{MOUNT}" in line]
        assert len(lines) == len(PARENTS)
        gateway.child.behaviour = lambda asked: answer_to(asked, number=NUMBER + 1)
        assert (await gateway.lookups.ask(liar)).outcome is Outcome.ANSWERED
        assert (await gateway.lookups.ask(honest)).outcome is Outcome.ANSWERED

    @skipping
    async def test_an_answer_that_who_asked_does_not_believe(self) -> None:
        gateway = Gateway()
        gateway.left.behaviour = lambda asked: answer_to(asked)
        await gateway.lookups.ask(question(MOUNT))
        gateway.counted()
        gateway.lookups.disbelieve(MOUNT, "it holds more")
        gateway.lookups.disbelieve("never", "nobody has answered")
        assert gateway.counted() == {("left", "lied"): 1}
