"""Moves topics, each in a process of its own, which is killed before a given step.

``python -m tests.live.moves.killed_move BROKERS`` reads lines ``TOPIC NAMESPACE STEP`` and forks a
process for each, so that modules are imported only once. The process moves TOPIC to NAMESPACE as a
worker does, prints each step, and kills itself before the step of that number (from 1). Its exit
status follows as ``ended STATUS``, 0 if it took fewer steps than that. A step is a request to the
cluster, a call of the catalog, or a request of the catalog's transaction, each before and after.
The product has no hook for this.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn

from gateway.catalog.log.kafka_connections import Connections
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.changes.base.context import Context
from gateway.changes.changes import NamespaceChanges
from gateway.changes.jobs.job_runner import Task
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.config.addresses import Address
from gateway.views.access import Access
from gateway.views.view import View, ViewSettings
from protocol import messages
from tests.live.support.wire import entity

ENDED = "ended "
VERSION = 1
SET = 0
TOPIC = 2

WATCHED: tuple[tuple[type, str], ...] = (
    (BrokerAdmin, "ask"),
    (Cluster, "refresh"),
    (ReplicatedCatalog, "change"),
    (ReplicatedCatalog, "refresh"),
    (Connections, "ask"),
)

WRITING = frozenset({"write", "coordinator"})
"""Purposes of the catalog's writing connections; the timing of its reads does not matter."""


class Steps:
    """Counts steps, and kills the process before step ``last``."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._taken = 0

    def watch(self) -> None:
        """Count every call of WATCHED from now on."""
        for cls, name in WATCHED:
            setattr(cls, name, self._around(f"{cls.__name__}.{name}", getattr(cls, name)))

    def _around(self, what: str, act: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        @functools.wraps(act)
        async def watched(*args: Any, **more: Any) -> Any:
            step = _step(what, args)
            if step is None:
                return await act(*args, **more)
            self._take(f"before {step}")
            result = await act(*args, **more)
            self._take(f"after {step}")
            return result

        return watched

    def _take(self, what: str) -> None:
        self._taken += 1
        print(f"{self._taken} {what}", flush=True)
        if self._taken == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


def _no_job(task: Task) -> None:
    """Fails, because a move begins no job in the process that receives it."""
    raise AssertionError(task)


def _step(what: str, args: Sequence[Any]) -> str | None:
    """The name of a call as a step, or None if the call is no step."""
    if not what.startswith("Connections"):
        return what
    _, _, request, purpose, *_ = args
    return str(request.name) if purpose in WRITING else None


def _request(topic: str, namespace: str) -> bytes:
    config = {"name": "gateway.namespace", "config_operation": SET, "value": namespace}
    resource = {"resource_type": TOPIC, "resource_name": topic, "configs": [config]}
    cls = messages.message_class("IncrementalAlterConfigsRequest", VERSION)
    return messages.write(entity(cls, {"resources": [resource]}))


async def run(brokers: str, topic: str, namespace: str, last: int) -> int:
    """Move the topic; returns the response's error code."""
    host, _, port = brokers.rpartition(":")
    servers = [Address(host, int(port))]
    cluster = Cluster("main", servers)
    await cluster.start()
    catalog = ReplicatedCatalog(
        servers, BrokerAdmin(cluster), max_staleness=60.0, replication_factor=1
    )
    await catalog.start()
    changes = NamespaceChanges(Context(catalog, cluster, BrokerAdmin(cluster)), _no_job)
    access = Access(View(ViewSettings("colon"), catalog.snapshot), "User:ANONYMOUS", "127.0.0.1")
    Steps(last).watch()
    answer = await changes.incremental_alter_configs(access, VERSION, _request(topic, namespace))
    parsed = messages.parse("IncrementalAlterConfigsResponse", VERSION, answer.body)
    await catalog.stop()
    await cluster.stop()
    return int(parsed.responses[0].error_code)


def _in_child(brokers: str, topic: str, namespace: str, last: int) -> NoReturn:
    status = 1
    try:
        status = asyncio.run(run(brokers, topic, namespace, last))
    except BaseException:  # noqa: BLE001 - whatever it is, the parent's code must not go on here
        traceback.print_exc(file=sys.stdout)
    sys.stdout.flush()
    os._exit(status)


def main() -> None:
    """Carry out every line of standard input."""
    (brokers,) = sys.argv[1:]
    for line in sys.stdin:
        topic, namespace, step = line.split()
        child = os.fork()
        if not child:
            _in_child(brokers, topic, namespace, int(step))
        _, status = os.waitpid(child, 0)
        print(f"{ENDED}{os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()
