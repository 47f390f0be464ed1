"""Existing flat topics become a namespace's, without copying, and back.

The tests adopt all topics that a new namespace would capture, single topics, and topics by prefix.
"""

from __future__ import annotations

from collections.abc import Callable

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.live.support import clients, namespaces
from tests.live.support.namespaces import (
    DEFAULT,
    INHERITED,
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    OWN,
    TOPIC_ALREADY_EXISTS,
)

Names = Callable[[str], str]
Stored = Callable[[], set[str]]


def test_a_namespace_that_would_capture_topics_is_rejected(
    admin: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    """The namespace would capture names that decode to it, and names that Kafka cannot tell from
    them."""
    root, topic = unique("org"), unique("orders")
    exact, folded = f"{root}.apache..{topic}", f"{root}_apache__{topic}-2"
    with namespaces.made_at_the_broker(kafka, exact, folded):
        clients.produce(colon, exact, ["one"])
        code, text = namespaces.rejection(namespaces.creation(admin, f"{root}:apache:"))
        assert code == INVALID_TOPIC_EXCEPTION
        for part in (exact, folded, "gateway.adopt=true"):
            assert part in text
        # Nothing was created, not even the parent, and the topics are unchanged.
        assert not {name for name in clients.listed(admin) if name.startswith(f"{root}:")}
        assert {exact, folded} <= clients.listed(colon)
        assert clients.consume(colon, exact, 1, unique("readers")) == ["one"]


def test_a_name_that_is_the_namespace_s_own_prefix_is_in_the_way(
    admin: str, kafka: KafkaCluster, unique: Names
) -> None:
    """``org..`` would be the namespace's legal spelling, so it cannot be a topic of the
    namespace."""
    root = unique("org")
    with namespaces.made_at_the_broker(kafka, f"{root}.."):
        for configs in ({}, {"gateway.adopt": "true"}):
            rejected = namespaces.creation(admin, f"{root}:", configs)
            code, text = namespaces.rejection(rejected)
            assert (code, f"{root}.." in text) == (INVALID_TOPIC_EXCEPTION, True)


def test_create_and_adopt(
    admin: str, colon: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """Records, offsets and positions stay; configs that were set on a topic stay its own."""
    root, topic, group = unique("org"), unique("orders"), unique("app")
    exact, folded = f"{root}..{topic}", f"{root}__{topic}-2"
    with namespaces.made_at_the_broker(kafka, exact, folded):
        namespaces.alter(kafka.bootstrap_servers, exact, {"retention.ms": "5000000"})
        for stored in (exact, folded):
            clients.produce(colon, stored, [f"of {stored}", "next"])
            assert clients.consume(colon, stored, 1, group) == [f"of {stored}"]
        adopt = {"gateway.adopt": "true", "retention.ms": "3600000", "segment.ms": "600000"}
        namespaces.create(admin, f"{root}:", configs=adopt)
        assert {name for name in topics_on_broker() if root in name} == {exact, folded}
        names = {f"{root}:{topic}", f"{root}:{topic}-2"}
        assert {name for name in clients.listed(colon) if topic in name} == names
        for name in names:
            assert clients.consume(colon, name, 1, group) == ["next"]
        described = namespaces.describe(colon, f"{root}:{topic}")
        assert described["retention.ms"] == ("5000000", OWN)
        assert described["gateway.namespace"] == (root, DEFAULT)
        own = namespaces.describe(admin, f"{root}:")
        assert "gateway.adopt" not in own
        assert own["retention.ms"] == ("3600000", OWN)


def test_adopt_one_topic_and_release_it(
    admin: str, colon: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """``team.orders`` becomes ``team:orders`` and is released to its old name."""
    root, topic = unique("team"), unique("orders")
    stored = f"{root}.{topic}"
    with namespaces.made_at_the_broker(kafka, stored):
        clients.produce(colon, stored, ["one"])
        namespaces.create(admin, f"{root}:", configs={"retention.ms": "3600000"})
        move = {"gateway.namespace": root, "gateway.topic": topic}
        namespaces.alter(admin, stored, move)
        name = f"{root}:{topic}"
        assert {found for found in clients.listed(colon) if topic in found} == {name}
        assert clients.consume(colon, name, 1, unique("readers")) == ["one"]
        assert namespaces.describe(colon, name)["retention.ms"] == ("3600000", INHERITED)
        assert stored in topics_on_broker()

        namespaces.alter(admin, name, {"gateway.release": "true"})
        assert {found for found in clients.listed(colon) if topic in found} == {stored}
        clients.produce(colon, stored, ["two"])
        assert clients.consume(colon, stored, 2, unique("readers")) == ["one", "two"]
        # It has lost the inherited configs.
        wait_until(
            lambda: namespaces.value_on_broker(kafka, stored, "retention.ms")[1] != OWN,
            "the end of what it inherited",
            clients.SECONDS,
        )


def test_a_release_that_would_be_captured_is_rejected(
    admin: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    """A topic that was created in its namespace has no other name to return to."""
    root, topic = unique("team"), unique("orders")
    namespaces.create(admin, f"{root}:")
    namespaces.create_topic(colon, kafka, f"{root}:{topic}")
    release = {"gateway.release": "true"}
    rejected = namespaces.alteration(admin, f"{root}:{topic}", release)
    code, text = namespaces.rejection(rejected)
    assert (code, "gateway.namespace" in text or "move" in text) == (INVALID_REQUEST, True)
    assert f"{root}:{topic}" in clients.listed(colon)


def test_adopt_by_prefix_and_release(
    admin: str, colon: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """How a real cluster starts using namespaces: ``team.`` becomes ``team:``."""
    root = unique("team")
    topics = [unique("orders"), unique("bills")]
    stored = {f"{root}.{topic}" for topic in topics}
    other = f"{root}x.{topics[0]}"
    with namespaces.made_at_the_broker(kafka, *stored, other):
        for name in stored:
            clients.produce(colon, name, [f"of {name}"])
        namespaces.create(admin, f"{root}:")
        to = ["topics", "--bootstrap-server", admin]
        namespaces.command(*to, "--adopt", "--prefix", f"{root}.", "--to-namespace", root, "--yes")
        assert {name for name in clients.listed(colon) if name.startswith(root)} == {
            *(f"{root}:{topic}" for topic in topics),
            other,
        }
        assert stored <= topics_on_broker()
        for topic in topics:
            read = clients.consume(colon, f"{root}:{topic}", 1, unique("readers"))
            assert read == [f"of {root}.{topic}"]

        for topic in topics:
            namespaces.command(*to, "--release", "--namespace", root, "--topic", topic)
        assert {name for name in clients.listed(colon) if name.startswith(root)} == {
            *stored,
            other,
        }


def test_adopt_by_prefix_rejects_where_a_name_is_taken(
    admin: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    root, topic = unique("team"), unique("orders")
    with namespaces.made_at_the_broker(kafka, f"{root}.{topic}"):
        namespaces.create(admin, f"{root}:")
        namespaces.create_topic(colon, kafka, f"{root}:{topic}")
        adopt = ["--adopt", "--prefix", f"{root}.", "--to-namespace", root, "--yes"]
        said = namespaces.attempt("topics", "--bootstrap-server", admin, *adopt)
        assert said.status == 1
        assert f"{root}:{topic}" in said.err
        move = {"gateway.namespace": root, "gateway.topic": topic}
        code, _ = namespaces.rejection(namespaces.alteration(admin, f"{root}.{topic}", move))
        assert code == TOPIC_ALREADY_EXISTS
        assert {f"{root}.{topic}", f"{root}:{topic}"} <= clients.listed(colon)
