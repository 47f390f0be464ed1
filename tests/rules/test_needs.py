"""The table of what APIs need: nothing decided is forgotten."""

from __future__ import annotations

from gateway.coverage import COVERAGE
from gateway.rules.needs import NEEDS

OWN_HANDLERS = {
    "ApiVersions": "answers everyone",
    "CreateTopics": "CREATE on the topic or the cluster (apis/admin_access.py)",
    "DeleteTopics": "DELETE, also of all that a namespace holds (apis/admin_access.py)",
    "DescribeConfigs": "by resource (apis/admin_access.py)",
    "AlterConfigs": "by resource (apis/admin_access.py)",
    "IncrementalAlterConfigs": "by resource, and moves (apis/admin_access.py)",
    "DescribeCluster": "only what it tells of operations (rules/authorized_operations.py)",
    "ListGroups": "lists what may be described (apis/groups.py)",
    "CreateAcls": "ALTER on the cluster, or on the namespace (apis/acls.py)",
    "DescribeAcls": "DESCRIBE on the cluster, or ALTER on the namespace (apis/acls.py)",
    "DeleteAcls": "ALTER on the cluster, or on the namespace (apis/acls.py)",
    "DescribeClientQuotas": "DESCRIBE_CONFIGS on the cluster (apis/client_quotas.py)",
    "DescribeUserScramCredentials": "DESCRIBE on the cluster (apis/scram_credentials.py)",
    "AlterUserScramCredentials": "ALTER on the cluster (apis/scram_credentials.py)",
    "SaslHandshake": "is asked before anything is allowed",
    "SaslAuthenticate": "is asked before anything is allowed",
}


def test_every_decided_api_needs_something_or_has_its_own_handler() -> None:
    decided = {row.name for row in COVERAGE.values()}
    assert decided == NEEDS.keys() | OWN_HANDLERS.keys()
    assert not NEEDS.keys() & OWN_HANDLERS.keys()
