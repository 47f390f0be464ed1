"""Which handler serves which API; everything not named here is ``generic``."""

from __future__ import annotations

from typing import Final

from gateway.apis import (
    acls,
    api_versions,
    client_quotas,
    configs,
    consumer_groups,
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    fetch,
    generic,
    groups,
    init_producer_id,
    metadata,
    produce,
    sasl,
    scram_credentials,
)
from gateway.coverage import COVERAGE
from gateway.exchanges.plans import Plan, RequestHandler, ResponseHandler

_REQUESTS: Final[dict[str, RequestHandler]] = {
    "Produce": produce.request,
    "Fetch": fetch.request,
    "Metadata": metadata.request,
    "FindCoordinator": groups.find_coordinator,
    "JoinGroup": groups.join_group,
    "SyncGroup": groups.sync_group,
    "SaslHandshake": sasl.handshake,
    "ApiVersions": api_versions.request,
    "CreateTopics": create_topics.request,
    "CreatePartitions": create_partitions.request,
    "DeleteTopics": delete_topics.request,
    "DescribeConfigs": configs.request,
    "AlterConfigs": configs.request,
    "IncrementalAlterConfigs": configs.request,
    "DescribeCluster": describe_cluster.request,
    "InitProducerId": init_producer_id.request,
    "SaslAuthenticate": sasl.authenticate,
    "DescribeAcls": acls.request,
    "CreateAcls": acls.request,
    "DeleteAcls": acls.request,
    "DescribeClientQuotas": client_quotas.request,
    "DescribeUserScramCredentials": scram_credentials.request,
    "AlterUserScramCredentials": scram_credentials.request,
    "ConsumerGroupHeartbeat": consumer_groups.consumer_group_heartbeat,
    "DescribeTopicPartitions": metadata.describe_request,
}

_RESPONSES: Final[dict[str, ResponseHandler]] = {
    "Produce": produce.response,
    "Fetch": fetch.response,
    "Metadata": metadata.response,
    "OffsetFetch": groups.offset_fetch_response,
    "FindCoordinator": groups.find_coordinator_response,
    "JoinGroup": groups.member_response,
    "SyncGroup": groups.member_response,
    "ListGroups": groups.list_groups_response,
    "SaslHandshake": sasl.response,
    "ApiVersions": api_versions.response,
    "CreateTopics": create_topics.response,
    "DeleteTopics": delete_topics.response,
    "DescribeConfigs": configs.response,
    "AlterConfigs": configs.response,
    "IncrementalAlterConfigs": configs.response,
    "DescribeCluster": describe_cluster.response,
    "InitProducerId": init_producer_id.response,
    "SaslAuthenticate": sasl.response,
    "ConsumerGroupHeartbeat": consumer_groups.consumer_group_heartbeat_response,
    "ConsumerGroupDescribe": consumer_groups.consumer_group_describe_response,
    "DescribeTopicPartitions": metadata.describe_response,
}

PLANS: Final[dict[int, Plan]] = {}
"""Plans made so far, by key: ``api_key << 16 | version``."""


def plan_of(api_key: int, version: int) -> Plan | None:
    """The plan of one API at one version; None when the gateway has not decided it."""
    plan = PLANS.get(api_key << 16 | version)
    return plan if plan is not None else _make(api_key, version)


def _make(api_key: int, version: int) -> Plan | None:
    api = COVERAGE.get(api_key)
    if api is None or not api.first <= version <= api.last:
        return None
    plan = Plan(
        api_key,
        version,
        _REQUESTS.get(api.name, generic.request),
        _RESPONSES.get(api.name, generic.response),
        plan_of,
    )
    PLANS[plan.key] = plan
    return plan


def prepare() -> None:
    """Make the plans of Produce and Fetch, so that no client's first record waits for them.

    A plan takes some milliseconds: kio's module is loaded and walkers are generated.
    """
    for name in ("Produce", "Fetch"):
        api = next(row for row in COVERAGE.values() if row.name == name)
        for version in range(api.first, api.last + 1):
            plan_of(api.key, version)


def any_plan() -> Plan:
    """Some plan: for an exchange that is answered here and whose plan is never asked."""
    plan = plan_of(18, 0)
    assert plan is not None
    return plan
