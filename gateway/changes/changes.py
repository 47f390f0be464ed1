"""The changes of one worker, as its connections call them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from gateway.brokers.throttling import OneClientsAdmin
from gateway.changes.base.context import Answered, Context, RequestChange
from gateway.changes.configs.alter_client_metrics import (
    alter_client_metrics,
    incremental_alter_client_metrics,
)
from gateway.changes.configs.alter_configs import alter_configs, incremental_alter_configs
from gateway.changes.configs.describe_client_metrics import describe_client_metrics
from gateway.changes.configs.describe_configs import describe_configs
from gateway.changes.jobs.job_runner import Task
from gateway.changes.jobs.namespace_deletion import deletion_task
from gateway.changes.topics.create_partitions import create_partitions
from gateway.changes.topics.create_topics import create_topics
from gateway.changes.topics.delete_topics import delete_topics
from gateway.views.access import Access


def _bound(
    change: RequestChange,
) -> Callable[[NamespaceChanges, Access, int, bytes], Coroutine[Any, Any, Answered]]:
    return lambda self, access, version, body: self.carry_out(change, access, version, body)


class NamespaceChanges:
    """The requests of admin clients that the gateway carries out itself.

    Each takes a whole request body in the client's names, at the client's version (CreateTopics
    from v2 on), and returns the whole response body. The client is authorized by the state of the
    catalog to which the change is applied.
    """

    def __init__(self, context: Context, began: Callable[[Task], None]) -> None:
        """``began`` is called with every background task that a change has started."""
        self.context = context
        self._began = began

    create_topics = _bound(create_topics)
    create_partitions = _bound(create_partitions)
    describe_configs = _bound(describe_configs)
    alter_configs = _bound(alter_configs)
    incremental_alter_configs = _bound(incremental_alter_configs)
    describe_client_metrics = _bound(describe_client_metrics)
    alter_client_metrics = _bound(alter_client_metrics)
    incremental_alter_client_metrics = _bound(incremental_alter_client_metrics)

    async def delete_topics(self, access: Access, version: int, body: bytes) -> Answered:
        """DeleteTopics; the deletion of each namespace that it marks begins at once."""
        change = partial(delete_topics, marked=self._marked)
        return await self.carry_out(change, access, version, body)

    async def carry_out(
        self, change: RequestChange, access: Access, version: int, body: bytes
    ) -> Answered:
        """Execute a change; its result has the throttle time of the change's queries to brokers."""
        admin = OneClientsAdmin(self.context.admin)
        answered = await change(replace(self.context, admin=admin), access, version, body)
        return replace(answered, throttle_ms=admin.throttle_ms)

    def take_deprecated_grants(self) -> dict[str, int]:
        """The number of ACLs created since the last call that allow a deprecated operation, by
        operation."""
        counted = dict(self.context.deprecated_grants)
        self.context.deprecated_grants.clear()
        return counted

    def _marked(self, path: str) -> None:
        task = deletion_task(self.context.catalog.snapshot, path)
        if task is not None:
            self._began(task)
