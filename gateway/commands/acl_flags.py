"""The flags of ``kafka-gateway acls``, parsed into ACLs to add, or into filters.

Each flag means the same as in kafka-acls; KIP-37's ``--namespace`` is the namespace of the names.
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
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.commands.errors import UsageError
from gateway.commands.namespaces import ROOT, is_default, namespace_resource
from gateway.commands.spelling import shown, with_colons
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
"""The operations on a resource of each type (Kafka's AclEntry.supportedOperations), besides ALL."""

_CLUSTER: Final = ResourcePattern(ResourceType.CLUSTER, PatternType.LITERAL, CLUSTER_NAME)

Grants = dict[ResourcePattern, frozenset[AclEntry]]
"""The entries of each pattern; a pattern's type may be ANY or MATCH. If a pattern has no entries,
its filter matches every entry."""


def acls_to_add(options: argparse.Namespace) -> list[AclBinding]:
    """The ACLs that ``--add`` requests. Raises UsageError."""
    if options.resource_pattern_type in ("any", "match"):
        raise UsageError(
            f"--resource-pattern-type {options.resource_pattern_type} does not go with --add; an"
            " ACL is literal or prefixed"
        )
    grants = _grants(options)
    if not all(grants.values()):
        raise UsageError("--add needs --allow-principal, --deny-principal or both")
    return [AclBinding(pattern, entry) for pattern, entries in grants.items() for entry in entries]


def filters_to_remove(options: argparse.Namespace) -> list[AclFilter]:
    """The filters of ``--remove``; if no principal is given, they match all ACLs of the
    resources. Raises UsageError."""
    if options.operation and not (options.allow_principal or options.deny_principal):
        raise UsageError(
            "--operation needs --allow-principal, --deny-principal or both; without them --remove"
            " means all ACLs of the resources"
        )
    grants = _grants(options).items()
    return [one for pattern, entries in grants for one in _filters(pattern, entries)]


def filters_to_list(options: argparse.Namespace) -> list[AclFilter]:
    """The filters of ``--list``; if no resource is given, they match all
    ACLs. Raises UsageError."""
    patterns = list(_patterns(options))
    principals: list[str | None] = [*_principals(options.principal)] or [None]
    if not patterns:
        return [AclFilter(principal=principal) for principal in principals]
    return [
        AclFilter(pattern.type, pattern.name, pattern.pattern_type, principal=principal)
        for pattern, principal in product(patterns, principals)
    ]


def operation_argument(text: str) -> Operation:
    """Parse ``DescribeConfigs``, ``describe_configs`` or ``DESCRIBE_CONFIGS``.
    Raises ArgumentTypeError."""
    wanted = text.strip().replace("_", "").lower()
    for operation in Operation:
        if operation > Operation.ANY and operation.name.replace("_", "").lower() == wanted:
            return operation
    known = ", ".join(_shown(one) for one in Operation if one > Operation.ANY)
    raise argparse.ArgumentTypeError(f"'{text}' is no operation; there are {known}")


def _shown(operation: Operation) -> str:
    return "".join(part.capitalize() for part in operation.name.split("_"))


def _grants(options: argparse.Namespace) -> Grants:
    patterns = list(_patterns(options))
    if not patterns:
        raise UsageError(
            "name a resource: --namespace, --topic, --group, --transactional-id or --cluster"
        )
    of_type = {kind: [one for one in patterns if one.type is kind] for kind in SUPPORTED}
    topics, groups = of_type[ResourceType.TOPIC], of_type[ResourceType.GROUP]
    ids = of_type[ResourceType.TRANSACTIONAL_ID]
    grants: Grants = {}
    if options.producer:
        if not topics:
            raise UsageError("--producer needs --topic or --namespace")
        _add(grants, topics, options, (_O.WRITE, _O.DESCRIBE, _O.CREATE))
        _add(grants, ids, options, (_O.WRITE, _O.DESCRIBE))
        if options.idempotent:
            _add(grants, [_CLUSTER], options, (_O.IDEMPOTENT_WRITE,))
    elif options.idempotent:
        raise UsageError("--idempotent goes with --producer only")
    if options.consumer:
        others = [] if options.producer else [*ids, *of_type[ResourceType.CLUSTER]]
        if not topics or not groups or others:
            raise UsageError(
                "--consumer needs --group and --topic or --namespace, and no other resource"
            )
        _add(grants, topics, options, (_O.READ, _O.DESCRIBE))
        _add(grants, groups, options, (_O.READ,))
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
            raise UsageError(f"a {kind} has no operation {_shown(wrong[0])}; there are {shown}")
    _add(grants, patterns, options, operations)
    return grants


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
    for permission, flag in ((Permission.ALLOW, "allow"), (Permission.DENY, "deny")):
        principals = _principals(getattr(options, f"{flag}_principal"))
        hosts = getattr(options, f"{flag}_host")
        if hosts and not principals:
            raise UsageError(f"--{flag}-host goes with --{flag}-principal only")
        for principal, host, operation in product(principals, hosts or [WILDCARD], operations):
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
    resource = pattern.type, pattern.name, pattern.pattern_type
    if not entries:
        yield AclFilter(*resource)
    for one in sorted(entries):
        yield AclFilter(*resource, one.principal, one.host, one.operation, one.permission)


def _patterns(options: argparse.Namespace) -> Iterator[ResourcePattern]:
    pattern_type = PatternType[options.resource_pattern_type.upper()]
    named = (
        (ResourceType.TOPIC, options.topic),
        (ResourceType.GROUP, options.group),
        (ResourceType.TRANSACTIONAL_ID, options.transactional_id),
    )
    namespace = options.namespace
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
    of_topic = kind is ResourceType.TOPIC
    if DELIMITER in (with_colons(name) if of_topic else name):
        raise UsageError(
            f"{flag} '{name}' says its namespace, and --namespace says '{namespace}'; keep one"
        )
    if not namespace or (namespace == ROOT and not of_topic):
        return name
    if name == WILDCARD:
        raise UsageError(
            f"{flag} '*' is every one there is; for all in a namespace and below it leave out"
            f" {flag} and give --resource-pattern-type prefixed"
        )
    written = ROOT + name if namespace == ROOT else f"{namespace}{DELIMITER}{name}"
    return shown(written) if of_topic else written
