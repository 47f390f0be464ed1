"""A worker's policies, from its start through reloads to its end.

A reload has two steps: each worker prepares the new policies, and if all succeed, all commit, else
all abort. So either every worker judges by the new policies, or every worker by the old.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Final

from gateway.brokers.messages import ClusterAdmin, describe_configs
from gateway.brokers.one_each import one_each
from gateway.cluster.cluster import Cluster
from gateway.config.policies import PolicySettings
from gateway.counts import Row
from gateway.policies.instance import PolicyError
from gateway.policies.judge import Judge
from gateway.policies.policy_runner import Generation, PolicyRunner, with_class
from gateway.policies.tree import Policies
from protocol.schema import error_name

log = logging.getLogger(__name__)

BROKER: Final = 4
"""ConfigResource.Type of a broker."""


async def broker_configs(admin: ClusterAdmin, cluster: Cluster) -> dict[str, str | None]:
    """All configs of a broker; the values of sensitive configs are None.

    A broker describes only its own configs, and any broker's will do: so the request names all
    brokers, and the configs of the broker that responds are taken. Raises PolicyError if
    DescribeConfigs is denied; ClusterUnreachable, an OSError, if no broker responds.
    """
    nodes = [str(node) for node in sorted(cluster.brokers)]
    request = describe_configs(nodes, None, resource_type=BROKER)
    answer = await admin.ask(request, changes=False)
    results = one_each(nodes, answer.results, attrgetter("resource_name")).values()
    answered = [result for result in results if result is not None]
    for result in answered:
        if not result.error_code:
            return {
                config.name: None if config.is_sensitive else config.value
                for config in result.configs
            }
    codes = sorted({error_name(result.error_code) for result in answered}) or ["no answer"]
    raise PolicyError(
        f"the broker does not tell its configs ({', '.join(codes)}), which policies are configured"
        " with; allow the gateway DescribeConfigs on the cluster"
    )


class ClusterPolicies:
    """The policies of a cluster. ``judge`` judges topics, and stays the same through reloads;
    ``changed`` is called after a reload."""

    def __init__(self, settings: PolicySettings, admin: ClusterAdmin, cluster: Cluster) -> None:
        self._admin = admin
        self._cluster = cluster
        self._runner = PolicyRunner()
        self._prepared: tuple[Policies, Generation] | None = None
        self.judge = Judge(Policies(settings), self._runner.why_not)
        self.changed: Callable[[], None] = lambda: None

    @property
    def policies(self) -> Policies:
        """The policies in force."""
        return self.judge.policies

    async def start(self) -> None:
        """Make and configure the policies. Raises PolicyError; ClusterUnreachable, an OSError, if
        no broker describes the configs that policy classes are configured with."""
        self._runner.take(await self._made(self.policies))

    async def prepare(self, settings: PolicySettings) -> None:
        """Make and configure other policies, without judging by them yet. Raises like
        :meth:`start`; then the policies in force stay."""
        await self.abort()
        policies = Policies(settings)
        self._prepared = (policies, await self._made(policies))

    def commit(self) -> None:
        """Put the prepared policies in force, at once; a topic that is being judged is subject to
        the policies with which its judgement began."""
        prepared, self._prepared = self._prepared, None
        if prepared is None:
            return
        self.judge.policies, generation = prepared
        self._runner.take(generation)
        self.changed()

    async def abort(self) -> None:
        """Close the prepared policies, if there are any."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            await self._runner.discard(prepared[1])

    async def stop(self) -> None:
        """Close all policies, within a few seconds."""
        await self.abort()
        await self._runner.close()

    def take_rows(self) -> list[Row]:
        """The counts since the last call."""
        return [*self.judge.take_counters(), *self._runner.take_rows()]

    async def _made(self, policies: Policies) -> Generation:
        configs: Mapping[str, str | None] = {}
        if any(with_class(policies)):
            configs = await broker_configs(self._admin, self._cluster)
        return await self._runner.prepare(policies, configs)


class WorkerPolicies:
    """The policies of all clusters of a worker, by the clusters' names; reloaded together."""

    def __init__(self, of_clusters: Mapping[str, ClusterPolicies]) -> None:
        self._of_clusters = of_clusters

    async def prepare(
        self, settings: PolicySettings, of_clusters: Mapping[str, PolicySettings]
    ) -> None:
        """Prepare the policies of each cluster: its own, else ``settings``. Raises as
        :meth:`ClusterPolicies.prepare` does; then the policies in force stay."""
        try:
            for name, policies in self._of_clusters.items():
                await policies.prepare(of_clusters.get(name, settings))
        except BaseException:
            await self.abort()
            raise

    def commit(self) -> None:
        """Put the prepared policies of every cluster in force, at once."""
        for policies in self._of_clusters.values():
            policies.commit()

    async def abort(self) -> None:
        """Close the prepared policies of every cluster."""
        for policies in self._of_clusters.values():
            await policies.abort()
