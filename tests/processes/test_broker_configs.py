"""gateway.processes.worker_policies: the broker configs that policies are configured with."""

from __future__ import annotations

import pytest

from gateway.cluster.link import ClusterUnreachable
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.policies.instance import PolicyError
from gateway.processes.worker_policies import broker_configs
from tests.processes.told_configs import ToldConfigs

CONFIGS = {
    "num.partitions": ("3", False),
    "ssl.keystore.password": ("shown by mistake", True),
    "log.dir": (None, False),
}


@pytest.mark.parametrize("version", [1, 4])
async def test_the_configs_of_the_broker_that_answers(version: int) -> None:
    told = ToldConfigs(CONFIGS, version)
    assert await broker_configs(told, told.cluster) == {
        "num.partitions": "3",
        "ssl.keystore.password": None,
        "log.dir": None,
    }


async def test_a_broker_that_does_not_tell() -> None:
    told = ToldConfigs(CONFIGS)
    told.error = CLUSTER_AUTHORIZATION_FAILED
    with pytest.raises(PolicyError) as rejected:
        await broker_configs(told, told.cluster)
    assert str(rejected.value) == (
        "the broker does not tell its configs (CLUSTER_AUTHORIZATION_FAILED), which policies are"
        " configured with; allow the gateway DescribeConfigs on the cluster"
    )


async def test_no_broker_at_all() -> None:
    told = ToldConfigs(CONFIGS)
    told.error = ClusterUnreachable("main", "b:1: refused")
    with pytest.raises(OSError, match="refused"):
        await broker_configs(told, told.cluster)
