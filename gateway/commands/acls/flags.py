"""The flags of ``kafka-gateway acls`` as what they mean: ACLs to be made, or filters.

They mean what they mean for kafka-acls; KIP-37's ``--namespace`` is where the names are.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product
from typing import Final

from gateway.acl_model import (
    CLUSTER_NAME,
    WILDCARD,
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.authorizer import AclFilter
from gateway.commands.failure import UsageError
from gateway.commands.namespaces import ROOT, is_default, namespace_argument, namespace_resource
from gateway.names import DELIMITER

_O = Operation
_DESCRIBE_AND_ALTER = frozenset({_O.DESCRIBE, _O.ALTER, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS})

SUPPORTED: Final[Mapping[ResourceType, frozenset[Operation]]] = {
    ResourceType.TOPIC: _DESCRIBE_AND_ALTER | {_O.READ, _O.WRITE, _O.CREATE, _O.DELETE},
    ResourceType.GROUP: frozenset(
        {_O.READ, _O.DESCRIBE, _O.DELETE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS}
    ),
    ResourceType.CLUSTER: _DESCRIBE_AND_ALTER | {_O.CREATE, _O.CLUSTER_ACTION, _O.IDEMPOTENT_WRITE},
    ResourceType.TRANSACTIONAL_ID: frozenset({_O.DESCRIBE, _O.WRITE, _O.TWO_PHASE_COMMIT}),
}
"""What is ever asked for on a resource of each type (Kafka's AclEntry.supportedOperations), besides
ALL."""

_CLUSTER: Final = ResourcePattern(ResourceType.CLUSTER, PatternType.LITERAL, CLUSTER_NAME)

Grants = dict[ResourcePattern, frozenset[AclEntry]]
"""Patterns, whose type may be ANY or MATCH, and entries; none: any."""


def acls_to_add(options: argparse.Namespace) -> list[AclBinding]:
    """What ``--add`` is to make. Raises UsageError."""
    pattern_type = _pattern_type(options)
    if pattern_type in (PatternType.ANY, PatternType.MATCH):
        raise UsageError(
            f"--resource-pattern-type {options.resource_pattern_type} does not go with --add; an"
            " ACL is literal or prefixed"
        )
    grants = _grants(options)
    if not all(grants.values()):
        raise UsageError("--add needs --allow-principal, --deny-principal or both")
    return [AclBinding(pattern, entry) for pattern, entries in grants.items() for entry in entries]


def filters_to_remove(options: argparse.Namespace) -> list[AclFilter]:
    """What ``--remove`` means: without a principal all ACLs of the resources. Raises UsageError."""
    if options.operation and not (options.allow_principal or options.deny_principal):
        raise UsageError(
            "--operation needs --allow-principal, --deny-principal or both; without them --remove"
            " means all ACLs of the resources"
        )
    return [
        one for pattern, entries in _grants(options).items() for one in _filters(pattern, entries)
    ]


def filters_to_list(options: argparse.Namespace) -> list[AclFilter]:
    """What ``--list`` means: without a resource all ACLs. Raises UsageError."""
    patterns = list(_patterns(options))
    principals: list[str | None] = [*_principals(options.principal)] or [None]
    if not patterns:
        return [AclFilter(principal=principal) for principal in principals]
    return [
        AclFilter(pattern.type, pattern.name, pattern.pattern_type, principal=principal)
        for pattern, principal in product(patterns, principals)
    ]


def operation_argument(text: str) -> Operation:
    """``DescribeConfigs``, ``describe_configs``, ``DESCRIBE_CONFIGS``."""
    wanted = text.strip().replace("_", "").lower()
    for operation in Operation:
        if operation > Operation.ANY and operation.name.replace("_", "").lower() == wanted:
            return operation
    known = ", ".join(_shown(one) for one in Operation if one > Operation.ANY)
    raise argparse.ArgumentTypeError(f"'{text}' is no operation; there are {known}")


def _shown(operation: Operation) -> str:
    return "".join(part.capitalize() for part in operation.name.split("_"))


# -- what is granted -------------------------------------------------------------------------------


def _grants(options: argparse.Namespace) -> Grants:
    patterns = list(_patterns(options))
    if not patterns:
        raise UsageError(
            "say what it is about: --namespace, --topic, --group, --transactional-id or --cluster"
        )
    grants: Grants = {}
    if options.producer:
        _check_producer(patterns)
        _add(grants, _of(patterns, ResourceType.TOPIC), options, (_O.WRITE, _O.DESCRIBE, _O.CREATE))
        ids = _of(patterns, ResourceType.TRANSACTIONAL_ID)
        _add(grants, ids, options, (_O.WRITE, _O.DESCRIBE))
        if options.idempotent:
            _add(grants, [_CLUSTER], options, (_O.IDEMPOTENT_WRITE,))
    elif options.idempotent:
        raise UsageError("--idempotent goes with --producer only")
    if options.consumer:
        _check_consumer(patterns, options)
        _add(grants, _of(patterns, ResourceType.TOPIC), options, (_O.READ, _O.DESCRIBE))
        _add(grants, _of(patterns, ResourceType.GROUP), options, (_O.READ,))
    if options.producer or options.consumer:
        if options.operation:
            raise UsageError("--operation does not go with --producer or --consumer")
        return grants
    operations = options.operation or [Operation.ALL]
    for pattern in patterns:
        known = SUPPORTED[pattern.type]
        wrong = [one for one in operations if one is not Operation.ALL and one not in known]
        if wrong:
            shown = ", ".join(sorted(map(_shown, {*known, Operation.ALL})))
            kind = pattern.type.name.lower().replace("_", " ")
            raise UsageError(
                f"{_shown(wrong[0])} is never asked for on a {kind}; there are {shown}"
            )
    _add(grants, patterns, options, operations)
    return grants


def _check_producer(patterns: Collection[ResourcePattern]) -> None:
    if not _of(patterns, ResourceType.TOPIC):
        raise UsageError("--producer needs --topic or --namespace")


def _check_consumer(patterns: Collection[ResourcePattern], options: argparse.Namespace) -> None:
    missing = not (_of(patterns, ResourceType.TOPIC) and _of(patterns, ResourceType.GROUP))
    more = not options.producer and (
        _of(patterns, ResourceType.CLUSTER) or _of(patterns, ResourceType.TRANSACTIONAL_ID)
    )
    if missing or more:
        raise UsageError(
            "--consumer needs --group and --topic or --namespace, and no other resource"
        )


def _add(
    grants: Grants,
    patterns: Iterable[ResourcePattern],
    options: argparse.Namespace,
    operations: Iterable[Operation],
) -> None:
    entries = frozenset(_entries(options, tuple(operations)))
    for pattern in patterns:
        grants[pattern] = grants.get(pattern, frozenset()) | entries


def _entries(options: argparse.Namespace, operations: Collection[Operation]) -> Iterator[AclEntry]:
    for permission, principals, hosts, flag in (
        (Permission.ALLOW, options.allow_principal, options.allow_host, "allow"),
        (Permission.DENY, options.deny_principal, options.deny_host, "deny"),
    ):
        if hosts and not principals:
            raise UsageError(f"--{flag}-host goes with --{flag}-principal only")
        for principal, host, operation in product(
            _principals(principals), hosts or [WILDCARD], operations
        ):
            yield AclEntry(principal, host.strip(), operation, permission)


def _principals(given: Iterable[str] | None) -> list[str]:
    found = []
    for text in given or ():
        kind, colon, name = text.strip().partition(DELIMITER)
        if not (kind and colon and name):
            raise UsageError(f"'{text}' is no principal; write it like User:alice")
        found.append(text.strip())
    return found


def _filters(pattern: ResourcePattern, entries: Collection[AclEntry]) -> Iterator[AclFilter]:
    about = AclFilter(pattern.type, pattern.name, pattern.pattern_type)
    if not entries:
        yield about
    for one in sorted(entries):
        yield AclFilter(
            about.type,
            about.name,
            about.pattern_type,
            one.principal,
            one.host,
            one.operation,
            one.permission,
        )


# -- what it is about ------------------------------------------------------------------------------


def _patterns(options: argparse.Namespace) -> Iterator[ResourcePattern]:
    pattern_type = _pattern_type(options)
    named = (
        (ResourceType.TOPIC, options.topic),
        (ResourceType.GROUP, options.group),
        (ResourceType.TRANSACTIONAL_ID, options.transactional_id),
    )
    namespace = None if options.namespace is None else namespace_argument(options.namespace)
    inside = False
    for kind, names in named:
        for name in names or ():
            inside = True
            yield ResourcePattern(kind, pattern_type, _name(kind, name.strip(), namespace))
    if namespace is not None and (options.producer or options.consumer):
        inside = bool(options.topic)
    if namespace is not None and not inside:
        if is_default(namespace):
            raise UsageError(
                "the default namespace has no ACLs of its own; --topic '*' stands for all topics"
            )
        yield ResourcePattern(ResourceType.TOPIC, pattern_type, namespace_resource(namespace))
    if options.cluster:
        if pattern_type is not PatternType.LITERAL:
            raise UsageError("--cluster goes with --resource-pattern-type literal only")
        yield _CLUSTER


def _name(kind: ResourceType, name: str, namespace: str | None) -> str:
    if namespace is None:
        return name
    flag = "--" + kind.name.lower().replace("_", "-")
    if DELIMITER in name:
        raise UsageError(
            f"{flag} '{name}' says its namespace, and --namespace says '{namespace}'; keep one"
        )
    if not namespace or (namespace == ROOT and kind is not ResourceType.TOPIC):
        return name
    if name == WILDCARD:
        raise UsageError(
            f"{flag} '*' is every one there is; for all in a namespace and below it leave out"
            f" {flag} and give --resource-pattern-type prefixed"
        )
    return ROOT + name if namespace == ROOT else f"{namespace}{DELIMITER}{name}"


def _pattern_type(options: argparse.Namespace) -> PatternType:
    return PatternType[options.resource_pattern_type.upper()]


def _of(patterns: Iterable[ResourcePattern], kind: ResourceType) -> list[ResourcePattern]:
    return [pattern for pattern in patterns if pattern.type is kind]
