"""Consumers that subscribe to a regular expression where listings have namespaces (KIP-37).

They read the topics, and the namespaces do no harm. A namespace ``bla`` created later matches the
expression ``bla.*`` of a consumer that knows nothing of namespaces: the KIP's surprise, which
``list_subtree: false`` avoids.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools, namespaces
from tests.live.support.java_tools import RunningConsumer
from tests.live.support.wire import Wire

Names = Callable[[str], str]

LISTENERS = pytest.mark.parametrize("listener", ["admin", "narrow"])
"""A listing with every namespace and its topics, and a listing of the default namespace alone."""

QUICK = {"topic_metadata_refresh_interval_ms": 300}
"""By default, a client that evaluates its expression itself looks for new topics every five
minutes."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Topics that match ``stem.*``: a plain topic, and a topic in a namespace ``stem``."""

    stem: str
    plain: str
    inside: str

    def seen_at(self, listener: str) -> set[str]:
        """The topics that such a subscription is to get at a listener."""
        return {self.plain} if listener == "narrow" else {self.plain, self.inside}


@pytest.fixture
def scene(admin: str, kafka: KafkaCluster, unique: Names) -> Scene:
    """A record in each of the topics, and a namespace below without any topic."""
    stem = unique("bla")
    made = Scene(stem, f"{stem}-plain", f"{stem}:orders")
    namespaces.create(admin, f"{stem}:empty:")
    for name in (made.plain, made.inside):
        namespaces.create_topic(admin, kafka, name)
        clients.produce(admin, name, [f"of {name}"])
    return made


@LISTENERS
@pytest.mark.parametrize("internal", [False, True], ids=["topics", "internal"])
def test_java_pattern(
    gateway: GatewayProcess,
    scene: Scene,
    unique: Names,
    tmp_path: Path,
    listener: str,
    internal: bool,
) -> None:
    """With ``exclude.internal.topics=false``, the consumer subscribes to the namespaces as well."""
    expected = scene.seen_at(listener)
    more = "internal" if internal else "topics"
    subscription = (gateway.bootstrap_servers(listener), unique("app"), f"{scene.stem}.*")
    with java_tools.regex_consumer(*subscription, len(expected), tmp_path / "out", more) as running:
        _assert_gets(running, expected)


@LISTENERS
def test_java_regex_of_the_new_protocol(
    gateway: GatewayProcess, scene: Scene, unique: Names, tmp_path: Path, listener: str
) -> None:
    """KIP-848: the gateway, as the server, evaluates the regex over the topics that it would
    list."""
    expected = scene.seen_at(listener)
    subscription = (gateway.bootstrap_servers(listener), unique("app"), f"{scene.stem}.*")
    with java_tools.regex_consumer(*subscription, len(expected), tmp_path / "out") as running:
        _assert_gets(running, expected)


@LISTENERS
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_pattern(
    gateway: GatewayProcess, scene: Scene, unique: Names, listener: str, protocol: str
) -> None:
    """The client evaluates the pattern in the classic protocol, the server in the new protocol."""
    servers, expected = gateway.bootstrap_servers(listener), scene.seen_at(listener)
    with clients.consumer(servers, unique("app"), group_protocol=protocol) as client:
        client.subscribe([f"^{scene.stem}.*"])
        records = clients.take(client, len(expected))
        assert {record.topic() for record in records} == expected
        assert {part.topic for part in client.assignment()} == expected
        assert client.poll(0.5) is None


@LISTENERS
async def test_aiokafka_pattern(
    gateway: GatewayProcess, scene: Scene, unique: Names, listener: str
) -> None:
    expected = scene.seen_at(listener)
    client = AIOKafkaConsumer(
        bootstrap_servers=gateway.bootstrap_servers(listener),
        group_id=unique("app"),
        auto_offset_reset="earliest",
    )
    client.subscribe(pattern=f"{scene.stem}.*")
    await client.start()
    try:
        seen = set()
        async for record in client:
            seen.add(record.topic)
            if seen == expected:
                break
        assert {part.topic for part in client.assignment()} == expected
    finally:
        await client.stop()


@LISTENERS
def test_franz_go_s_rule(gateway: GatewayProcess, scene: Scene, listener: str) -> None:
    """franz-go requests all topics, leaves out internal topics, and matches the rest."""
    with Wire(clients.any_broker(gateway.bootstrap_servers(listener))) as wire:
        topics = wire.ask("Metadata", 12, topics=None).topics
    matching = [t for t in topics if re.search(f"^{scene.stem}.*", t.name)]
    assert {t.name for t in matching if not t.is_internal} == scene.seen_at(listener)
    assert {int(t.error_code) for t in matching} == {0}
    listed = {t.name for t in matching if t.is_internal}
    assert listed == ({f"{scene.stem}:", f"{scene.stem}:empty:"} if listener == "admin" else set())


def test_everything_is_what_the_view_lists(home_b: str, admin: str, unique: Names) -> None:
    """A mirror's ``.*`` subscribes to all topics of its own view and to no others."""
    namespaces.create(admin, f"team-b:{unique('sub')}:")
    namespaces.create(home_b, unique("orders"))
    with clients.consumer(home_b, unique("app"), **QUICK) as client:
        client.subscribe(["^.*"])

        def settled() -> bool:
            client.poll(0.1)
            return {part.topic for part in client.assignment()} == clients.listed(home_b)

        wait_until(settled, "all topics of the view, assigned", clients.SECONDS)


def test_a_namespace_that_comes_later_surprises_at_first(
    admin: str, narrow: str, kafka: KafkaCluster, unique: Names
) -> None:
    """Its topics join a running consumer's subscription, unless its listener leaves them out."""
    stem = unique("bla")
    plain, inside = f"{stem}-plain", f"{stem}:orders"
    namespaces.create_topic(admin, kafka, plain)
    with (
        clients.consumer(admin, unique("wide"), **QUICK) as wide,
        clients.consumer(narrow, unique("narrow"), **QUICK) as confined,
    ):
        for client in (wide, confined):
            client.subscribe([f"^{stem}.*"])
        clients.produce(admin, plain, ["expected"])
        for client in (wide, confined):
            assert clients.values(clients.take(client, 1)) == ["expected"]
            client.commit(asynchronous=False)
        namespaces.create(admin, f"{stem}:")
        namespaces.create_topic(admin, kafka, inside)
        clients.produce(admin, inside, ["surprise"])
        assert clients.values(clients.take(wide, 1)) == ["surprise"]
        clients.produce(admin, plain, ["next"])
        assert clients.values(clients.take(confined, 1)) == ["next"]
        assert {part.topic for part in confined.assignment()} == {plain}


def _assert_gets(running: RunningConsumer, expected: set[str]) -> None:
    for topic in expected:
        assert running.wait_for("record", topic)["value"] == f"of {topic}"
    assert running.wait_for_end() == 0
    assert set(running.topics("record")) == set(running.topics("assigned")) == expected
