"""The catalog on a compacted topic of the backing cluster, shared by every worker and gateway."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Final

from gateway.brokers.messages import ClusterAdmin
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.entities import Change, Signing
from gateway.catalog.log.kafka_partition import KafkaPartition
from gateway.catalog.log.kafka_transactions import KafkaTransactions
from gateway.catalog.log.reader import Reader
from gateway.catalog.log.records import LogError, LogLost, Partition, Transactions
from gateway.catalog.log.signatures import KeyFile
from gateway.catalog.log.skipped import Damage
from gateway.catalog.log.topics import (
    CATALOG_TOPIC,
    CatalogLost,
    NotInTime,
    TopicError,
    check_topic,
    ensure_topic,
    leave_mark,
    mark_of,
)
from gateway.catalog.log.writer import CHANGE_SECONDS, Writer
from gateway.catalog.members import signed
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable, Decide, Observer
from gateway.catalog.validity import Validity
from gateway.config.errors import key_text
from gateway.config.models import Config
from gateway.counts import Row

START_SECONDS: Final = 30.0

MENDED_AT_ONCE: Final = 500
"""Entities that are written again in a single decision."""

_MEND_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


class ReplicatedCatalog:
    """A process's reader and writer (gateway/catalog/source.py). Belongs to one event loop."""

    def __init__(
        self,
        bootstrap_servers: Sequence[tuple[str, int]],
        admin: ClusterAdmin | None = None,
        *,
        max_staleness: float = 60.0,
        replication_factor: int = -1,
        topic: str = CATALOG_TOPIC,
        transactional_id: str = CATALOG_TOPIC,
        security: BrokerSecurity | None = None,
        start_seconds: float = START_SECONDS,
        change_seconds: float = CHANGE_SECONDS,
        partition: Partition | None = None,
        transactions: Transactions | None = None,
        observer: Observer | None = None,
        keys: KeyFile | None = None,
        anew: bool = False,
        cluster: str = "",
    ) -> None:
        """Set up a reader and a writer; :meth:`start` connects.

        - ``admin``: creates and checks the topic; None for a tool that only reads.
        - ``max_staleness``, ``start_seconds``, ``change_seconds``: seconds.
        - ``replication_factor``: -1 is the broker's default.
        - ``security``: how to connect to brokers.
        - ``partition``, ``transactions``: take the place of a real cluster.
        - ``observer``: is called with every change that this process commits.
        - ``keys``: the keys with which records are signed.
        - ``anew``: begin an empty catalog even if the cluster had a catalog that is gone.
        - ``cluster``: the cluster's name in the configuration, if it has one.
        """
        self._admin = admin
        self._cluster = cluster
        self._keys = keys
        self._topic = topic
        self._replication_factor = replication_factor
        self._start_seconds = start_seconds
        self._anew = anew
        self._marked = admin is None
        self._reader = Reader(
            partition or KafkaPartition(bootstrap_servers, topic, security),
            max_staleness=max_staleness,
            check=None if admin is None else self._check,
            keys=keys,
        )
        self._writer = Writer(
            self._reader,
            transactions or KafkaTransactions(bootstrap_servers, topic, transactional_id, security),
            change_seconds=change_seconds,
            observer=observer,
            keys=keys,
        )
        self._mender = Mender(self._reader, self._writer.change)

    async def start(self, *, read_only: bool = False) -> None:
        """Read to the end, and follow the log from then on.

        The topic is created if it is missing, and checked. If ``read_only``, neither happens, and
        nothing is ever written. Raises CatalogLost, CatalogTopicError, KeyFileError,
        UnreadableCatalog, CatalogUnavailable.
        """
        if self._keys is not None:
            self._keys.load()
        marked = False
        if self._admin is not None and not read_only:
            marked = await ensure_topic(
                self._admin,
                self._topic,
                self._replication_factor,
                anew=self._anew,
                cluster=self._cluster,
            )
        await self._reader.start(self._start_seconds)
        known = bool(self.snapshot.version)
        if marked and not known and not self._anew:
            await self._reader.stop()
            raise CatalogLost(f"the catalog's topic '{self._topic}' is empty", self._cluster)
        if known and self._anew:
            log.warning("--new-catalog changes nothing: there is a catalog; leave it out")
        self._marked = self._marked or marked
        if not read_only:
            if known:
                await self._leave_mark()
            self._writer.start()
            self._mender.start()

    async def stop(self) -> None:
        """Finish the transaction in progress, reject the other changes, stop reading. The snapshot
        stays."""
        await self._mender.stop()
        await self._writer.stop()
        await self._reader.stop()

    @property
    def snapshot(self) -> Snapshot:
        """See :class:`gateway.catalog.source.Catalog`, as for the rest of its methods."""
        return self._reader.snapshot

    @property
    def fresh(self) -> bool:
        return self._reader.fresh

    @property
    def validity(self) -> Validity:
        return self._reader.validity

    @property
    def lost(self) -> bool:
        return self._reader.lost

    @property
    def position(self) -> int:
        return self._reader.position

    @property
    def age(self) -> float | None:
        return self._reader.age

    @property
    def skipped(self) -> int:
        return self._reader.skipped.total

    @property
    def damaged(self) -> int:
        return len(self._reader.damage) + self._reader.skipped.lost

    def take_rows(self) -> list[Row]:
        mended, self._mender.mended = self._mender.mended, 0
        rows = self._reader.skipped.take_rows()
        return [*rows, ("catalog_mended_records", (), mended)] if mended else rows

    def subscribe(self, changed: Callable[[], None]) -> None:
        self._reader.subscribe(changed)

    def prepare(self, preparing: Callable[[Snapshot], None]) -> None:
        self._reader.prepare(preparing)

    async def refresh(self) -> None:
        await self._reader.refresh()

    async def change(self, decide: Decide) -> Snapshot:
        """As in Catalog; CatalogUnavailable is raised after about ``change_seconds``, and says so
        if the outcome is not known."""
        snapshot = await self._writer.change(decide)
        await self._leave_mark()
        return snapshot

    async def _leave_mark(self) -> None:
        """Create the topic that marks the existence of a catalog, once the catalog holds something.
        A gateway that is killed before that loses nothing, and the next gateway creates the
        mark."""
        if self._marked or self._admin is None:
            return
        self._marked = True
        try:
            await leave_mark(self._admin, self._topic, self._replication_factor)
        except (NotInTime, OSError):
            self._marked = False  # with the next change
        except TopicError as error:
            log.warning(
                "topic '%s' cannot be made (%s): a gateway that starts after the catalog's topic"
                " was deleted begins an empty catalog",
                mark_of(self._topic),
                error,
            )

    async def mend(self) -> int:
        mended, written = 0, 1

        def decide(snapshot: Snapshot) -> Sequence[Change]:
            nonlocal written
            changes = mending(self._reader.damage, snapshot, everything=True)
            written = len(changes)
            return changes

        while written:
            await self.change(decide)
            mended += written
        return mended

    async def _check(self) -> None:
        assert self._admin is not None
        try:
            if not await check_topic(self._admin, self._topic):
                raise LogLost("its topic is not there")
        except CatalogUnavailable as error:
            raise LogError("no broker answers") from error


class Mender:
    """Writes again entities that junk records have replaced. All of it belongs to one event loop.

    Every process of every gateway waits a little, each for another time; the first process writes,
    and the others find nothing left to write.
    """

    def __init__(
        self,
        reader: Reader,
        change: Callable[[Decide], Awaitable[Snapshot]],
        seconds: float = _MEND_SECONDS,
    ) -> None:
        """``change`` commits a decision; about ``seconds`` pass between two decisions."""
        self._reader = reader
        self._change = change
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None
        self.mended = 0
        """Records written again by this process."""

    def start(self) -> None:
        """Mend damaged entities from now on."""
        self._task = asyncio.create_task(self._run(), name="catalog mender")

    async def stop(self) -> None:
        """Stop mending."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _run(self) -> None:
        while True:
            await self._reader.damaged.wait()
            await asyncio.sleep(self._seconds * random.uniform(0.1, 1.0))  # noqa: S311 - no secret
            self._reader.damaged.clear()
            try:
                await self._mend()
            except CatalogUnavailable as error:
                log.warning("what junk has replaced in the catalog is not written yet: %s", error)
                self._reader.damaged.set()
                await asyncio.sleep(5 * self._seconds)
            # A defect here must not end the mending for good.
            except Exception:
                log.exception("mending the catalog failed")
                await asyncio.sleep(5 * self._seconds)

    async def _mend(self) -> None:
        written: Sequence[Change] = ()

        def decide(snapshot: Snapshot) -> Sequence[Change]:
            nonlocal written
            written = mending(self._reader.damage, snapshot)
            return written

        # A change takes the writer's id from whoever has it. A key that nobody may write again
        # stays damaged, and would cost a change each second in each process.
        while mending(self._reader.damage, self._reader.snapshot):
            await self._change(decide)
            if not written:
                return
            self.mended += len(written)
            log.warning("%d records that junk had replaced in the catalog are mended", len(written))
            if len(written) < MENDED_AT_ONCE:
                return


def mending(damage: Damage, snapshot: Snapshot, *, everything: bool = False) -> list[Change]:
    """The next records to write so that a later reader finds the entities of ``snapshot``.

    ``everything``: also remove entities that are not in the snapshot, although another gateway may
    have them.
    """
    changes = list(islice(damage.changes(snapshot, everything=everything), MENDED_AT_ONCE))
    if any(isinstance(change, Signing) and change.key for change in changes):
        # Only a decision that holds the whole catalog may set that the catalog is signed.
        return signed(snapshot, snapshot.signing)
    return changes


def own_security(config: Config, security: BrokerSecurity) -> BrokerSecurity:
    """The gateway's identity at brokers for its own topics: those of the catalog, the audit log and
    the traffic log. ``security`` is its identity for everything else, and the default here."""
    settings, key = config.catalog.security, (*config.key_of("catalog"), "security")
    if settings is None:
        return security
    own = BrokerSecurity(settings, key_text(key))
    own.on_unanswered = security.on_unanswered  # they are the same brokers
    return own


def open_catalog(
    config: Config,
    admin: ClusterAdmin,
    security: BrokerSecurity,
    observer: Observer,
    *,
    start_seconds: float = START_SECONDS,
    anew: bool = False,
) -> ReplicatedCatalog:
    """The catalog, not started yet. ``admin`` queries brokers as the catalog's identity, and
    ``security`` connects as it. ``anew``: see :class:`ReplicatedCatalog`."""
    settings = config.catalog
    return ReplicatedCatalog(
        config.clusters[0].bootstrap_servers,
        admin,
        max_staleness=settings.max_staleness,
        replication_factor=settings.replication_factor,
        security=security,
        start_seconds=start_seconds,
        observer=observer,
        keys=None if settings.key_file is None else KeyFile(settings.key_file),
        anew=anew,
        cluster=config.clusters[0].name,
    )
