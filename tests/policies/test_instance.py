"""gateway.policies.instance: a policy class at work, and its errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gateway.policies import instance as instances
from gateway.policies.instance import MAX_MESSAGE, RULE, Failures, PolicyError, PolicyInstance
from gateway.policies.violation import Violation
from tests.policies import classes
from tests.policies.classes import OBLIGING, TIMEOUT, Obliging, Unclosable, placed, topic

SOURCE = "policies.namespaces.org"
SET_WHERE = "(policies: create.topic.policy.class.name, set by namespace 'org')"
QUICKLY = {TIMEOUT: 50}


class Asked:
    """A policy that has started, and its counts."""

    def __init__(self, **more: Any) -> None:
        self.failures = Failures()
        self.instance = PolicyInstance(placed(**more), self.failures)

    async def started(self, **configs: str | None) -> Asked:
        await self.instance.start(configs)
        return self

    async def why_not(self, text: str) -> str | None:
        """The message of its violation."""
        found = await self.instance.why_not(topic(text))
        assert found is None or (found.rule, found.source) == (RULE, SOURCE)
        return None if found is None else found.message


@pytest_asyncio.fixture
async def asked() -> AsyncIterator[Asked]:
    made = await Asked(**QUICKLY).started(**{"broker.id": "1", "ssl.key.password": None})
    yield made
    Obliging.let_go.set()
    await made.instance.close(20)


async def test_a_policy_is_configured_once_and_asked_often(asked: Asked) -> None:
    assert await asked.why_not("fine") is None
    assert await asked.why_not("violate  as is ") == " as is "
    (policy,) = Obliging.made
    assert policy.did == ["configure", "fine", "violate"]
    assert dict(policy.configs) == {"broker.id": "1", "ssl.key.password": None}
    assert asked.failures.take() == {}


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("", "Request parameters do not satisfy the configured policy."),
        ("x" * 3_000, "x" * MAX_MESSAGE),
        ("half \udc80", r"half \udc80"),
        ("\x1b[31mno\r\nAllowed\x00", r"\x1b[31mno\r\nAllowed\x00"),
    ],
)
async def test_messages_that_clients_could_not_be_told(
    asked: Asked, message: str, told: str
) -> None:
    assert await asked.why_not(f"violate {message}") == told


@pytest.mark.parametrize(
    ("does", "logged"),
    [
        ("raise secret", "RuntimeError: secret"),
        ("raise a\x1b[2J\nb", r"RuntimeError: a\x1b[2J\nb"),
        ("unspeakable", "Unspeakable"),
        ("exit", "SystemExit: 3"),
        ("false", "validate() returned bool, and has to return nothing"),
    ],
)
async def test_whatever_else_happens_rejects(
    asked: Asked, caplog: pytest.LogCaptureFixture, does: str, logged: str
) -> None:
    assert await asked.why_not(does) == f"The policy of this topic failed {SET_WHERE}."
    assert caplog.messages == [
        f"policy {OBLIGING}, set by namespace 'org', failed on {does}: {logged}"
    ]
    assert asked.failures.take() == {(OBLIGING, "raised"): 1}
    assert await asked.why_not("fine") is None


async def test_a_violation_without_a_text_rejects(asked: Asked) -> None:
    told = "Request parameters do not satisfy the configured policy."
    assert await asked.why_not("object") == told
    assert await asked.why_not("fine") is None


async def test_one_that_is_too_slow(asked: Asked, caplog: pytest.LogCaptureFixture) -> None:
    told = f"The policy of this topic did not answer within 50 ms {SET_WHERE}."
    answers = await asyncio.gather(asked.why_not("stick"), asked.why_not("behind"))
    assert set(answers) == {told}
    assert asked.failures.take() == {(OBLIGING, "timeout"): 1, (OBLIGING, "busy"): 1}
    assert sorted(caplog.messages) == [
        f"policy {OBLIGING}, set by namespace 'org', does not answer within 50 ms",
        f"policy {OBLIGING}, set by namespace 'org', is busy, and not asked within 50 ms",
    ]
    Obliging.let_go.set()
    assert await asked.why_not("fine") is None
    assert Obliging.made[0].did == ["configure", "stick", "fine"]


async def test_not_every_failure_is_logged(asked: Asked, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(12):
        await asked.why_not("exit")
    assert len(caplog.messages) == 10
    assert asked.failures.take() == {(OBLIGING, "raised"): 12}
    await asked.why_not("exit")
    assert len(caplog.messages) == 11


async def test_what_only_warns() -> None:
    made = await Asked(mode="warn").started()
    found = await made.instance.why_not(topic("violate it"))
    assert found == Violation(RULE, "it", SOURCE, "warn")
    failed = await made.instance.why_not(topic("exit"))
    assert failed is not None
    assert failed.mode == "warn"
    await made.instance.close(20)


async def test_one_that_cannot_be_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    key = f"{SOURCE}.create.topic.policy.class.name"
    with pytest.raises(PolicyError) as rejected:
        await Asked().started(**{"raise": "no such table"})
    told = f"{key}: '{OBLIGING}' cannot be configured: ValueError: no such table"
    assert str(rejected.value) == told
    with pytest.raises(PolicyError) as rejected:
        await Asked(**{"create.topic.policy.class.name": "no.such:Class"}).started()
    told = f"{key}: 'no.such:Class' cannot be loaded: ModuleNotFoundError: No module named 'no'"
    assert str(rejected.value) == told
    monkeypatch.setattr(instances, "START_SECONDS", 0.05)
    slow = Asked()
    with pytest.raises(PolicyError) as rejected:
        await slow.started(stick="")
    assert str(rejected.value) == f"{key}: '{OBLIGING}' is not configured within 0.05 s"
    Obliging.let_go.set()
    await slow.instance.close(20)
    assert Obliging.made[-1].did == ["configure", "close"], "it came too late"


async def test_closing(caplog: pytest.LogCaptureFixture) -> None:
    made = await Asked().started()
    await made.instance.close(20)
    await made.instance.close(20)
    assert Obliging.made[-1].did == ["configure", "close"]
    made = await Asked(cls=Unclosable).started()
    await made.instance.close(20)
    unclosable = classes.name(Unclosable)
    assert caplog.messages == [f"policy {unclosable} failed while it was closed: OSError: no"]
    caplog.clear()
    made = await Asked(**QUICKLY).started()
    await made.why_not("stick")
    caplog.clear()
    await made.instance.close(0.05)
    assert caplog.messages == [f"policy {OBLIGING} is not closed within 0.05 s"]
