"""Policies and topics for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.config.policies import PolicyBlock, PolicySettings
from gateway.policies.interface import RequestMetadata
from gateway.policies.tree import Placed, Policies

ORG = "org"


def values(written: Any) -> Any:
    """Values as the configuration's reader returns them: its sequences are tuples."""
    if isinstance(written, Mapping):
        return {key: values(value) for key, value in written.items()}
    return tuple(map(values, written)) if isinstance(written, list) else written


def block(**keys: Any) -> PolicyBlock:
    """A block of the configuration; ``__`` stands for a dot, as in ``retention__ms``."""
    return PolicyBlock.model_validate(
        {key.replace("__", "."): values(value) for key, value in keys.items()}
    )


def placed(namespace: str | None = ORG, **keys: Any) -> Placed:
    """The block of a namespace, or of every namespace if it is None."""
    if namespace is None:
        return Placed("policies.everywhere", "set for every namespace", None, block(**keys))
    source, setter = f"policies.namespaces.{namespace}", f"set by namespace '{namespace}'"
    return Placed(source, setter, namespace, block(**keys))


def policies(
    everywhere: Mapping[str, Any] | None = None,
    default_namespace: Mapping[str, Any] | None = None,
    **namespaces: Mapping[str, Any],
) -> Policies:
    """The policies of a configuration; in the names of namespaces ``_`` stands for a colon."""
    written = {
        "everywhere": everywhere or {},
        "default_namespace": default_namespace or {},
        "namespaces": {path.replace("_", ":"): namespaces[path] for path in namespaces},
    }
    return Policies(PolicySettings.model_validate(values(written)))


def asked(
    topic: str = "org:orders",
    partitions: int | None = 3,
    replication_factor: int | None = 3,
    configs: Mapping[str, str] | None = None,
    assignments: Mapping[int, Sequence[int]] | None = None,
    defaults: Mapping[str, str | None] | None = None,
) -> RequestMetadata:
    """The request of a client; ``defaults`` are the cluster's, if it returns them."""
    own = configs or {}
    return RequestMetadata(
        topic,
        num_partitions=None if assignments is not None else partitions,
        replication_factor=None if assignments is not None else replication_factor,
        replicas_assignments=assignments,
        configs=own,
        principal="User:alice",
        namespace=topic.rpartition(":")[0],
        effective_configs={**(defaults or {}), **own} if defaults is not None else {},
    )
