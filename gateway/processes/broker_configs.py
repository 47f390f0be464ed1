"""The configs of a broker, which policies are configured with (KIP-108)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Protocol

from gateway.brokers.messages import ClusterAdmin, describe_configs
from gateway.policies.instance import PolicyError
from protocol.schema import error_name

BROKER: Final = 4
"""A broker (ConfigResource.Type)."""


class Brokers(Protocol):
    """The cluster's brokers (gateway/cluster/cluster.py)."""

    @property
    def brokers(self) -> Collection[int]:
        """Their node ids."""
        ...


async def broker_configs(admin: ClusterAdmin, cluster: Brokers) -> dict[str, str | None]:
    """All configs of one broker; those that are sensitive are None.

    A broker tells its own configs alone, and it does not matter which one answers: so all are
    asked about, and those of whoever answers are taken. Raises PolicyError where it may not be
    asked, ClusterUnreachable, an OSError, where nobody answers.
    """
    nodes = map(str, sorted(cluster.brokers))
    request = describe_configs(nodes, None, resource_type=BROKER)
    answer = await admin.ask(request, changes=False)
    for result in answer.results:
        if not result.error_code:
            return {
                config.name: None if config.is_sensitive else config.value
                for config in result.configs
            }
    codes = sorted({error_name(result.error_code) for result in answer.results})
    raise PolicyError(
        f"the broker does not tell its configs ({', '.join(codes)}), which policies are configured"
        " with; allow the gateway DescribeConfigs on the cluster"
    )
