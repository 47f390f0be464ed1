"""gateway.commands.configs: the subcommand configs."""

from __future__ import annotations

import pytest

from gateway.commands.configs import parse_configs
from gateway.commands.errors import UsageError
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import configs

OWN = "DYNAMIC_TOPIC_CONFIG"
ABOVE = "DYNAMIC_DEFAULT_BROKER_CONFIG"


async def test_describe_a_namespace() -> None:
    async with FakeGateway("org:apache") as gateway:
        gateway.namespaces["org"]["segment.ms"] = "3"
        gateway.namespaces["org:apache"]["retention.ms"] = "2"
        said = await configs(gateway, "--describe", "--namespace", "org:apache")
        assert (said.status, said.err) == (0, "")
        assert said.out == (
            "Configs for namespace org:apache are:\n"
            f"  retention.ms=2 sensitive=false source={OWN} synonyms={{{OWN}:retention.ms=2}}\n"
            f"  segment.ms=3 sensitive=false source={ABOVE} synonyms={{{ABOVE}:segment.ms=3}}\n"
        )


async def test_describe_all_of_a_topic() -> None:
    async with FakeGateway("org").add("org:orders", retention_ms="5") as gateway:
        topic = ["--describe", "--namespace", "org", "--topic", "orders"]
        said = await configs(gateway, *topic)
        assert [line.split()[0] for line in said.lines[1:]] == ["retention.ms=5"]
        said = await configs(gateway, *topic, "--all")
        assert said.lines[0] == "All configs for topic org:orders are:"
        assert "  gateway.namespace=org sensitive=false source=DEFAULT_CONFIG " in said.out
        assert said.lines[1] == (
            "  cleanup.policy=delete sensitive=false source=DEFAULT_CONFIG "
            "synonyms={DEFAULT_CONFIG:cleanup.policy=delete}"
        )
        said = await configs(gateway, *topic, "--json")
        assert said.json == {
            "topic": "org:orders",
            "configs": [
                {
                    "name": name,
                    "value": value,
                    "source": OWN,
                    "sensitive": False,
                    "read_only": False,
                    "synonyms": [{"name": name, "value": value, "source": OWN}],
                }
                for name, value in (("retention.ms", "5"),)
            ],
        }


async def test_what_tells_of_a_namespace_is_shown_with_all_only() -> None:
    async with FakeGateway("org:apache").add("org:a") as gateway:
        said = await configs(gateway, "--describe", "--namespace", "org")
        assert said.lines == ["Configs for namespace org are:"]
        said = await configs(gateway, "--describe", "--all", "--namespace", "org")
        assert "  gateway.topics=1 " in said.out
        assert "  gateway.namespaces=org:apache " in said.out


async def test_alter() -> None:
    async with FakeGateway("org").add("org:orders", segment_ms="1") as gateway:
        add = ["--alter", "--add-config", "retention.ms=60000,cleanup.policy=[compact,delete]"]
        said = await configs(gateway, *add, "--namespace", "org")
        assert (said.status, said.err) == (0, "")
        assert said.out == "Completed updating config for namespace org.\n"
        expected = {"retention.ms": "60000", "cleanup.policy": "compact,delete"}
        assert gateway.namespaces["org"] == expected
        change = ["--alter", "--add-config", "a=1", "--delete-config", "segment.ms"]
        said = await configs(gateway, *change, "--topic", "org:orders", "--json")
        assert said.json == {"topic": "org:orders", "altered": True, "validate_only": False}
        (topic,) = gateway.topics.values()
        assert topic.configs == {"a": "1"}


async def test_validate_only() -> None:
    async with FakeGateway("org") as gateway:
        change = ["--alter", "--namespace", "org", "--add-config", "a=1", "--validate-only"]
        said = await configs(gateway, *change)
        assert (said.status, said.out) == (0, "Configs of namespace org could be updated.\n")
        assert gateway.namespaces == {"org": {}}


async def test_rejections() -> None:
    async with FakeGateway("org") as gateway:
        add = ["--alter", "--namespace", "org", "--add-config", "retention.ms=soon"]
        said = await configs(gateway, *add)
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: namespace 'org' was not altered: Invalid value soon for configuration "
            "retention.ms. [INVALID_CONFIG]\n"
        )
        for what, words in (
            ("topic 'org:orders'", ["--topic", "org:orders"]),
            ("namespace 'no'", ["--namespace", "no"]),
        ):
            said = await configs(gateway, "--describe", *words)
            assert (said.status, said.out) == (1, "")
            assert said.err.startswith(f"kafka-gateway: {what} was not described: ")
            assert "[UNKNOWN_TOPIC_OR_PARTITION]; see what there is: kafka-gateway" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ["--describe"],
        ["--describe", "--namespace", ""],
        ["--describe", "--namespace", "org", "--add-config", "a=1"],
        ["--describe", "--namespace", "org", "--delete-config", "a"],
        ["--describe", "--namespace", "org", "--validate-only"],
        ["--alter", "--namespace", "org"],
        ["--alter", "--namespace", "org", "--all", "--add-config", "a=1"],
        ["--alter", "--namespace", "org", "--add-config", "a=1", "--delete-config", "a"],
        ["--alter", "--namespace", "org", "--add-config", "a"],
        ["--alter", "--describe", "--namespace", "org"],
        ["--namespace", "org"],
    ],
)
async def test_what_makes_no_sense(words: list[str]) -> None:
    async with FakeGateway("org") as gateway:
        said = await configs(gateway, *words)
        assert (said.status, said.out) == (2, "")
        assert gateway.requests == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("a=1", {"a": "1"}),
        (" a = 1 , b=2,", {"a": "1", "b": "2"}),
        ("a=[1,2],b=x=y", {"a": "1,2", "b": "x=y"}),
        ("a=[1,2] , b=3", {"a": "1,2", "b": "3"}),
        ("a=,b=[]", {"a": "", "b": ""}),
    ],
)
def test_lists_of_configs(text: str, found: dict[str, str]) -> None:
    assert parse_configs(text) == found


@pytest.mark.parametrize("text", ["a", "=1", "a=1,b", "a=[1,2", "a=[1]2,b=3", "a=1,a=2"])
def test_what_is_no_list_of_configs(text: str) -> None:
    with pytest.raises(UsageError):
        parse_configs(text)


@pytest.mark.parametrize("what", [["--namespace", "org"], ["--topic", "org:orders"]])
async def test_a_config_that_is_not_set_is_not_deleted(what: list[str]) -> None:
    async with FakeGateway("org").add("org:orders", segment_ms="1") as gateway:
        gateway.namespaces["org"] = {"segment.ms": "2"}
        delete = ["--alter", *what, "--delete-config", "segment.ms,nope,retention.ms"]
        said = await configs(gateway, *delete)
        assert (said.status, said.out) == (1, "")
        kind, name = what[0].removeprefix("--"), what[1]
        assert said.err == (
            f"kafka-gateway: {kind} '{name}' was not altered: Invalid config(s): "
            f"nope,retention.ms, not set on the {kind} itself; see what is: "
            f"kafka-gateway configs --describe --{kind} {name}\n"
        )
        assert not gateway.asked("IncrementalAlterConfigs")


async def test_what_does_not_exist() -> None:
    async with FakeGateway("org") as gateway:
        gateway.rejections["DescribeConfigs"].append((3, ""))
        said = await configs(gateway, "--describe", "--topic", "nope")
        assert said.err == (
            "kafka-gateway: topic 'nope' was not described: it does not exist "
            "[UNKNOWN_TOPIC_OR_PARTITION]; see what there is: kafka-gateway topics --list "
            '--namespace "" --recursive\n'
        )
        delete = ["--alter", "--topic", "nope", "--delete-config", "a"]
        said = await configs(gateway, *delete)
        assert (said.status, said.out) == (1, "")
        assert said.err.startswith("kafka-gateway: topic 'nope' was not altered: 'nope' does not")


async def test_an_unknown_key() -> None:
    async with FakeGateway("org") as gateway:
        gateway.rejections["IncrementalAlterConfigs"].append((40, "Unknown topic config name: a"))
        said = await configs(gateway, "--alter", "--namespace", "org", "--add-config", "a=1")
        assert said.err == (
            "kafka-gateway: namespace 'org' was not altered: Unknown topic config name: a "
            "[INVALID_CONFIG]; see what keys there are: "
            "kafka-gateway configs --describe --all --namespace org\n"
        )
