"""gateway.commands.topics.adopt: topics --adopt and --release."""

from __future__ import annotations

import io
import sys

import pytest

from tests.commands.fake_gateway import FakeGateway, drop_after
from tests.commands.running import topics

BY_PREFIX = ["--adopt", "--prefix", "team-a.", "--to-namespace", "team-a"]


async def test_one_topic() -> None:
    async with FakeGateway("team-a").add("team-a.orders") as gateway:
        adopt = ["--adopt", "--topic", "team-a.orders", "--to-namespace", "team-a"]
        said = await topics(gateway, *adopt, "--as", "orders", "--alias-until", "2030-12-01")
        assert (said.status, said.err) == (0, "")
        assert said.out == "Adopted topic team-a.orders to team-a:orders.\n"
        assert gateway.named() == {"team-a:orders"}
        assert list(gateway.aliases.values()) == ["2030-12-01"]


async def test_without_as_the_name_stays() -> None:
    async with FakeGateway("team-a").add("orders") as gateway:
        said = await topics(gateway, "--adopt", "--topic", "orders", "--to-namespace", "team-a")
        assert said.out == "Adopted topic orders to team-a:orders.\n"


async def test_by_prefix_shows_the_plan_first() -> None:
    async with FakeGateway("team-a").add("team-a.a", "team-a.b.c", "team-b.d") as gateway:
        plan = ["topic       becomes", "team-a.a    team-a:a", "team-a.b.c  team-a:b.c"]
        said = await topics(gateway, *BY_PREFIX, "--dry-run")
        assert (said.status, said.lines, said.err) == (0, plan, "")
        assert gateway.named() == {"team-a.a", "team-a.b.c", "team-b.d"}
        said = await topics(gateway, *BY_PREFIX, "--dry-run", "--json")
        assert said.json["plan"][0] == {"from": "team-a.a", "to": "team-a:a"}
        said = await topics(gateway, *BY_PREFIX, "--yes")
        assert (said.status, said.err) == (0, "")
        assert said.lines == [
            *plan,
            "Adopted topic team-a.a to team-a:a.",
            "Adopted topic team-a.b.c to team-a:b.c.",
            "2 topics adopted, 0 failed.",
        ]
        assert gateway.named() == {"team-a:a", "team-a:b.c", "team-b.d"}


class Terminal(io.StringIO):
    """A terminal where this text was typed."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "agreed"), [("y\n", True), ("n\n", False), ("", False)])
async def test_a_terminal_is_asked(
    typed: str, agreed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    async with FakeGateway("team-a").add("team-a.a") as gateway:
        said = await topics(gateway, *BY_PREFIX)
        assert said.err.startswith("Adopt 1 topic? [y/N] ")
        assert said.status == (0 if agreed else 1)
        assert gateway.named() == {"team-a:a" if agreed else "team-a.a"}
        assert agreed or said.err.endswith("kafka-gateway: nothing was adopted\n")


async def test_without_a_terminal_nothing_is_done_unasked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    async with FakeGateway("team-a").add("team-a.a") as gateway:
        said = await topics(gateway, *BY_PREFIX)
        assert said.status == 1
        assert said.err == (
            "kafka-gateway: nothing was adopted: there is no terminal to ask at; pass --yes, or "
            "--dry-run\n"
        )
        assert gateway.named() == {"team-a.a"}


async def test_where_a_name_is_taken_nothing_is_done() -> None:
    async with FakeGateway("team-a").add("team-a.a", "team-a.b", "team-a:b") as gateway:
        said = await topics(gateway, *BY_PREFIX, "--yes")
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: nothing was adopted: 'team-a:b' exists already; adopt those topics "
            "one by one under other names first: --topic TOPIC --as NAME\n"
        )
        assert gateway.named() == {"team-a.a", "team-a.b", "team-a:b"}


async def test_a_prefix_that_leaves_no_name() -> None:
    async with FakeGateway("team-a").add("team-a.", "team-a.b") as gateway:
        said = await topics(gateway, *BY_PREFIX, "--yes")
        assert said.status == 1
        assert "of topic 'team-a.' prefix 'team-a.' leaves no name; adopt it first" in said.err


async def test_no_topic_has_the_prefix() -> None:
    async with FakeGateway("team-a").add("orders") as gateway:
        said = await topics(gateway, *BY_PREFIX)
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: nothing was adopted: no topic of the default namespace begins with "
            "'team-a.'; see what there is: kafka-gateway topics --list\n"
        )


async def test_the_namespace_must_be_there() -> None:
    async with FakeGateway().add("team-a.a") as gateway:
        said = await topics(gateway, *BY_PREFIX, "--yes")
        assert said.status == 1
        assert "InvalidNamespaceException: namespace 'team-a' does not exist" in said.err


async def test_a_failure_on_the_way() -> None:
    async with FakeGateway("team-a").add("team-a.a", "team-a.b") as gateway:
        gateway.rejections["IncrementalAlterConfigs"].append((36, "Taken."))
        said = await topics(gateway, *BY_PREFIX, "--yes", "--json")
        assert said.status == 1
        assert (said.json["adopted"], said.json["failed"]) == (1, 1)
        assert "topic 'team-a.a' was not adopted to 'team-a:a': Taken." in said.err


@pytest.mark.parametrize("words", [["--topic", "org:a"], ["--topic", "a", "--namespace", "org"]])
async def test_release(words: list[str]) -> None:
    async with FakeGateway("org").add("org:a") as gateway:
        said = await topics(gateway, "--release", "--validate-only", *words)
        assert (said.status, said.out) == (0, "Topic org:a could be released.\n")
        said = await topics(gateway, "--release", *words)
        assert (said.status, said.err) == (0, "")
        assert said.out == (
            "Released topic org:a: it has its plain name in the default namespace again.\n"
        )
        request = gateway.asked("IncrementalAlterConfigs")[-1]
        (config,) = request.resources[0].configs
        assert (config.name, config.config_operation, config.value) == (
            "gateway.release",
            0,
            "true",
        )


async def test_release_as_json_and_rejected() -> None:
    async with FakeGateway("org").add("org:a") as gateway:
        gateway.rejections["IncrementalAlterConfigs"].append((42, "Its plain name is taken."))
        said = await topics(gateway, "--release", "--topic", "org:a")
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: topic 'org:a' was not released: Its plain name is taken. "
            "[INVALID_REQUEST]\n"
        )
        said = await topics(gateway, "--release", "--topic", "org:a", "--json")
        assert said.json == {"topic": "org:a", "released": True, "validate_only": False}


async def test_a_release_whose_answer_was_lost() -> None:
    async with FakeGateway("org").add("org:a") as gateway:
        gateway.faults["IncrementalAlterConfigs"].append(drop_after)
        said = await topics(gateway, "--release", "--topic", "org:a")
        assert (said.status, said.err) == (0, "")
        said = await topics(gateway, "--release", "--topic", "org:a")
        assert said.status == 1
        assert "topic 'org:a' was not released: Topic 'org:a' does not exist." in said.err


@pytest.mark.parametrize(
    "words",
    [
        ["--adopt", "--topic", "a"],
        ["--adopt", "--to-namespace", "org"],
        ["--adopt", "--to-namespace", "", "--topic", "a"],
        ["--adopt", "--to-namespace", "org", "--topic", "a", "--prefix", "b"],
        ["--adopt", "--to-namespace", "org", "--topic", "a", "--dry-run"],
        ["--adopt", "--to-namespace", "org", "--topic", "a", "--yes"],
        ["--adopt", "--to-namespace", "org", "--prefix", "a", "--as", "b"],
        ["--adopt", "--to-namespace", "org", "--prefix", "a", "--if-exists"],
        ["--release"],
        ["--release", "--topic", "a"],
    ],
)
async def test_what_makes_no_sense(words: list[str]) -> None:
    async with FakeGateway("org") as gateway:
        said = await topics(gateway, *words)
        assert (said.status, said.out) == (2, "")
        assert gateway.requests == []
