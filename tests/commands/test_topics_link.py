"""gateway.commands.topics.link: its requests to a gateway, and its output for the responses."""

from __future__ import annotations

import pytest

from gateway.commands.answers import Config, Described
from gateway.commands.errors import Outcome
from gateway.commands.topics.link import LINKS, Listed, _listed
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import topics


def described(value: str) -> Described:
    return Described(Outcome("team-b:", 0, "", ""), {LINKS: Config(LINKS, value, 5, False, True)})


def test_a_list_of_links_is_read() -> None:
    value = "orders=team-a:orders,gone=team-a:gone(deleted),hidden=,lost=(deleted)"
    found = _listed("team-b", described(value))
    assert [(str(one.link), one.topic, one.dangling) for one in found] == [
        ("team-b:orders", "team-a:orders", False),
        ("team-b:gone", "team-a:gone", True),
        ("team-b:hidden", "", False),
        ("team-b:lost", "", True),
    ]
    assert _listed("", described("")) == []
    assert isinstance(found[0], Listed)


@pytest.mark.parametrize(
    "words",
    [
        ["--link", "--topic", "team-a:orders"],
        ["--link", "--to-namespace", "team-b"],
        ["--unlink"],
        ["--links", "--topic", "x"],
    ],
)
async def test_what_is_missing_is_said(words: list[str]) -> None:
    async with FakeGateway("team-a", "team-b") as gateway:
        said = await topics(gateway, *words)
        assert (said.status, said.out) == (2, "")
        assert gateway.requests == []


async def test_a_link_is_one_append_and_its_removal_deletes_no_topic() -> None:
    async with FakeGateway("team-a", "team-b") as gateway:
        await topics(gateway, "--link", "--topic", "team-a:orders", "--to-namespace", "team-b")
        await topics(gateway, "--link", "--topic", "orders", "--to-namespace", "", "--as", "new")
        await topics(gateway, "--unlink", "--topic", "team-b:orders")
        asked = [
            (resource.resource_name, config.name, int(config.config_operation), config.value)
            for request in gateway.asked("IncrementalAlterConfigs")
            for resource in request.resources
            for config in resource.configs
        ]
        assert asked == [
            ("team-a:orders", "gateway.link", 2, "team-b:orders"),
            ("orders", "gateway.link", 2, ":new"),
            ("team-b:orders", "gateway.link.to", 1, None),
        ]
        assert gateway.asked("DeleteTopics") == []
