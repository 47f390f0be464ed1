"""``kafka-gateway acls``: kafka-acls with KIP-37's ``--namespace``, and the requests it sends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from gateway.acl_model import (
    AclBinding,
    AclEntry,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    code_of,
)
from gateway.commands.acl_flags import (
    acls_to_add,
    filters_to_list,
    filters_to_remove,
    operation_argument,
)
from gateway.commands.actions import Action, Command, fill_client_parser
from gateway.commands.admin import Admin
from gateway.commands.errors import CommandError, Outcome, print_error, rejection
from gateway.commands.flags import Flag
from gateway.commands.namespaces import namespace_argument
from gateway.commands.output import Output, Progress, confirmed, counted, table
from gateway.commands.spelling import with_colons
from gateway.names import DELIMITER
from protocol.messages import Request
from protocol.schema import error_name

_DEPRECATED: Final = (
    "warning: granting IDEMPOTENT_WRITE is deprecated (KIP-679): WRITE on any topic is enough for"
    " idempotent producers"
)
_STEPS: Final[Mapping[str, str]] = {
    "CLUSTER_AUTHORIZATION_FAILED": "ask for ALTER on the cluster, or on the namespace",
    "SECURITY_DISABLED": "give the gateways an authorization block in their configuration",
}
_SHOWN: Final = 20
"""Number of rejected ACLs that are reported in a line each; the others are counted."""

BATCH: Final = 1_000
"""ACLs, or filters, per request."""

_VERSION: Final = 3


async def _add(admin: Admin, options: argparse.Namespace) -> Output:
    acls = in_order(acls_to_add(options))
    deprecated = Operation.IDEMPOTENT_WRITE, Permission.ALLOW
    if any((one.entry.operation, one.entry.permission) == deprecated for one in acls):
        print_error(_DEPRECATED)
    await admin.learn()
    acls = in_order(acls_to_add(options))
    async with Progress(f"adding {counted(len(acls), 'ACL')}"):
        outcomes = list(zip(acls, await create_acls(admin, acls), strict=True))
    added = [one for one, outcome in outcomes if not outcome.code]
    rejected = [(one, outcome) for one, outcome in outcomes if outcome.code]
    notes = [
        rejection(f"ACL '{one}'", "added", outcome, _STEPS.get(outcome.error, ""))
        for one, outcome in rejected[:_SHOWN]
    ]
    if len(rejected) > _SHOWN:
        notes.append(f"{len(rejected) - _SHOWN:,} more were refused")
    failed = [
        {**_as_json(one), "error": outcome.error, "message": outcome.message}
        for one, outcome in rejected
    ]
    text = f"Added {counted(len(added), 'ACL')}.\n{_table(added)}" if added else ""
    content = {"added": list(map(_as_json, added)), "failed": failed}
    return Output(content, text, notes, failed=bool(rejected))


async def _list(admin: Admin, options: argparse.Namespace) -> Output:
    filters_to_list(options)
    await admin.learn()
    found = await _described(admin, filters_to_list(options))
    text = _table(found) if found else "There is no such ACL."
    return Output({"acls": list(map(_as_json, found))}, text)


async def _remove(admin: Admin, options: argparse.Namespace) -> Output:
    filters_to_remove(options)
    await admin.learn()
    filters = filters_to_remove(options)
    if not options.force:
        found = await _described(admin, filters)
        if not found:
            return _removed([])
        print(_table(found), file=sys.stderr)
        sure = confirmed(f"Remove {counted(len(found), 'ACL')}?", yes=False)
        if sure is None:
            raise CommandError(
                "nothing was removed: there is no terminal to ask at; --force does not ask"
            )
        if not sure:
            raise CommandError("nothing was removed")
    async with Progress("removing ACLs"):
        gone, outcomes = await delete_acls(admin, filters)
    notes = [
        rejection("an ACL", "removed", outcome, _STEPS.get(outcome.error, ""))
        for outcome in outcomes
        if outcome.code
    ]
    return _removed(gone)._replace(notes=notes, failed=bool(notes))


def _removed(gone: Sequence[AclBinding]) -> Output:
    text = "There is no such ACL; nothing was removed."
    if gone:
        text = f"Removed {counted(len(gone), 'ACL')}.\n{_table(gone)}"
    return Output({"removed": list(map(_as_json, gone))}, text)


async def _described(admin: Admin, filters: Sequence[AclFilter]) -> list[AclBinding]:
    async with Progress("looking up ACLs"):
        found, outcome = await describe_acls(admin, filters)
    if outcome.code:
        step = _STEPS.get(outcome.error, "").replace("ALTER", "DESCRIBE", 1)
        raise CommandError(rejection("the list of ACLs", "read", outcome, step))
    return found


def _table(acls: Sequence[AclBinding]) -> str:
    head = ("resource", "name", "pattern", "principal", "host", "operation", "permission")
    rows: list[tuple[str, ...]] = [head]
    for kind, name, pattern_type, principal, *entry in (_as_json(one).values() for one in acls):
        # A topic resource whose name ends in a colon is a namespace.
        is_namespace = kind == ResourceType.TOPIC.name and with_colons(name).endswith(DELIMITER)
        resource = "namespace" if is_namespace else kind.lower().replace("_", " ")
        rows.append((resource, name, pattern_type.lower(), principal, *entry))
    return table(rows)


def _as_json(acl: AclBinding) -> dict[str, str]:
    return {
        "resource_type": acl.pattern.type.name,
        "name": acl.pattern.name,
        "pattern_type": acl.pattern.pattern_type.name,
        "principal": acl.entry.principal,
        "host": acl.entry.host,
        "operation": acl.entry.operation.name,
        "permission": acl.entry.permission.name,
    }


def in_order(acls: Iterable[AclBinding]) -> list[AclBinding]:
    """ACLs sorted as they are shown: by resource, then by entry."""
    return sorted(
        acls,
        key=lambda one: (one.pattern.type, one.pattern.name, one.pattern.pattern_type, one.entry),
    )


# -- requests: every function raises Unavailable, also if a broker responds ------------------------


async def create_acls(admin: Admin, acls: Sequence[AclBinding]) -> list[Outcome]:
    """Send CreateAcls; returns an outcome for each ACL, in order."""
    creations = [
        {
            "resource_type": one.pattern.type,
            "resource_name": one.pattern.name,
            "resource_pattern_type": one.pattern.pattern_type,
            "principal": one.entry.principal,
            "host": one.entry.host,
            "operation": one.entry.operation,
            "permission_type": one.entry.permission,
        }
        for one in acls
    ]
    await admin.require_gateway()
    outcomes: list[Outcome] = []
    for start in range(0, len(acls), BATCH):
        values = {"creations": creations[start : start + BATCH]}
        request = Request("CreateAclsRequest", _VERSION, values)
        answer = await admin.client.ask(request, lambda response: response.results)
        outcomes += map(_outcome, answer.entity.results)
    return outcomes


async def describe_acls(
    admin: Admin, filters: Sequence[AclFilter]
) -> tuple[list[AclBinding], Outcome]:
    """Send DescribeAcls for each filter. Returns every ACL that matches a filter, sorted and
    without duplicates, and the outcome of the last request: if a request is rejected, its error."""
    await admin.require_gateway()
    found: set[AclBinding] = set()
    outcome = Outcome("ACLs", 0, "", "")
    for one in filters:
        request = Request("DescribeAclsRequest", _VERSION, _filter_values(one))
        answer = await admin.client.ask(request, lambda response: (response,))
        outcome = _outcome(answer.entity)
        if outcome.code:
            break
        for resource in answer.entity.resources:
            found.update(_binding(resource, entry) for entry in resource.acls)
    return in_order(found), outcome


async def delete_acls(
    admin: Admin, filters: Sequence[AclFilter]
) -> tuple[list[AclBinding], list[Outcome]]:
    """Send DeleteAcls; returns every ACL that was deleted, sorted, and an
    outcome for each filter."""
    await admin.require_gateway()
    gone: set[AclBinding] = set()
    outcomes: list[Outcome] = []
    for start in range(0, len(filters), BATCH):
        values = {"filters": list(map(_filter_values, filters[start : start + BATCH]))}
        request = Request("DeleteAclsRequest", _VERSION, values)
        answer = await admin.client.ask(request, lambda response: response.filter_results)
        for result in answer.entity.filter_results:
            outcomes.append(_outcome(result))
            gone.update(_binding(match, match) for match in result.matching_acls)
    return in_order(gone), outcomes


def _outcome(item: Any) -> Outcome:
    code = int(item.error_code)
    return Outcome("ACLs", code, error_name(code), item.error_message or "")


def _filter_values(one: AclFilter) -> dict[str, object]:
    return {
        "resource_type_filter": one.type,
        "resource_name_filter": one.name,
        "pattern_type_filter": one.pattern_type,
        "principal_filter": one.principal,
        "host_filter": one.host,
        "operation": one.operation,
        "permission_type": one.permission,
    }


def _binding(resource: Any, entry: Any) -> AclBinding:
    kind = code_of(ResourceType, resource.resource_type)
    pattern_type = code_of(PatternType, resource.pattern_type)
    operation = code_of(Operation, entry.operation)
    permission = code_of(Permission, entry.permission_type)
    return AclBinding(
        ResourcePattern(kind, pattern_type, resource.resource_name),
        AclEntry(entry.principal, entry.host, operation, permission),
    )


# -- the command line ------------------------------------------------------------------------------

_RESOURCE: Final = "namespace topic group transactional_id cluster resource_pattern_type"
_ADDED: Final = (
    f"{_RESOURCE} allow_principal deny_principal allow_host deny_host operation producer consumer"
    " idempotent"
)
_PATTERN_TYPES: Final = ("literal", "prefixed", "any", "match")
_OPERATIONS: Final = "read, write, create, delete, alter, describe"
_AGAIN: Final = {"action": "append"}
_PATH: Final = {"type": namespace_argument}
_OPERATION: Final = {"type": operation_argument}

COMMAND: Final = Command(
    "acls",
    "Manage ACLs, through the gateway's wire protocol.",
    (
        "--add --allow-principal User:alice \\\n      --operation alter --namespace org:apache",
        "--add --allow-principal User:bob \\\n      --producer --namespace org --topic orders",
        "--add --allow-principal User:bob \\\n      --consumer --topic org:orders --group billing",
        "--add --deny-principal 'User:*' \\\n      --deny-host 10.0.0.7 --operation all --cluster",
        "--list --namespace org \\\n      --resource-pattern-type any",
        "--remove --allow-principal User:bob \\\n      --operation read --topic org:orders --force",
    ),
    (
        Flag("--namespace", "NS", "alone the namespace itself, else that of the names", _PATH),
        Flag("--topic", "T", "a topic; '*' is every topic", _AGAIN),
        Flag("--group", "G", "a consumer group; '*' is every group", _AGAIN),
        Flag("--transactional-id", "ID", "'*' is every transactional id", _AGAIN),
        Flag("--cluster", "", "the cluster"),
        Flag(
            "--resource-pattern-type",
            "TYPE",
            "literal (default): the name itself; prefixed: all names that begin so; list, remove:"
            " any of both, or match, every pattern that covers the name",
            {"type": str.lower, "choices": _PATTERN_TYPES, "default": "literal"},
        ),
        Flag("--allow-principal", "P", "such as User:alice; User:* is every principal", _AGAIN),
        Flag("--deny-principal", "P", "likewise; a deny comes before any allow", _AGAIN),
        Flag("--principal", "P", "list: only this principal's ACLs", _AGAIN),
        Flag("--allow-host", "IP", "the client's address; default: every address", _AGAIN),
        Flag("--deny-host", "IP", "the client's address; default: every address", _AGAIN),
        Flag("--operation", "OP", f"{_OPERATIONS}, ...; default: all", _AGAIN | _OPERATION),
        Flag("--producer", "", "write, describe and create on topics; write, describe on ids"),
        Flag("--consumer", "", "read and describe on topics, read on groups"),
        Flag("--idempotent", "", "with --producer: deprecated, WRITE is enough (KIP-679)"),
        Flag("--force", "", "remove: do not ask"),
    ),
    (
        Action("add", "allow principals operations, or deny them", _add, _ADDED),
        Action("remove", "remove ACLs; all, without a principal", _remove, f"{_ADDED} force"),
        Action("list", "the ACLs of a resource, or all", _list, f"{_RESOURCE} principal"),
    ),
)


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand."""
    fill_client_parser(parser, COMMAND)
