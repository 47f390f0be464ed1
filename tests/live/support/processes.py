"""The gateway's processes, as the operating system sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from gateway.catalog.entities import Removal, key_of
from gateway.catalog.freezes import workers_in
from gateway.catalog.log.topics import CATALOG_TOPIC
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.snapshot import Snapshot
from gateway.config.addresses import Address
from tests.live.support import clients


def workers(gateway: GatewayProcess) -> list[psutil.Process]:
    """The worker processes, which are the supervisor's children."""
    supervisor = psutil.Process(gateway.process.command_pid)
    return [child for child in supervisor.children() if _runs(child)]


@contextmanager
def stopped_as_a_whole(gateway: GatewayProcess) -> Iterator[None]:
    """Suspend all its processes: the system accepts connections, and no process responds."""
    stopped = [psutil.Process(gateway.process.command_pid), *workers(gateway)]
    for process in stopped:
        process.suspend()
    try:
        yield
    finally:
        for process in stopped:
            process.resume()


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:  # it ended after it was listed
        return False


def memory(gateway: GatewayProcess) -> int:
    """Resident bytes of the supervisor and its workers."""
    supervisor = psutil.Process(gateway.process.command_pid)
    return sum(process.memory_info().rss for process in [supervisor, *workers(gateway)])


def forget_killed(*clusters: KafkaCluster) -> None:
    """Let changes in the catalogs of these clusters proceed after workers were killed.

    An operator does this if the requests of the killed workers have ended; otherwise moves and
    deletions would wait for a minute.
    """
    for cluster in clusters:
        asyncio.run(_forget_killed(cluster.bootstrap_servers))


def forget_ended(cluster: KafkaCluster) -> None:
    """Do the same for a cluster that may have no catalog and mostly has no workers to wait for."""
    listed = clients.admin(cluster.bootstrap_servers).list_topics(timeout=clients.SECONDS)
    if CATALOG_TOPIC in listed.topics and any(
        one.gone for one in workers_in(stored_catalog(cluster)).values()
    ):
        forget_killed(cluster)


def stored_catalog(cluster: KafkaCluster) -> Snapshot:
    """The catalog of a cluster, as a process that starts now reads it."""
    return asyncio.run(_stored_catalog(_catalog(cluster.bootstrap_servers)))


async def _stored_catalog(catalog: ReplicatedCatalog) -> Snapshot:
    await catalog.start(read_only=True)
    try:
        return catalog.snapshot
    finally:
        await catalog.stop()


def _catalog(brokers: str) -> ReplicatedCatalog:
    host, _, port = brokers.rpartition(":")
    return ReplicatedCatalog([Address(host, int(port))])


async def _forget_killed(brokers: str) -> None:
    catalog = _catalog(brokers)
    await catalog.start()
    await catalog.change(
        lambda snapshot: [Removal(key_of(one)) for one in workers_in(snapshot).values() if one.gone]
    )
    await catalog.stop()
