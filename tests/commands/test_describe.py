"""gateway.commands.topics.describe: topics --describe."""

from __future__ import annotations

from uuid import UUID

from gateway.commands.topics.describe import id_text
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import topics

ID = "AAAAAAAAAAAAAAAAAAAAAQ"


async def test_a_topic_as_kafka_topics_describes_it() -> None:
    async with FakeGateway("org") as gateway:
        gateway.namespaces["org"]["cleanup.policy"] = "compact"
        gateway.add("org:orders", partitions=2, retention_ms="60000")
        said = await topics(gateway, "--describe", "--namespace", "org", "--topic", "orders")
        assert (said.status, said.err) == (0, "")
        assert said.out == (
            f"Topic: org:orders\tTopicId: {ID}\tPartitionCount: 2\tReplicationFactor: 2\t"
            "Configs: cleanup.policy=compact,retention.ms=60000\n"
            "\tTopic: org:orders\tPartition: 0\tLeader: none\tReplicas: 1,2\tIsr: 1\n"
            "\tTopic: org:orders\tPartition: 1\tLeader: 1\tReplicas: 1,2\tIsr: 1\n"
        )


async def test_a_topic_as_json() -> None:
    async with FakeGateway("org").add("org:orders", retention_ms="60000") as gateway:
        said = await topics(gateway, "--describe", "--topic", "org:orders", "--json")
        (topic,) = said.json["topics"]
        configs = topic.pop("configs")
        assert topic == {
            "name": "org:orders",
            "namespace": "org",
            "topic": "orders",
            "topic_id": ID,
            "partitions": [{"partition": 0, "leader": None, "replicas": [1, 2], "isr": [1]}],
        }
        assert [(one["name"], one["value"], one["source"]) for one in configs] == [
            ("retention.ms", "60000", "DYNAMIC_TOPIC_CONFIG"),
        ]


async def test_every_topic_of_the_default_namespace() -> None:
    for spelling in ("colon", "legal"):
        async with FakeGateway("org", spelling=spelling) as gateway:
            gateway.add("b", "a", "org:orders")
            said = await topics(gateway, "--describe")
            found = [line.split("\t")[0] for line in said.lines if line.startswith("Topic")]
            assert found == ["Topic: a", "Topic: b"]


async def test_a_topic_that_only_looks_like_a_namespace_s_is_asked_for_with_a_colon() -> None:
    async with FakeGateway("org").add("org..orders", retention_ms="5") as gateway:
        said = await topics(gateway, "--describe")
        assert "Configs: retention.ms=5" in said.lines[0]


async def test_a_namespace() -> None:
    async with FakeGateway("org:apache:kafka", "org:spark") as gateway:
        gateway.namespaces["org"] |= {"retention.ms": "1", "segment.ms": "3"}
        gateway.namespaces["org:apache"] |= {"retention.ms": "2"}
        gateway.add("org:apache:a", "org:apache:b", "org:c")
        said = await topics(gateway, "--describe", "--namespace", "org:apache")
        assert (said.status, said.err) == (0, "")
        own = "DYNAMIC_TOPIC_CONFIG"
        above = "DYNAMIC_DEFAULT_BROKER_CONFIG"
        assert said.out == (
            "Namespace: org:apache\tTopics: 2\tNamespaces: org:apache:kafka\n"
            f"  retention.ms=2 sensitive=false source={own} synonyms={{{own}:retention.ms=2}}\n"
            f"  segment.ms=3 sensitive=false source={above} synonyms={{{above}:segment.ms=3}}\n"
        )
        said = await topics(gateway, "--describe", "--namespace", "org:apache", "--json")
        assert said.json["namespaces"] == ["org:apache:kafka"]
        assert (said.json["topics"], said.json["deleting"]) == (2, False)
        assert [one["name"] for one in said.json["configs"]] == ["retention.ms", "segment.ms"]


async def test_a_namespace_that_is_being_deleted() -> None:
    async with FakeGateway("org") as gateway:
        gateway.deleting["org"] = 9
        said = await topics(gateway, "--describe", "--namespace", "org")
        assert said.out == "Namespace: org\tTopics: 0\tNamespaces: \tMarked for deletion\n"


async def test_what_does_not_exist() -> None:
    async with FakeGateway("org") as gateway:
        said = await topics(gateway, "--describe", "--topic", "org:orders")
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: topic 'org:orders' does not exist; see what does: "
            "kafka-gateway topics --list --namespace org\n"
        )
        said = await topics(gateway, "--describe", "--topic", "no:orders")
        assert said.err == (
            "kafka-gateway: InvalidNamespaceException: namespace 'no' does not exist; "
            "create it first: kafka-gateway topics --create --namespace no\n"
        )
        said = await topics(gateway, "--describe", "--namespace", "no")
        assert said.err.startswith("kafka-gateway: namespace 'no' does not exist; see what does: ")
        for words in (["--topic", "org:orders"], ["--namespace", "no"]):
            said = await topics(gateway, "--describe", "--if-exists", *words)
            assert (said.status, said.out, said.err) == (0, "", "")
        said = await topics(gateway, "--describe", "--if-exists", "--json", "--namespace", "no")
        assert (said.status, said.json) == (0, {"namespace": "no", "state": "absent"})


async def test_a_rejection_is_told() -> None:
    async with FakeGateway("org").add("org:orders") as gateway:
        gateway.rejections["Metadata"].append((29, ""))
        said = await topics(gateway, "--describe", "--topic", "org:orders")
        assert said.err == (
            "kafka-gateway: topic 'org:orders' was not described: the gateway gives no reason "
            "[TOPIC_AUTHORIZATION_FAILED]; ask whoever manages the topic's permissions\n"
        )
        for words in (["--topic", "org:orders"], ["--namespace", "org"]):
            gateway.rejections["DescribeConfigs"].append((29, "No."))
            said = await topics(gateway, "--describe", *words)
            assert said.status == 1
            assert "was not described: No. [TOPIC_AUTHORIZATION_FAILED]" in said.err


def test_ids_are_written_as_kafka_writes_them() -> None:
    assert id_text(UUID(bytes=bytes([0xFB, 0xFF] * 8))) == "-__7__v_-__7__v_-__7_w"
    assert id_text(None) == "none"
