"""gateway.commands.topics.create: topics --create."""

from __future__ import annotations

import pytest

from tests.commands.fake_gateway import FakeGateway, drop_after
from tests.commands.running import topics


async def test_a_namespace_with_every_tier() -> None:
    async with FakeGateway() as gateway:
        said = await topics(gateway, "--create", "--namespace", "org:apache:kafka")
        assert (said.status, said.out, said.err) == (0, "Created namespace org:apache:kafka.\n", "")
        assert list(gateway.namespaces) == ["org", "org:apache", "org:apache:kafka"]
        (request,) = gateway.asked("CreateTopics")
        (topic,) = request.topics
        assert (topic.name, topic.num_partitions, topic.configs) == ("org:apache:kafka:", -1, ())


async def test_a_topic_with_all_that_can_be_said_of_it() -> None:
    async with FakeGateway("org") as gateway:
        said = await topics(
            gateway,
            *("--create", "--namespace", "org", "--topic", "orders", "--partitions", "3"),
            *("--replication-factor", "2", "--config", "a=1", "b=x=y", "--config", "c=2"),
        )
        assert (said.status, said.out) == (0, "Created topic org:orders.\n")
        (topic,) = gateway.asked("CreateTopics")[0].topics
        assert (topic.name, topic.num_partitions, topic.replication_factor) == ("org:orders", 3, 2)
        assert {one.name: one.value for one in topic.configs} == {"a": "1", "b": "x=y", "c": "2"}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--topic", "orders"], "orders"),
        (["--topic", "orders", "--namespace", ""], "orders"),
        (["--topic", "org:orders"], "org:orders"),
        (["--topic", ":orders"], ":orders"),
        (["--topic", "orders", "--namespace", ":"], ":orders"),
        (["--namespace", ":team-a"], ":team-a:"),
        (["--topic", "orders", "--namespace", "org:"], "org:orders"),
        (["--namespace", "team-a:"], "team-a:"),
    ],
)
async def test_how_names_may_be_given(words: list[str], name: str) -> None:
    async with FakeGateway("org") as gateway:
        assert (await topics(gateway, "--create", *words)).status == 0
        assert [topic.name for topic in gateway.asked("CreateTopics")[0].topics] == [name]


async def test_configs_of_a_namespace_and_adoption() -> None:
    async with FakeGateway() as gateway:
        gateway.captured = ["org..orders"]
        create = ["--create", "--namespace", "org", "--config", "retention.ms=60000"]
        said = await topics(gateway, *create)
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: namespace 'org' was not created: Namespace 'org' would capture "
            "org..orders; gateway.adopt=true adopts them. [INVALID_TOPIC_EXCEPTION]; "
            "--adopt-existing makes them the namespace's own\n"
        )
        assert (await topics(gateway, *create, "--adopt-existing")).status == 0
        assert gateway.namespaces == {"org": {"retention.ms": "60000"}}


async def test_what_exists_already() -> None:
    async with FakeGateway("org").add("org:orders") as gateway:
        for words, thing in (
            (["--namespace", "org"], "namespace 'org'"),
            (["--namespace", "org", "--topic", "orders"], "topic 'org:orders'"),
        ):
            said = await topics(gateway, "--create", *words)
            assert (said.status, said.out) == (1, "")
            assert said.err.startswith(f"kafka-gateway: {thing} was not created: ")
            assert said.err.endswith(
                "already exists. [TOPIC_ALREADY_EXISTS]; "
                "choose another name, or pass --if-not-exists\n"
            )
            said = await topics(gateway, "--create", *words, "--if-not-exists")
            assert (said.status, said.err) == (0, "")
            assert said.out.endswith("exists already.\n")


async def test_a_missing_namespace_is_told_with_the_next_step() -> None:
    async with FakeGateway() as gateway:
        said = await topics(gateway, "--create", "--topic", "org:apache:orders")
        assert said.status == 1
        assert said.err == (
            "kafka-gateway: topic 'org:apache:orders' was not created: InvalidNamespaceException: "
            "namespace 'org' does not exist. [INVALID_TOPIC_EXCEPTION]; "
            "kafka-gateway topics --create --namespace org:apache\n"
        )


async def test_validate_only() -> None:
    async with FakeGateway("org") as gateway:
        for words in (["--namespace", "team-a"], ["--namespace", "org", "--topic", "orders"]):
            said = await topics(gateway, "--create", *words, "--validate-only")
            assert said.status == 0
            assert said.lines[0].endswith("could be created.")
        assert (set(gateway.namespaces), gateway.topics) == ({"org"}, {})


POLICIES = (
    "partitions.max=12 (policies.everywhere, enforce); "
    "name_pattern=[a-z]+ (policies.namespaces.org, warn); "
    "producer.acks=upgrade (the default)"
)
TABLE = [
    "policy          limit    mode     source",
    "partitions.max  12       enforce  policies.everywhere",
    "name_pattern    [a-z]+   warn     policies.namespaces.org",
    "producer.acks   upgrade           the default",
]
VALIDATE = ("--create", "--validate-only")
REFUSED = (44, "Topic 'org:orders' has 64 partitions, and at most 12 are allowed here.")


async def test_what_would_be_made_and_what_applies() -> None:
    async with FakeGateway("org") as gateway:
        gateway.policies["org"] = POLICIES
        words = ["--topic", "org:orders", "--partitions", "3", "--config", "retention.ms=60000"]
        said = await topics(gateway, *VALIDATE, *words)
        assert (said.status, said.err) == (0, "")
        assert said.lines == [
            "Topic org:orders could be created.",
            "PartitionCount: 3\tReplicationFactor: 1",
            "",
            "config               value  source",
            "min.insync.replicas  2      DYNAMIC_DEFAULT_BROKER_CONFIG",
            "retention.ms         60000  DYNAMIC_TOPIC_CONFIG",
            "",
            *TABLE,
        ]
        assert gateway.topics == {}


async def test_what_applies_is_told_with_a_rejection() -> None:
    async with FakeGateway("org") as gateway:
        gateway.policies["org"] = POLICIES
        gateway.rejections["CreateTopics"] += [REFUSED, REFUSED, REFUSED]
        words = ["--topic", "orders", "--namespace", "org", "--partitions", "64"]
        said = await topics(gateway, *VALIDATE, *words)
        assert (said.status, said.lines) == (1, TABLE)
        told = f"kafka-gateway: topic 'org:orders' was not created: {REFUSED[1]} [POLICY_VIOLATION]"
        assert said.err == f"{told}\n"
        said = await topics(gateway, *VALIDATE, *words, "--json")
        assert (said.status, said.err) == (1, f"{told}\n")
        assert (said.json["error"], said.json["message"]) == ("POLICY_VIOLATION", REFUSED[1])
        assert said.json["policies"][0]["source"] == "policies.everywhere"
        said = await topics(gateway, "--create", *words)
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            f"{told}; see what applies there: "
            "kafka-gateway topics --create --validate-only --topic org:orders\n"
        )


async def test_what_would_be_made_as_json() -> None:
    async with FakeGateway("org") as gateway:
        gateway.policies["org"] = "partitions.max=12 (policies.everywhere, enforce); and 3 more"
        said = await topics(gateway, *VALIDATE, "--json", "--topic", "org:orders")
        assert said.json == {
            "topic": "org:orders",
            "created": True,
            "validate_only": True,
            "error": None,
            "message": None,
            "partitions": 1,
            "replication_factor": 1,
            "configs": [
                {
                    "name": "min.insync.replicas",
                    "value": "2",
                    "source": "DYNAMIC_DEFAULT_BROKER_CONFIG",
                    "sensitive": False,
                    "read_only": False,
                    "synonyms": [],
                }
            ],
            "policies_of": "org",
            "policies": [
                {
                    "rule": "partitions.max",
                    "limit": "12",
                    "mode": "enforce",
                    "source": "policies.everywhere",
                }
            ],
            "more_policies": 3,
        }


async def test_what_exists_already_is_validated_so() -> None:
    async with FakeGateway("org").add("org:orders") as gateway:
        gateway.policies["org"] = POLICIES
        said = await topics(gateway, *VALIDATE, "--topic", "org:orders", "--if-not-exists")
        assert said.status == 0
        assert said.lines == ["Topic org:orders exists already.", "", *TABLE]
        # The request is sent twice, and neither creates the topic.
        gateway.faults["CreateTopics"].append(drop_after)
        said = await topics(gateway, *VALIDATE, "--topic", "org:orders")
        assert (said.status, said.lines) == (1, TABLE)


async def test_what_applies_below_a_namespace_that_does_not_exist_yet() -> None:
    async with FakeGateway("org") as gateway:
        gateway.policies["org"] = POLICIES
        said = await topics(gateway, *VALIDATE, "--namespace", "org:apache:kafka")
        assert said.lines[0] == "Namespace org:apache:kafka could be created."
        assert said.lines[-5:] == ["In and below namespace org:", *TABLE]
        said = await topics(gateway, *VALIDATE, "--namespace", "other")
        assert said.lines[0] == "Namespace other could be created."
        assert "policy" not in said.out


async def test_a_gateway_that_does_not_tell_what_a_topic_would_be() -> None:
    """CreateTopics returns that from version 5 on."""
    gateway = FakeGateway("org")
    gateway.highest["CreateTopics"] = 4
    async with gateway:
        said = await topics(gateway, *VALIDATE, "--topic", "org:orders")
        assert (said.status, said.out) == (0, "Topic org:orders could be created.\n")


async def test_json() -> None:
    async with FakeGateway("org") as gateway:
        words = ["--create", "--namespace", "org", "--json", "--if-not-exists"]
        said = await topics(gateway, *words)
        assert said.json == {"namespace": "org", "created": False, "validate_only": False}
        said = await topics(gateway, *words, "--topic", "orders")
        assert said.json == {"topic": "org:orders", "created": True, "validate_only": False}


async def test_what_was_made_before_the_connection_was_lost_is_made() -> None:
    async with FakeGateway() as gateway:
        gateway.faults["CreateTopics"] += [drop_after]
        said = await topics(gateway, "--create", "--namespace", "org")
        assert (said.status, said.out) == (0, "Created namespace org.\n")
        assert len(gateway.asked("CreateTopics")) == 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--namespace", ""],
        ["--namespace", "org", "--partitions", "3"],
        ["--namespace", "org", "--replication-factor", "3"],
        ["--topic", "t", "--adopt-existing"],
        ["--topic", "org:"],
        ["--topic", "org:t", "--namespace", "org"],
        ["--topic", "t", "--config", "retention.ms"],
        ["--topic", "t", "--config", "=1"],
    ],
)
async def test_what_makes_no_sense(words: list[str]) -> None:
    async with FakeGateway("org") as gateway:
        said = await topics(gateway, "--create", *words)
        assert (said.status, said.out) == (2, "")
        assert said.err.startswith("kafka-gateway: ")
        assert gateway.requests == []
