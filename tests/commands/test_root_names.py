"""A leading colon of a name, which leads from a home to the root, reaches the gateway."""

from __future__ import annotations

import pytest

from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import Said, configs, topics


def names(gateway: FakeGateway) -> set[str]:
    """The names in the last request of each API."""
    found = {r.resource_name for e in gateway.asked("IncrementalAlterConfigs") for r in e.resources}
    for api in ("Metadata", "DeleteTopics"):
        found |= {one.name for entity in gateway.asked(api)[-1:] for one in entity.topics or ()}
    return found


async def run(gateway: FakeGateway, *words: str) -> Said:
    return await (configs if words[0] == "--alter" else topics)(gateway, *words)


@pytest.mark.parametrize("name", [":a", ":x:a"])
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--delete"], "Deleted topic {}.\n"),
        (["--describe"], "Topic: {}\t"),
        (["--adopt", "--to-namespace", "team"], "Adopted topic {} to team:a.\n"),
        (["--move", "--to-namespace", ":team"], "Moved topic {} to :team:a.\n"),
        (["--alter", "--add-config", "b=1"], "Completed updating config for topic {}.\n"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
async def test_it_is_kept(name: str, words: list[str], told: str) -> None:
    async with FakeGateway("x", "team", ":team").add("a", "x:a") as gateway:
        said = await run(gateway, *words, "--topic", name)
        assert (said.status, said.err) == (0, "")
        assert said.out.startswith(told.format(name))
        assert name in names(gateway)


async def test_to_the_root() -> None:
    async with FakeGateway("x", ":").add("x:a") as gateway:
        said = await topics(gateway, "--move", "--topic", "x:a", "--to-namespace", ":")
        assert (said.status, said.out) == (0, "Moved topic x:a to :a.\n")
        (request,) = gateway.asked("IncrementalAlterConfigs")
        (config,) = request.resources[0].configs
        assert (config.name, config.value) == ("gateway.namespace", ":")


@pytest.mark.parametrize(
    "words",
    [
        ["--create", "--namespace", ":"],
        ["--delete", "--namespace", ":"],
        ["--describe", "--namespace", ":"],
        ["--move", "--from-namespace", ":", "--to-namespace", "x"],
        ["--adopt", "--topic", "a", "--to-namespace", ":"],
        ["--release", "--topic", ":a"],
        ["--alter", "--namespace", ":", "--add-config", "b=1"],
    ],
)
async def test_the_root_itself_is_no_namespace(words: list[str]) -> None:
    async with FakeGateway("x") as gateway:
        said = await run(gateway, *words)
        assert (said.status, said.out) == (2, "")
        assert not gateway.requests
