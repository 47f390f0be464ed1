"""gateway.commands.topics.move: topics --move."""

from __future__ import annotations

import pytest

from gateway.commands import output as progress
from tests.commands.fake_gateway import FakeGateway, drop_after, drop_before
from tests.commands.running import topics

MOVE = ["--move", "--from-namespace", "org", "--to-namespace", "team-a"]


def changes(gateway: FakeGateway) -> list[dict[str, str]]:
    """The configs that each alteration set."""
    requests = gateway.asked("IncrementalAlterConfigs")
    return [
        {one.name: one.value for one in resource.configs}
        for request in requests
        for resource in request.resources
    ]


async def test_one_topic() -> None:
    async with FakeGateway("org", "team-a").add("org:a", "org:b") as gateway:
        said = await topics(gateway, *MOVE, "--topic", "a")
        assert (said.status, said.out, said.err) == (0, "Moved topic org:a to team-a:a.\n", "")
        assert gateway.named() == {"team-a:a", "org:b"}
        assert changes(gateway) == [{"gateway.namespace": "team-a"}]


async def test_a_topic_that_says_its_namespace() -> None:
    async with FakeGateway("org", "team-a").add("org:a") as gateway:
        said = await topics(gateway, "--move", "--topic", "org:a", "--to-namespace", "team-a")
        assert (said.status, said.out) == (0, "Moved topic org:a to team-a:a.\n")


async def test_another_name_and_an_alias() -> None:
    async with FakeGateway("org", "team-a").add("org:a") as gateway:
        until = ["--alias-until", "2030-12-01"]
        said = await topics(gateway, *MOVE, "--topic", "a", "--as", "b", *until)
        assert (said.status, said.out) == (0, "Moved topic org:a to team-a:b.\n")
        (request,) = changes(gateway)
        assert request == {
            "gateway.namespace": "team-a",
            "gateway.topic": "b",
            "gateway.alias.until": "2030-12-01",
        }


@pytest.mark.parametrize("spelling", ["colon", "legal"])
async def test_all_topics_of_a_namespace(spelling: str) -> None:
    gateway = FakeGateway("org:apache", "team-a", spelling=spelling)
    gateway.lists_namespaces = True
    async with gateway.add("org:a", "org:b", "org:apache:c", "d"):
        said = await topics(gateway, *MOVE)
        assert (said.status, said.err) == (0, "")
        assert said.lines == [
            "Moved topic org:a to team-a:a.",
            "Moved topic org:b to team-a:b.",
            "2 topics moved, 0 failed.",
        ]
        assert gateway.named() == {"team-a:a", "team-a:b", "org:apache:c", "d"}


async def test_it_goes_on_after_a_failure_and_tells_all_of_them() -> None:
    async with FakeGateway("org", "team-a") as gateway:
        gateway.add("org:a", "org:b", "org:c", "team-a:a", "team-a:c")
        said = await topics(gateway, *MOVE)
        assert said.status == 1
        assert said.lines == ["Moved topic org:b to team-a:b.", "1 topic moved, 2 failed."]
        assert said.err.splitlines() == [
            f"kafka-gateway: topic 'org:{one}' was not moved to 'team-a:{one}': Topic "
            f"'team-a:{one}' already exists. [TOPIC_ALREADY_EXISTS]; choose another name"
            for one in "ac"
        ]
        said = await topics(gateway, *MOVE, "--json")
        assert said.status == 1
        assert (said.json["moved"], said.json["failed"]) == (0, 2)
        assert said.json["topics"][0] == {
            "from": "org:a",
            "to": "team-a:a",
            "error": {
                "error": "TOPIC_ALREADY_EXISTS",
                "message": "Topic 'team-a:a' already exists.",
            },
        }


async def test_to_and_from_the_default_namespace() -> None:
    async with FakeGateway("org").add("a", "org..b", "org:c") as gateway:
        move = ["--move", "--from-namespace", "", "--to-namespace", "org"]
        said = await topics(gateway, *move)
        assert (said.status, said.err) == (0, "")
        assert gateway.named() == {"org:a", "org:org..b", "org:c"}
        names = [r.resources[0].resource_name for r in gateway.asked("IncrementalAlterConfigs")]
        assert names == ["a", ":org..b"]
        move = ["--move", "--from-namespace", "org", "--to-namespace", "", "--topic", "c"]
        assert (await topics(gateway, *move)).out == "Moved topic org:c to c.\n"


async def test_nothing_to_move() -> None:
    async with FakeGateway("org", "team-a") as gateway:
        said = await topics(gateway, *MOVE)
        assert (said.status, said.out) == (0, "There is no topic in namespace 'org'.\n")
        said = await topics(gateway, *MOVE, "--json")
        assert said.json == {"moved": 0, "failed": 0, "topics": []}


async def test_a_namespace_that_is_not_there() -> None:
    async with FakeGateway("org", "gone").add("org:a") as gateway:
        gateway.deleting["gone"] = 9
        for target, text in (
            ("nowhere", "does not exist; create it first: kafka-gateway topics --create"),
            ("gone", "is being deleted; wait until it is gone"),
        ):
            move = ["--move", "--from-namespace", "org", "--to-namespace", target]
            said = await topics(gateway, *move)
            assert (said.status, said.out) == (1, "")
            assert f"InvalidNamespaceException: namespace '{target}' {text}" in said.err
        assert gateway.named() == {"org:a"}


async def test_validate_only() -> None:
    async with FakeGateway("org", "team-a").add("org:a", "org:b") as gateway:
        said = await topics(gateway, *MOVE, "--validate-only")
        assert said.lines == [
            "Topic org:a could be moved to team-a:a.",
            "Topic org:b could be moved to team-a:b.",
            "2 topics could be moved, 0 failed.",
        ]
        assert gateway.named() == {"org:a", "org:b"}


async def test_a_move_whose_answer_was_lost_is_found_where_it_went() -> None:
    async with FakeGateway("org", "team-a").add("org:a") as gateway:
        gateway.faults["IncrementalAlterConfigs"].append(drop_after)
        said = await topics(gateway, *MOVE, "--topic", "a")
        assert (said.status, said.out) == (0, "Moved topic org:a to team-a:a.\n")
    async with FakeGateway("org", "team-a") as gateway:
        gateway.faults["IncrementalAlterConfigs"].append(drop_before)
        said = await topics(gateway, *MOVE, "--topic", "a")
        assert (said.status, said.out) == (1, "")
        assert "topic 'org:a' was not moved to 'team-a:a': 'org:a' does not exist." in said.err


async def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.05)
    async with FakeGateway("org", "team-a").add("org:a", "org:b") as gateway:
        gateway.rejections["IncrementalAlterConfigs"] += [(7, "Later."), (7, "Later.")]
        said = await topics(gateway, *MOVE)
        assert said.status == 0
        assert "moving topics: 1 of 2, 'org:a' (" in said.err
        assert all(line.endswith(" s so far)") for line in said.err.splitlines())


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--to-namespace", "org"],
        ["--from-namespace", "org"],
        ["--from-namespace", "org", "--to-namespace", "org"],
        ["--from-namespace", "org", "--to-namespace", "team-a", "--as", "b"],
        ["--from-namespace", "org", "--to-namespace", "team-a", "--topic", "x:b"],
        ["--to-namespace", "team-a", "--topic", "b"],
        ["--to-namespace", "org", "--topic", "org:b"],
        ["--namespace", "org", "--to-namespace", "team-a"],
    ],
)
async def test_what_makes_no_sense(words: list[str]) -> None:
    async with FakeGateway("org", "team-a") as gateway:
        said = await topics(gateway, "--move", *words)
        assert (said.status, said.out) == (2, "")
        assert not gateway.asked("IncrementalAlterConfigs")
