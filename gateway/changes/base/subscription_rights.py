"""Rights to the subscriptions of client metrics.

A broker authorizes them on the cluster. Here the same operation on the subscription's namespace is
enough, as for the namespace's own configs; the error is a broker's.
"""

from __future__ import annotations

from dataclasses import replace

from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.views.access import Access


def subscription_denial(access: Access, operation: int, namespace: str) -> Denied | None:
    """The denial of DESCRIBE_CONFIGS or ALTER_CONFIGS on the subscriptions of a namespace; None if
    allowed. It does not depend on whether the namespace, or a subscription in it, exists."""
    denied = access.cluster(operation)
    if denied is None or not namespace:
        return denied
    denied = access.namespace(operation, namespace)
    return None if denied is None else replace(denied, code=CLUSTER_AUTHORIZATION_FAILED)
