"""gateway.commands.namespaces: the namespaces that exist, and their contents."""

from __future__ import annotations

import pytest

from gateway.commands import admin as admin_module
from gateway.commands.errors import CommandError
from gateway.commands.namespaces import (
    describe_namespaces,
    existing_namespaces,
    namespaces_below,
    require_namespace,
    topics_by_namespace,
)
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import admin_at


async def test_below() -> None:
    """One request for each level, whatever the number of namespaces on it."""
    gateway = FakeGateway("org:apache:kafka", "org:spark", "team-a")
    async with gateway, admin_at(gateway) as admin:
        below = await namespaces_below(admin, "org")
        assert list(below.items()) == [
            ("org:apache", False),
            ("org:apache:kafka", False),
            ("org:spark", False),
        ]
        assert len(gateway.asked("DescribeConfigs")) == 3
        assert list(await namespaces_below(admin, "")) == ["org", *below, "team-a"]
        assert await namespaces_below(admin, "team-a") == {}
        with pytest.raises(CommandError, match="namespace 'no' does not exist; see what does"):
            await namespaces_below(admin, "no")


async def test_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_module, "BATCH", 3)
    names = [f"n{number}" for number in range(10)]
    gateway = FakeGateway(*names)
    async with gateway, admin_at(gateway) as admin:
        assert list(await namespaces_below(admin, "")) == names
        assert len(gateway.asked("DescribeConfigs")) == 5


async def test_one_that_goes_while_they_are_listed() -> None:
    gateway = FakeGateway("org:apache", "org:spark")
    async with gateway, admin_at(gateway) as admin:
        gateway.deleting["org:spark"] = 0  # seen once, as a name of its parent, and gone
        assert list(await namespaces_below(admin, "org")) == ["org:apache"]


async def test_what_a_namespace_says() -> None:
    async with FakeGateway("org").add("org:a", "org:b") as gateway, admin_at(gateway) as admin:
        found = await describe_namespaces(admin, ["org", "no"])
        assert list(found) == ["org"]
        assert found["org"].value("gateway.topics") == "2"
        assert await describe_namespaces(admin, []) == {}


async def test_requiring_one() -> None:
    gateway = FakeGateway("org", "gone")
    gateway.deleting["gone"] = 99
    async with gateway, admin_at(gateway) as admin:
        await require_namespace(admin, "")
        await require_namespace(admin, "org")
        for path, text in (("no", "does not exist; create it first"), ("gone", "is being del")):
            with pytest.raises(CommandError) as caught:
                await require_namespace(admin, path)
            assert f"InvalidNamespaceException: namespace '{path}' {text}" in str(caught.value)


async def test_topics_by_namespace() -> None:
    for spelling in ("colon", "legal"):
        gateway = FakeGateway("org:apache", spelling=spelling)
        gateway.lists_namespaces = True
        gateway.add("b", "a", "org:z", "org:apache:y", "none..x")
        async with gateway, admin_at(gateway) as admin:
            found = await topics_by_namespace(admin)
            assert {path: list(topics) for path, topics in found.items()} == {
                "": ["a", "b", "none..x"],
                "org": ["z"],
                "org:apache": ["y"],
            }
            assert await existing_namespaces(admin, ["org..x", "none..y", "a"]) == {"org"}
