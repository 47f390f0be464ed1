"""gateway.policies.policy_runner: the classes of a configuration, and how they are replaced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gateway.policies import policy_runner
from gateway.policies.instance import PolicyError
from gateway.policies.policy_runner import PolicyRunner, with_class
from gateway.policies.tree import Policies
from gateway.policies.violation import Violation
from tests.policies.classes import OBLIGING, TIMEOUT, Obliging, block, policies, topic
from tests.waiting import eventually

NO_CONFIGS: dict[str, str | None] = {}


@pytest_asyncio.fixture
async def runner() -> AsyncIterator[PolicyRunner]:
    made = PolicyRunner()
    yield made
    Obliging.let_go.set()
    await made.close()


async def take(runner: PolicyRunner, new: Policies) -> None:
    runner.take(await runner.prepare(new, NO_CONFIGS))


async def messages(runner: PolicyRunner, asked: Policies, text: str) -> list[str]:
    """The messages of the classes of the namespace ``org``, outermost first."""
    found = [await runner.why_not(placed, topic(text)) for placed in asked.of("org")]
    return [one.message for one in found if one is not None]


def test_blocks_with_a_class() -> None:
    found = with_class(
        policies(
            everywhere=block(),
            default_namespace=block(),
            namespaces={"org": block(), "org:apache": {"max_topics": 1}, "other": block()},
        )
    )
    assert [placed.source for placed in found] == [
        "policies.everywhere",
        "policies.default_namespace",
        "policies.namespaces.org",
        "policies.namespaces.other",
    ]
    assert list(with_class(policies())) == []


async def test_each_block_has_a_policy_of_its_own(runner: PolicyRunner) -> None:
    both = policies(everywhere=block(), namespaces={"org": block(), "rules": {"max_topics": 1}})
    await take(runner, both)
    assert len(Obliging.made) == 2
    assert await messages(runner, both, "violate a") == ["a", "a"]
    assert [policy.did for policy in Obliging.made] == [["configure", "violate"]] * 2
    (_, rules) = both.of("rules")
    assert await runner.why_not(rules, topic("violate a", "rules")) is None


async def test_failures_are_counted_by_class_and_reason(runner: PolicyRunner) -> None:
    both = policies(everywhere=block(), namespaces={"org": block()})
    await take(runner, both)
    await messages(runner, both, "exit")
    assert runner.take_rows() == [("policy_failures", (OBLIGING, "raised"), 2)]
    assert runner.take_rows() == []


async def test_a_call_under_way_ends_with_the_policy_it_began_with(runner: PolicyRunner) -> None:
    before = policies(everywhere=block(), namespaces={"org": block()})
    after = policies(everywhere=block())
    await take(runner, before)
    old = list(Obliging.made)  # in any order: they start at the same time
    judging = asyncio.create_task(messages(runner, before, "stick"))
    await eventually(lambda: [each for each in old if "stick" in each.did], "the call")
    await take(runner, after)
    (new,) = set(Obliging.made) - set(old)
    assert await messages(runner, after, "violate b") == ["b"]
    assert sorted(each.did for each in old) == [["configure"], ["configure", "stick"]]
    Obliging.let_go.set()
    assert await judging == []
    await eventually(lambda: all(each.did[-1] == "close" for each in old), "the end of the old")
    # It met both of its policies, the second even after the reload.
    assert [each.did for each in old] == [["configure", "stick", "close"]] * 2
    assert new.did == ["configure", "violate"]


async def test_a_block_that_nobody_knows(runner: PolicyRunner) -> None:
    (unknown,) = policies(everywhere=block()).of("org")
    set_where = "(policies: create.topic.policy.class.name, set for every namespace)"
    message = f"The policy of this topic was replaced {set_where}."
    found = await runner.why_not(unknown, topic("fine"))
    assert found == Violation("create.topic.policy", message, "policies.everywhere", "enforce")


async def test_a_call_that_never_ends_is_left_behind(
    runner: PolicyRunner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(policy_runner, "REPLACE_SECONDS", 0.05)
    stuck = policies(everywhere=block())
    await take(runner, stuck)
    judging = asyncio.create_task(messages(runner, stuck, "stick"))
    await eventually(lambda: "stick" in Obliging.made[0].did, "the call")
    await take(runner, policies())
    told = f"policy {OBLIGING} is not closed within 0.05 s"
    await eventually(lambda: told in caplog.messages, "the line")
    Obliging.let_go.set()
    assert await judging == []
    await eventually(lambda: Obliging.made[0].did[-1] == "close", "the late end")


async def test_what_cannot_be_configured_closes_what_can(runner: PolicyRunner) -> None:
    present = policies(everywhere=block())
    await take(runner, present)
    wrong = {"create.topic.policy.class.name": "no.such:Class"}
    with pytest.raises(PolicyError, match=r"^policies\.namespaces\.org\.create\.topic\."):
        await runner.prepare(policies(everywhere=block(), namespaces={"org": wrong}), NO_CONFIGS)
    # The other had its turn before, or has none any more.
    assert [each.did for each in Obliging.made[1:]] in ([], [["configure", "close"]])
    assert await messages(runner, present, "violate still") == ["still"]


async def test_preparing_that_is_given_up(runner: PolicyRunner) -> None:
    preparing = asyncio.create_task(runner.prepare(policies(everywhere=block()), {"stick": ""}))
    await eventually(lambda: Obliging.made and Obliging.made[0].did, "configure()")
    preparing.cancel()
    Obliging.let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await preparing
    assert Obliging.made[0].did == ["configure", "close"]


async def test_discarding(runner: PolicyRunner) -> None:
    await runner.discard(await runner.prepare(policies(everywhere=block()), NO_CONFIGS))
    assert Obliging.made[0].did == ["configure", "close"]


async def test_closing_all(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = PolicyRunner()
    before, after = policies(everywhere=block()), policies(everywhere=block())
    await take(runner, before)
    await take(runner, after)
    await runner.close()
    assert [policy.did for policy in Obliging.made] == [["configure", "close"]] * 2
    monkeypatch.setattr(policy_runner, "STOP_SECONDS", 0.05)
    stuck = policies(everywhere={**block(), TIMEOUT: 10})
    await take(runner, stuck)
    await messages(runner, stuck, "stick")
    await runner.close()  # which does not wait for ever
