"""The changes of one worker, as its connections ask for them."""

from __future__ import annotations

from collections.abc import Callable

from gateway.changes.acls.create_acls import create_acls
from gateway.changes.acls.delete_acls import delete_acls, describe_acls
from gateway.changes.acls.scram_credentials import (
    alter_user_scram_credentials,
    describe_user_scram_credentials,
)
from gateway.changes.base.batch import Answered
from gateway.changes.base.context import Context
from gateway.changes.configs.alter_configs import alter_configs, incremental_alter_configs
from gateway.changes.configs.describe_configs import describe_configs
from gateway.changes.jobs.deletion_job import task_of
from gateway.changes.jobs.runner import Task
from gateway.changes.topics.create_partitions import create_partitions
from gateway.changes.topics.create_topics import create_topics
from gateway.changes.topics.delete_topics import delete_topics
from gateway.views.access import Access


class NamespaceChanges:
    """Implements ``gateway.exchanges.state.Changes``: whole bodies in the client's names."""

    def __init__(self, context: Context, began: Callable[[Task], None]) -> None:
        """``began`` is told of every background task that a change has begun."""
        self._context = context
        self._began = began

    def take_deprecated_grants(self) -> dict[str, int]:
        """How many ACLs were made since the last call that allow a deprecated operation, by it."""
        counted = dict(self._context.deprecated_grants)
        self._context.deprecated_grants.clear()
        return counted

    async def create_topics(self, access: Access, version: int, body: bytes) -> Answered:
        """CreateTopics from v2 on: namespaces and topics are made."""
        return await create_topics(self._context, access, version, body)

    async def delete_topics(self, access: Access, version: int, body: bytes) -> Answered:
        """DeleteTopics: topics are deleted, namespaces marked for deletion."""
        return await delete_topics(self._context, access, version, body, began=self._marked)

    async def create_partitions(self, access: Access, version: int, body: bytes) -> Answered:
        """CreatePartitions of topics that policies have a say in."""
        return await create_partitions(self._context, access, version, body)

    async def describe_configs(self, access: Access, version: int, body: bytes) -> Answered:
        """DescribeConfigs of namespaces and of topics that inherit from them."""
        return await describe_configs(self._context, access, version, body)

    async def alter_configs(self, access: Access, version: int, body: bytes) -> Answered:
        """AlterConfigs: the whole of the configs anew."""
        return await alter_configs(self._context, access, version, body)

    async def incremental_alter_configs(
        self, access: Access, version: int, body: bytes
    ) -> Answered:
        """IncrementalAlterConfigs (KIP-339); a topic's ``gateway.namespace`` moves it."""
        return await incremental_alter_configs(self._context, access, version, body)

    async def describe_acls(self, access: Access, version: int, body: bytes) -> Answered:
        """DescribeAcls (KIP-140) of the catalog's ACLs."""
        return await describe_acls(self._context, access, version, body)

    async def create_acls(self, access: Access, version: int, body: bytes) -> Answered:
        """CreateAcls: one decision for the whole request."""
        return await create_acls(self._context, access, version, body)

    async def delete_acls(self, access: Access, version: int, body: bytes) -> Answered:
        """DeleteAcls: one decision for the whole request."""
        return await delete_acls(self._context, access, version, body)

    async def describe_user_scram_credentials(
        self, access: Access, version: int, body: bytes
    ) -> Answered:
        """DescribeUserScramCredentials (KIP-554)."""
        return await describe_user_scram_credentials(self._context, access, version, body)

    async def alter_user_scram_credentials(
        self, access: Access, version: int, body: bytes
    ) -> Answered:
        """AlterUserScramCredentials: one decision for the whole request."""
        return await alter_user_scram_credentials(self._context, access, version, body)

    def _marked(self, path: str) -> None:
        task = task_of(self._context.catalog.snapshot, path)
        if task is not None:
            self._began(task)
