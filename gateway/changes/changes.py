"""The changes of one worker, as its connections ask for them."""

from __future__ import annotations

from collections.abc import Callable

from gateway.changes.alter_configs import alter_configs, incremental_alter_configs
from gateway.changes.context import Context
from gateway.changes.create_topics import create_topics
from gateway.changes.delete_topics import delete_topics
from gateway.changes.describe_configs import describe_configs
from gateway.changes.jobs import Task
from gateway.view import View


class NamespaceChanges:
    """Implements ``gateway.state.Changes``: whole bodies in the client's names, in and out."""

    def __init__(self, context: Context, began: Callable[[Task], None]) -> None:
        """``began`` is told of every background task that a change has begun."""
        self._context = context
        self._began = began

    async def create_topics(self, view: View, version: int, body: bytes) -> bytes:
        """CreateTopics from v2 on: namespaces and topics are made."""
        return await create_topics(self._context, view, version, body)

    async def delete_topics(self, view: View, version: int, body: bytes) -> bytes:
        """DeleteTopics: topics are deleted, namespaces marked for deletion."""
        return await delete_topics(self._context, view, version, body, began=self._began)

    async def describe_configs(self, view: View, version: int, body: bytes) -> bytes:
        """DescribeConfigs of namespaces and of topics that inherit from them."""
        return await describe_configs(self._context, view, version, body)

    async def alter_configs(self, view: View, version: int, body: bytes) -> bytes:
        """AlterConfigs: the whole of the configs anew."""
        return await alter_configs(self._context, view, version, body)

    async def incremental_alter_configs(self, view: View, version: int, body: bytes) -> bytes:
        """IncrementalAlterConfigs (KIP-339); a topic's ``gateway.namespace`` moves it."""
        return await incremental_alter_configs(self._context, view, version, body)
