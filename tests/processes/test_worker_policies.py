"""gateway.processes.worker_policies: from a worker's start over a reload to its end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from gateway.cluster.link import ClusterUnreachable
from gateway.config.policies import PolicySettings
from gateway.policies.instance import PolicyError
from gateway.processes.worker_policies import ClusterPolicies
from tests.policies import classes
from tests.policies.classes import OBLIGING, Obliging, block, topic
from tests.processes.told_configs import ToldConfigs
from tests.waiting import eventually


def settings(**blocks: object) -> PolicySettings:
    return PolicySettings.model_validate(blocks)


BEFORE = settings(everywhere=block())
AFTER = settings(everywhere=block(partitions={"max": 3}), namespaces={"org": block()})
RULES = settings(everywhere={"partitions": {"max": 3}})


@pytest.fixture(autouse=True)
def no_policies_left() -> Iterator[None]:
    classes.forget()
    yield
    classes.forget()


class Bench:
    """A worker's policies, and how often they changed."""

    def __init__(self, first: PolicySettings = BEFORE) -> None:
        self.told = ToldConfigs({"num.partitions": ("3", False)})
        self.policies = ClusterPolicies(first, self.told, self.told.cluster)
        self.changes = 0
        self.policies.changed = self._changed

    def _changed(self) -> None:
        self.changes += 1

    async def why_not(self, text: str) -> str | None:
        found = await self.policies.judge.why_not(topic(text))
        return None if found is None else found.message


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    await made.policies.start()
    yield made
    await made.policies.stop()


def did() -> list[list[str]]:
    return [policy.did for policy in Obliging.made]


async def test_from_start_to_stop() -> None:
    bench = Bench()
    await bench.policies.start()
    assert Obliging.made[0].configs == {"num.partitions": "3"}
    assert await bench.why_not("fine") is None
    assert await bench.why_not("violate it") == "it"
    await bench.policies.stop()
    assert did() == [["configure", "fine", "violate", "close"]]


async def test_without_classes_no_broker_is_asked() -> None:
    bench = Bench(RULES)
    await bench.policies.start()
    assert bench.told.asked == 0
    assert bench.policies.judge.applies("org")
    await bench.policies.stop()


async def test_a_reload(bench: Bench) -> None:
    await bench.policies.prepare(AFTER)
    assert await bench.why_not("violate old") == "old", "nothing has changed so far"
    assert bench.changes == 0
    bench.policies.commit()
    assert bench.changes == 1
    assert bench.policies.policies.settings is AFTER
    assert await bench.why_not("violate new") == "new new"
    await eventually(lambda: did()[0][-1] == "close", "the end of the old one")
    bench.policies.commit()
    assert bench.changes == 1, "nothing was prepared"


async def test_a_reload_that_is_given_up(bench: Bench) -> None:
    await bench.policies.prepare(AFTER)
    await bench.policies.abort()
    assert did()[1:] == [["configure", "close"]] * 2
    bench.policies.commit()
    assert bench.policies.policies.settings is BEFORE
    await bench.policies.prepare(AFTER)
    await bench.policies.prepare(AFTER)
    assert [policy[-1] for policy in did()[3:]] == ["close", "close", "configure", "configure"]


@pytest.mark.parametrize("error", [ClusterUnreachable("main", "refused"), PolicyError("no")])
async def test_a_reload_that_fails(bench: Bench, error: Exception) -> None:
    bench.told.error = error
    with pytest.raises(type(error)):
        await bench.policies.prepare(AFTER)
    bench.policies.commit()
    assert await bench.why_not("violate old") == "old"


async def test_a_start_that_fails() -> None:
    wrong = settings(everywhere={"create.topic.policy.class.name": "no.such:Class"})
    with pytest.raises(PolicyError, match=r"^policies\.everywhere\.create\.topic\.policy\."):
        await Bench(wrong).policies.start()


async def test_what_is_counted(bench: Bench) -> None:
    await bench.why_not("exit")
    assert sorted(bench.policies.take_rows()) == [
        ("policy_failures", (OBLIGING, "raised"), 1),
        ("policy_violations", ("org", "create.topic.policy", "enforce"), 1),
    ]
    assert bench.policies.take_rows() == []
