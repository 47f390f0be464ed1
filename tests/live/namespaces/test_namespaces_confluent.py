"""The life of a namespace by confluent-kafka's admin client.

The tests check the client's responses, and the topics that the broker stores.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from devkit.broker import KafkaCluster
from tests.live.support import clients, namespaces
from tests.live.support.namespaces import (
    DEFAULT,
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    TOPIC_ALREADY_EXISTS,
)
from tests.live.support.wire import Wire

Names = Callable[[str], str]
Stored = Callable[[], set[str]]

UNKNOWN_TOPIC_OR_PARTITION = 3
TIMEOUT = timedelta(seconds=60)


# -- create and list --------------------------------------------------------------------------


def test_create_makes_every_tier(
    admin: str, colon: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """Three tiers of a name, all usable; the broker stores nothing about them."""
    root, topic = unique("org"), unique("orders")
    tiers = [root, f"{root}:apache", f"{root}:apache:kafka"]
    namespaces.create(admin, f"{tiers[-1]}:")
    assert not {name for name in topics_on_broker() if root in name}
    spelled = {f"{tier}:" for tier in tiers}
    assert {name for name in clients.listed(admin) if name.startswith(root)} == spelled
    assert not {name for name in clients.listed(colon) if name.startswith(root)}

    logical = [f"{tier}:{topic}" for tier in tiers]
    for name in logical:
        namespaces.create_topic(colon, kafka, name)
    stored = {f"{root}..{topic}", f"{root}.apache..{topic}", f"{root}.apache.kafka..{topic}"}
    assert {name for name in topics_on_broker() if root in name} == stored
    assert {name for name in clients.listed(admin) if root in name} == {*spelled, *logical}
    assert {name for name in clients.listed(colon) if root in name} == {*logical}


def test_namespaces_are_listed_as_internal_topics_with_one_partition(
    admin: str, admin_legal: str, unique: Names
) -> None:
    root = unique("org")
    namespaces.create(admin, f"{root}:apache:")
    for servers, end, tier in ((admin, ":", ":"), (admin_legal, "..", ".")):
        with Wire(clients.any_broker(servers)) as wire:
            topics = wire.ask("Metadata", 9, topics=None).topics
        found = {t.name: t for t in topics if t.name.startswith(root)}
        assert set(found) == {f"{root}{end}", f"{root}{tier}apache{end}"}
        for entry in found.values():
            assert (int(entry.error_code), entry.is_internal) == (0, True)
            (partition,) = entry.partitions
            assert (int(partition.error_code), partition.partition_index) == (0, 0)
            # Tools query its leader for offsets, and wait for a partition without a leader.
            assert partition.leader_id in partition.replica_nodes


def test_list_under_a_namespace(admin: str, kafka: KafkaCluster, unique: Names) -> None:
    """A namespace's description has its own configs, and its contents."""
    root, topic = unique("org"), unique("orders")
    namespaces.create(admin, f"{root}:b:deep:", f"{root}:a:")
    namespaces.create_topic(admin, kafka, f"{root}:{topic}")
    described = namespaces.describe(admin, f"{root}:")
    assert described["gateway.namespaces"] == (f"{root}:a,{root}:b", DEFAULT)
    assert described["gateway.topics"] == ("1", DEFAULT)
    assert "gateway.deleting" not in described
    assert described["retention.ms"] == ("604800000", DEFAULT)
    deepest = namespaces.describe(admin, f"{root}:b:deep:")
    assert (deepest["gateway.namespaces"][0], deepest["gateway.topics"][0]) == ("", "0")
    top = namespaces.describe(admin, ":")["gateway.namespaces"][0].split(",")
    assert {root, "team-a", "team-b", "org"} <= {*top}
    assert not {path for path in top if ":" in path}
    # A topic's description names its namespace, which is empty for the default namespace.
    assert namespaces.describe(admin, f"{root}:{topic}")["gateway.namespace"] == (root, DEFAULT)
    plain = unique("plain")
    namespaces.create_topic(admin, kafka, plain)
    assert not {key for key in namespaces.describe(admin, plain) if key.startswith("gateway.")}


def test_a_namespace_comes_before_its_topics(
    colon: str, admin: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """KIP-37's InvalidNamespaceException: the code of an invalid topic, and the missing tier's
    name."""
    root, topic = unique("org"), unique("orders")
    deep = f"{root}:apache:kafka:{topic}"
    said = namespaces.rejection(namespaces.creation(colon, deep))
    missing = f"InvalidNamespaceException: namespace '{root}' does not exist"
    assert (said[0], said[1][: len(missing)]) == (INVALID_TOPIC_EXCEPTION, missing)
    namespaces.create(admin, f"{root}:apache:")
    said = namespaces.rejection(namespaces.creation(colon, deep))
    missing = f"InvalidNamespaceException: namespace '{root}:apache:kafka' does not exist"
    assert (said[0], said[1][: len(missing)]) == (INVALID_TOPIC_EXCEPTION, missing)
    assert not {stored for stored in topics_on_broker() if root in stored}
    namespaces.create(admin, f"{root}:apache:kafka:")
    namespaces.create_topic(colon, kafka, deep)


def test_what_exists_is_not_created_again(admin: str, unique: Names) -> None:
    root = unique("org")
    namespaces.create(admin, f"{root}:apache:")
    for path in (root, f"{root}:apache"):
        code, text = namespaces.rejection(namespaces.creation(admin, f"{path}:"))
        assert (code, f"Namespace '{path}' already exists" in text) == (TOPIC_ALREADY_EXISTS, True)


def test_validate_only_makes_nothing(admin: str, unique: Names) -> None:
    root = unique("org")
    namespaces.creation(admin, f"{root}:", validate=True).result(clients.SECONDS)
    assert f"{root}:" not in clients.listed(admin)
    code, text = namespaces.rejection(namespaces.creation(admin, f"{root}_x:", validate=True))
    assert (code, f"{root}_x" in text) == (INVALID_TOPIC_EXCEPTION, True)


def test_one_topic_name_in_several_namespaces(
    colon: str, admin: str, topics_on_broker: Stored, unique: Names
) -> None:
    topic = unique("orders")
    names = [topic, f"{unique('one')}:{topic}", f"{unique('two')}:{topic}"]
    namespaces.create(admin, *(name.removesuffix(topic) for name in names[1:]))
    namespaces.create(colon, *names)
    for name in names:
        clients.produce(colon, name, [f"of {name}"])
    for name in names:
        assert clients.consume(colon, name, 1, unique("readers")) == [f"of {name}"]
    assert {stored for stored in topics_on_broker() if topic in stored} == {
        namespaces.flat(name) for name in names
    }


# -- delete -----------------------------------------------------------------------------------


def test_delete_rejects_what_holds_namespaces(
    admin: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """Unless everything below is named as well: KIP-37's ``recursive`` in a single request."""
    root, topic = unique("org"), unique("orders")
    namespaces.create(admin, f"{root}:a:deep:", f"{root}:b:")
    for tier in (root, f"{root}:a:deep"):
        namespaces.create_topic(admin, kafka, f"{tier}:{topic}")
    for named in ([f"{root}:"], [f"{root}:", f"{root}:a:"]):
        code, _ = namespaces.rejection(namespaces.deletion(admin, *named)[f"{root}:"])
        assert code == INVALID_REQUEST
        code, text = _deletion_told(admin, *named)
        assert (code, f"Namespace '{root}' holds namespaces" in text) == (INVALID_REQUEST, True)
        assert f"{root}:b" in text
    assert {stored for stored in topics_on_broker() if topic in stored} == {
        f"{root}..{topic}",
        f"{root}.a.deep..{topic}",
    }
    namespaces.delete(admin, f"{root}:", f"{root}:a:", f"{root}:a:deep:", f"{root}:b:")
    assert not {name for name in clients.listed(admin) if name.startswith(root)}
    clients.await_gone(kafka, f"{root}..{topic}", f"{root}.a.deep..{topic}")


def test_a_name_is_free_when_its_topics_are_gone(
    admin: str, colon: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """A deletion is marked at once and finished in the background (KIP-37: Delete)."""
    root, topics = unique("org"), [unique("orders") for _ in range(5)]
    namespaces.create(admin, f"{root}:")
    for topic in topics:
        namespaces.create_topic(colon, kafka, f"{root}:{topic}")
    clients.produce(colon, f"{root}:{topics[0]}", ["old"])
    namespaces.delete(admin, f"{root}:")
    # None of its topics can be used any more, even if the broker still stores them.
    future = namespaces.creation(colon, f"{root}:{topics[0]}")
    code, text = namespaces.rejection(future)
    assert (code, "InvalidNamespaceException" in text) == (INVALID_TOPIC_EXCEPTION, True)
    assert not {name for name in clients.listed(colon) if name.startswith(root)}

    namespaces.await_free(admin, f"{root}:")
    assert not namespaces.of_namespaces(topics_on_broker(), root)
    namespaces.create_topic(colon, kafka, f"{root}:{topics[0]}")
    clients.produce(colon, f"{root}:{topics[0]}", ["new"])
    assert clients.consume(colon, f"{root}:{topics[0]}", 1, unique("readers")) == ["new"]


def test_delete_what_does_not_exist(admin: str, unique: Names) -> None:
    root = unique("org")
    code, _ = namespaces.rejection(namespaces.deletion(admin, f"{root}:")[f"{root}:"])
    assert code == UNKNOWN_TOPIC_OR_PARTITION
    code, text = _deletion_told(admin, f"{root}:")
    assert code == UNKNOWN_TOPIC_OR_PARTITION
    assert f"Namespace '{root}' does not exist" in text


def _deletion_told(servers: str, *names: str) -> tuple[int, str]:
    """The error code and text of the first of these, by hand because librdkafka drops the text."""
    topics = [{"name": name} for name in names]
    with Wire(clients.any_broker(servers)) as wire:
        first, *_ = wire.ask("DeleteTopics", 6, topics=topics, timeout=TIMEOUT).responses
    return int(first.error_code), first.error_message or ""
