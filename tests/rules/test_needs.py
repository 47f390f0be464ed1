"""The table of what APIs need: nothing decided is forgotten."""

from __future__ import annotations

from gateway.apis.table import APIS
from gateway.rules.needs import NEEDS

OWN_HANDLERS = {
    "ApiVersions": "answers everyone",
    "CreateTopics": "CREATE on the topic or the cluster (changes/admin_rights.py)",
    "DeleteTopics": "DELETE, also of all that a namespace holds (changes/admin_rights.py)",
    "DescribeConfigs": "by resource (changes/admin_rights.py)",
    "AlterConfigs": "by resource (changes/admin_rights.py)",
    "IncrementalAlterConfigs": "by resource, and moves (changes/admin_rights.py)",
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
    decided = {row.name for row in APIS.values()}
    assert decided == NEEDS.keys() | OWN_HANDLERS.keys()
    assert not NEEDS.keys() & OWN_HANDLERS.keys()
