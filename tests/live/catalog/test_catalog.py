"""The catalog on a real broker: shared, kept, raced for, compacted, truncated, cut off."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from gateway.catalog.entities import Change, Namespace, Removal, TopicEntry
from gateway.catalog.log.topics import CatalogLost, CatalogTopicError
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable, Decide
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.names import LogicalName
from tests.live.support.clients import SECONDS, admin, done, settings
from tests.pace import Pace
from tests.waiting import eventually

VISIBLE_SECONDS = 1.0


class Exists(Exception):
    """Raised if the namespace exists already."""


def create(path: str, owner: str = "") -> Decide:
    """A change that creates a namespace, which must not exist."""

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        if path in snapshot.namespaces:
            raise Exists(path)
        return [Namespace(path, {"owner": owner})]

    return decide


class Fleet:
    """The catalogs of several gateway processes, run in this process."""

    def __init__(self, kafka: KafkaCluster, topic: str) -> None:
        self.topic = topic
        host, port = kafka.bootstrap_servers.split(":")
        self.servers = [(host, int(port))]
        self.cluster = Cluster("main", self.servers)
        self.admin = BrokerAdmin(self.cluster)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Fleet:
        await self.cluster.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        self.admin.close()
        await self.cluster.stop()

    async def start(
        self, max_staleness: float = 30.0, change_seconds: float = SECONDS, *, anew: bool = False
    ) -> ReplicatedCatalog:
        """Start another catalog, which is stopped with the fleet.

        ``anew``: begin a new catalog even if there was a catalog.
        """
        catalog = ReplicatedCatalog(
            self.servers,
            self.admin,
            topic=self.topic,
            transactional_id=self.topic,
            max_staleness=max_staleness,
            change_seconds=change_seconds,
            anew=anew,
        )
        await catalog.start()
        self._stack.push_async_callback(catalog.stop)
        return catalog


@pytest.fixture
async def fleet(kafka: KafkaCluster, unique: Callable[[str], str]) -> AsyncIterator[Fleet]:
    """Catalogs on a topic that no other test uses."""
    async with Fleet(kafka, unique("__kafka_gateway_catalog")) as fleet:
        yield fleet


@asynccontextmanager
async def no_task_left() -> AsyncIterator[None]:
    """Fail if a task that was started inside goes on outside."""
    before = asyncio.all_tasks()
    yield
    await eventually(lambda: asyncio.all_tasks() == before, "the end of every task")


async def test_what_is_written_survives_a_restart(
    kafka: KafkaCluster, unique: Callable[[str], str]
) -> None:
    topic = unique("__kafka_gateway_catalog")
    entry = TopicEntry("a..x", LogicalName("b", "y"), bytes(range(16)), own_configs=("a",))
    async with no_task_left(), Fleet(kafka, topic) as fleet:
        catalog = await fleet.start()
        await catalog.change(lambda _: [Namespace("a"), Namespace("b", {"k": "v"}), entry])
        await catalog.change(lambda _: [Removal(("namespace", "a"))])
        written = catalog.snapshot
        assert written.version == 4
    async with no_task_left(), Fleet(kafka, topic) as fleet:
        catalog = await fleet.start()
        assert catalog.snapshot == written
        assert catalog.fresh
        assert (await catalog.change(create("c"))).version == 5


@pytest.mark.alone
async def test_a_change_is_seen_by_others_within_a_second(fleet: Fleet, pace: Pace) -> None:
    one, other = await fleet.start(), await fleet.start()
    times = []
    for number in range(10):
        path = f"n{number}"
        await one.change(create(path))
        began = time.monotonic()
        await eventually(lambda path=path: path in other.snapshot.namespaces, path)  # type: ignore[misc]
        times.append(time.monotonic() - began)
    assert max(times) < pace.stretched(VISIBLE_SECONDS)


async def test_a_refresh_sees_what_another_was_told_is_done(fleet: Fleet) -> None:
    one, other = await fleet.start(), await fleet.start()
    for number in range(20):
        await one.change(create(f"n{number}"))
        await other.refresh()
        assert f"n{number}" in other.snapshot.namespaces


async def test_racing_gateways_never_both_win(fleet: Fleet) -> None:
    catalogs = [await fleet.start(change_seconds=SECONDS) for _ in range(6)]
    paths = [f"n{number}" for number in range(200)]

    async def race(name: str, catalog: ReplicatedCatalog, mine: Sequence[str]) -> list[str]:
        won = []
        for path in mine:
            with suppress(Exists):
                await catalog.change(create(path, name))
                won.append(path)
        return won

    # Each catalog has ten changes under way at any time, and all catalogs make the same changes.
    lanes = [paths[lane::10] for lane in range(10)]
    wins = await asyncio.gather(
        *(race(str(n), catalog, lane) for n, catalog in enumerate(catalogs) for lane in lanes)
    )
    assert sorted(path for won in wins for path in won) == sorted(paths)
    for catalog in catalogs:
        await catalog.refresh()
        assert catalog.snapshot == catalogs[0].snapshot
    for place, won in enumerate(wins):
        owner = str(place // len(lanes))
        for path in won:
            assert catalogs[0].snapshot.namespaces[path].configs == {"owner": owner}
    assert catalogs[0].snapshot.version == len(paths)


async def test_several_gateways_may_make_the_topic_at_once(fleet: Fleet) -> None:
    catalogs = await asyncio.gather(*(fleet.start() for _ in range(4)))
    await catalogs[0].change(create("a"))
    for catalog in catalogs:
        await catalog.refresh()
        assert set(catalog.snapshot.namespaces) == {"a"}


async def test_an_unfit_topic_is_rejected(kafka: KafkaCluster, fleet: Fleet) -> None:
    servers = kafka.bootstrap_servers
    done(admin(servers).create_topics([NewTopic(fleet.topic, 1, 1)]))
    with pytest.raises(CatalogTopicError, match=r"cleanup\.policy=delete"):
        await fleet.start()


async def test_a_tool_reads_and_makes_nothing(kafka: KafkaCluster, fleet: Fleet) -> None:
    reader = ReplicatedCatalog(fleet.servers, topic=fleet.topic, start_seconds=0.5)
    with pytest.raises(CatalogUnavailable):
        await reader.start(read_only=True)
    assert fleet.topic not in kafka.topics(internal=True)
    catalog = await fleet.start()
    await catalog.change(create("a"))
    async with no_task_left():
        reader = ReplicatedCatalog(fleet.servers, topic=fleet.topic)
        await reader.start(read_only=True)
        assert reader.snapshot == catalog.snapshot
        with pytest.raises(CatalogUnavailable, match="does not write"):
            await reader.change(create("b"))
        await reader.stop()


# -- logs that change behind a reader ------------------------------------------------------------


@pytest.mark.long("kills")
async def test_compaction_loses_nothing(kafka: KafkaCluster, fleet: Fleet) -> None:
    catalog = await fleet.start()
    # The broker's log cleaner, which otherwise rests for 15 s after each look.
    set_configs(kafka, "1", {"log.cleaner.backoff.ms": "100"}, ResourceType.BROKER)
    eager = {"segment.ms": "100", "max.compaction.lag.ms": "100", "delete.retention.ms": "0"}
    set_configs(kafka, fleet.topic, {**eager, "min.cleanable.dirty.ratio": "0.001"})
    await catalog.change(create("kept"))
    await catalog.change(create("gone"))
    await catalog.change(lambda _: [Removal(("namespace", "gone"))])
    turns = 0

    async def turn() -> bool:
        nonlocal turns
        turns += 1
        await catalog.change(lambda _: [Namespace("busy", {"turn": str(turns)})])
        count, _ = await asyncio.to_thread(log_end, kafka.bootstrap_servers, fleet.topic)
        return count < turns / 2

    async with asyncio.timeout(400):
        while not await turn():
            await asyncio.sleep(0.2)
    anew = await fleet.start()
    assert anew.snapshot == catalog.snapshot
    assert anew.snapshot.version == turns + 3
    await anew.change(create("more"))
    await catalog.refresh()
    assert catalog.snapshot == anew.snapshot


async def test_deleted_records_are_noticed(kafka: KafkaCluster, fleet: Fleet) -> None:
    one, other = await fleet.start(), await fleet.start()
    for number in range(3):
        await one.change(create(f"old{number}"))
    await one.stop()
    await other.refresh()
    set_configs(kafka, fleet.topic, {"cleanup.policy": "compact,delete"})
    _, end = await asyncio.to_thread(log_end, kafka.bootstrap_servers, fleet.topic)
    partition = TopicPartition(fleet.topic, 0, end)
    admin(kafka.bootstrap_servers).delete_records([partition])[partition].result(SECONDS)
    set_configs(kafka, fleet.topic, {"cleanup.policy": "compact"})
    # A lost catalog is not reported as empty; a gateway that starts now begins no other catalog.
    with pytest.raises(CatalogLost):
        await fleet.start()
    anew = await fleet.start(anew=True)
    assert anew.snapshot.namespaces == {}
    await anew.change(create("new"))
    await eventually(lambda: set(other.snapshot.namespaces) == {"new"}, "the new log")
    await other.refresh()
    assert other.snapshot == anew.snapshot


async def is_readable(catalog: ReplicatedCatalog) -> bool:
    """Whether the catalog's log can be read to the end."""
    try:
        await catalog.refresh()
    except CatalogUnavailable:
        return False
    return True


async def test_a_topic_made_anew_is_noticed(
    kafka: KafkaCluster, fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = await fleet.start()
    for number in range(5):
        await catalog.change(create(f"old{number}"))
    broker = admin(kafka.bootstrap_servers)
    done(broker.delete_topics([fleet.topic]))
    await eventually(lambda: fleet.topic not in kafka.topics(internal=True), "the topic's end")
    # A broker ends the log itself a little later than the topic's name.
    async with asyncio.timeout(SECONDS):
        while await is_readable(catalog):
            await asyncio.sleep(0.05)
    # However often the topic is read, no request creates it with the broker's defaults.
    for _ in range(3):
        with pytest.raises(CatalogUnavailable):
            await catalog.refresh()
    assert fleet.topic not in kafka.topics(internal=True)
    assert len(catalog.snapshot.namespaces) == 5
    with pytest.raises(CatalogLost):
        await fleet.start()
    assert fleet.topic not in kafka.topics(internal=True)
    anew = await fleet.start(anew=True)
    await anew.change(create("new"))
    await eventually(lambda: set(catalog.snapshot.namespaces) == {"new"}, "the new log")
    assert "reading it anew" in caplog.text
    await catalog.change(create("more"))
    await anew.refresh()
    assert catalog.snapshot == anew.snapshot


# -- brokers that go and come ------------------------------------------------------------------


@pytest.mark.long("kills")
async def test_without_a_broker_the_last_state_stays_until_it_is_too_old() -> None:
    with KafkaCluster(missed_quickly=True) as kafka:
        async with no_task_left(), Fleet(kafka, "__kafka_gateway_catalog") as fleet:
            catalog = await fleet.start(max_staleness=8.0, change_seconds=12.0)
            await catalog.change(create("a"))
            told: list[bool] = []
            catalog.subscribe(lambda: told.append(catalog.fresh))
            await asyncio.to_thread(kafka.kill_broker, 1)
            assert catalog.fresh
            changing = asyncio.create_task(catalog.change(create("b")))
            await eventually(lambda: not catalog.fresh, "the end of freshness")
            assert told == [False]
            assert set(catalog.snapshot.namespaces) == {"a"}
            with pytest.raises(CatalogUnavailable, match="cannot be read now"):
                await catalog.refresh()
            with pytest.raises(CatalogUnavailable, match="cannot be written now") as raised:
                await changing
            assert "127.0.0.1" not in str(raised.value)
            await asyncio.to_thread(kafka.restart_broker, 1)
            await eventually(lambda: catalog.fresh, "freshness")
            assert told == [False, True]
            assert set((await catalog.change(create("c"))).namespaces) == {"a", "c"}


def set_configs(
    kafka: KafkaCluster,
    name: str,
    configs: dict[str, str],
    kind: ResourceType = ResourceType.TOPIC,
) -> None:
    """Alter the configs of a topic or broker, and wait until the broker returns them.

    The controller responds when the change is in the metadata log, before a broker has read it.
    """
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in configs.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    broker = admin(kafka.bootstrap_servers)
    for future in broker.incremental_alter_configs([resource]).values():
        future.result(SECONDS)

    def answered() -> bool:
        (future,) = broker.describe_configs([ConfigResource(kind, name)]).values()
        found = future.result(SECONDS)
        return all(found[key].value == value for key, value in configs.items())

    wait_until(answered, f"{name} to have {configs}", SECONDS)


def log_end(servers: str, topic: str) -> tuple[int, int]:
    """The number of records in partition 0, and the offset after the last record."""
    client = Consumer(settings(servers, group_id="-", enable_partition_eof=True))
    try:
        client.assign([TopicPartition(topic, 0, 0)])
        count = 0
        while True:
            record = client.poll(SECONDS)
            assert record is not None, f"the end of {topic}: not within {SECONDS:g} s"
            if record.error() is not None:
                end = record.offset()
                assert end is not None
                return count, end
            count += 1
    finally:
        client.close()
