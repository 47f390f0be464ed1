"""gateway.commands.policies: whose policies are requested, and the note if they are not
returned."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.commands.admin import Admin
from gateway.commands.namespaces import ROOT, Name
from gateway.commands.policies import (
    Applied,
    applied_text,
    of_namespace,
    of_topic,
    policies_json,
)
from gateway.policies.applied_text import AppliedRule
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import admin_at, topics

VALIDATE = ("--create", "--validate-only")


def row(path: str) -> AppliedRule:
    return AppliedRule("max_topics", "5", "enforce", f"policies.namespaces.{path}")


@asynccontextmanager
async def asking(*namespaces: str) -> AsyncIterator[tuple[FakeGateway, Admin]]:
    """A gateway with a policy in each of these namespaces, and in the default namespace."""
    async with FakeGateway(*namespaces) as gateway:
        for path in (*namespaces, ""):
            gateway.policies[path] = f"max_topics=5 (policies.namespaces.{path}, enforce)"
        async with admin_at(gateway) as admin:
            yield gateway, admin


@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        (Name("org", "orders"), "org"),
        (Name("org:apache", "orders"), "org:apache"),
        (Name("", "orders"), ""),
        (Name("", "org.apache..orders"), "org:apache"),
        (Name("", "none..orders"), ""),
    ],
)
async def test_whose_policies_a_topic_has(name: Name, namespace: str) -> None:
    async with asking("org", "org:apache") as (_, admin):
        assert await of_topic(admin, name) == Applied(namespace, (row(namespace),))


async def test_a_topic_of_a_namespace_that_does_not_exist() -> None:
    async with asking("org") as (_, admin):
        assert await of_topic(admin, Name("org:none", "orders")) == Applied("org:none", None)


async def test_the_root_is_not_asked() -> None:
    """Behind a home no name stands for it."""
    async with asking("org") as (gateway, admin):
        applied = await of_topic(admin, Name(ROOT, "orders"))
        assert (applied.rows, gateway.requests) == (None, [])
        said = await topics(gateway, *VALIDATE, "--topic", ":orders")
        assert said.status == 0
        assert "policies of the root's default namespace are not described" in said.err


@pytest.mark.parametrize(
    ("path", "namespace"),
    [("org", "org"), ("org:apache", "org:apache"), ("org:apache:a:b", "org:apache")],
)
async def test_whose_policies_a_namespace_has(path: str, namespace: str) -> None:
    async with asking("org", "org:apache") as (gateway, admin):
        assert await of_namespace(admin, path) == Applied(namespace, (row(namespace),))
        assert len(gateway.requests) == 1


@pytest.mark.parametrize("path", ["none", ":none", ":none:a"])
async def test_the_default_namespace_is_above_none(path: str) -> None:
    async with asking("org") as (gateway, admin):
        assert await of_namespace(admin, path) == Applied(path, None)
        (request,) = gateway.asked("DescribeConfigs")
        assert ":" not in [one.resource_name for one in request.resources]


async def test_an_older_gateway() -> None:
    async with asking("org") as (gateway, admin):
        gateway.policies.clear()
        assert await of_topic(admin, Name("org", "orders")) == Applied("org", None)


async def test_who_may_not_know() -> None:
    async with asking("org") as (gateway, admin):
        gateway.rejections["DescribeConfigs"].append((29, "Not allowed."))
        applied = await of_topic(admin, Name("org", "orders"))
        assert (applied.rows, applied.why) == (
            None,
            "which policies apply in namespace 'org' was not told: Not allowed."
            " [TOPIC_AUTHORIZATION_FAILED]; ask whoever manages the topic's permissions",
        )


async def test_a_newer_gateway() -> None:
    """A value that cannot be read is shown unchanged."""
    async with asking("org") as (gateway, admin):
        gateway.policies["org"] = "max_topics below 5"
        applied = await of_topic(admin, Name("org", "orders"))
        assert applied.rows is None
        assert applied.why.endswith("the gateway tells so: max_topics below 5")


async def test_why_nobody_says_is_told_once() -> None:
    """A rejection for another reason says enough."""
    async with asking("org") as (gateway, _):
        gateway.rejections["CreateTopics"] += [(17, "No."), (44, "No.")]
        gateway.rejections["DescribeConfigs"] += [(17, "No."), (29, "No.")]
        words = (*VALIDATE, "--topic", "org:orders")
        assert "which policies" not in (await topics(gateway, *words)).err
        assert "which policies" in (await topics(gateway, *words)).err


def test_what_had_no_room() -> None:
    text = applied_text(Applied("org", (row("org"),), 2))
    assert text.splitlines()[1:] == [
        "max_topics  5      enforce  policies.namespaces.org",
        "and 2 more rules",
    ]


def test_nobody_says() -> None:
    assert policies_json(None) is None
    assert policies_json([]) == []
