"""``kafka-gateway acls``: kafka-acls with KIP-37's ``--namespace``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from gateway.acl_model import AclBinding, Operation, Permission, ResourceType
from gateway.acls.authorizer import AclFilter
from gateway.commands.acls.admin import AclAdmin, in_order
from gateway.commands.acls.flags import (
    acls_to_add,
    filters_to_list,
    filters_to_remove,
    operation_argument,
)
from gateway.commands.admin import Admin
from gateway.commands.answers import Outcome
from gateway.commands.failure import CommandError
from gateway.commands.running import Actions, add_client_arguments, run_action
from gateway.commands.told import (
    Progress,
    addressed,
    confirmed,
    counted,
    print_json,
    refusal,
    say_error,
    table,
)
from gateway.names import DELIMITER

_EXAMPLES = """\
examples:
  kafka-gateway acls --bootstrap-server localhost:9192 --add --allow-principal User:alice \\
      --operation alter --namespace org:apache
  kafka-gateway acls --bootstrap-server localhost:9192 --add --allow-principal User:bob \\
      --producer --namespace org --topic orders
  kafka-gateway acls --bootstrap-server localhost:9192 --add --allow-principal User:bob \\
      --consumer --topic org:orders --group billing
  kafka-gateway acls --bootstrap-server localhost:9192 --add --deny-principal 'User:*' \\
      --deny-host 10.0.0.7 --operation all --cluster
  kafka-gateway acls --bootstrap-server localhost:9192 --list --namespace org \\
      --resource-pattern-type any
  kafka-gateway acls --bootstrap-server localhost:9192 --remove --allow-principal User:bob \\
      --operation read --topic org:orders --force

exit status:
   0  done
   1  refused, or some of it failed; standard error says what, and what to do next
   2  the command line cannot be understood
  69  no gateway answers at that address, or not in time
"""

_WHAT: Final = "namespace topic group transactional_id cluster resource_pattern_type"
_WHO: Final = (
    "allow_principal deny_principal allow_host deny_host operation producer consumer idempotent"
)

_DEPRECATED: Final = (
    "warning: granting IDEMPOTENT_WRITE is deprecated (KIP-679): WRITE on any topic is enough for"
    " idempotent producers"
)
_STEPS: Final[Mapping[str, str]] = {
    "CLUSTER_AUTHORIZATION_FAILED": "ask for ALTER on the cluster, or on the namespace",
    "SECURITY_DISABLED": "give the gateways an authorization block in their configuration",
}
_SHOWN: Final = 20
"""Refused ACLs that are told; of the others it is said how many there are."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand; its options' ``run`` returns the exit status."""
    parser = commands.add_parser(
        "acls",
        help="list, add and remove ACLs of namespaces, topics, groups and the cluster",
        description="Who may do what, through the gateway's wire protocol.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_client_arguments(parser)
    group = parser.add_mutually_exclusive_group(required=True)
    for action, text in (
        ("add", "let principals do something, or deny it to them"),
        ("remove", "take that back; without a principal all of it"),
        ("list", "the ACLs of a resource, or all"),
    ):
        group.add_argument(
            f"--{action}", dest="action", action="store_const", const=action, help=text
        )
    _add_what(parser)
    _add_who(parser)
    parser.set_defaults(run=partial(run_action, _ACTIONS))


def _add_what(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--namespace", metavar="NS", help="alone the namespace itself; else where the names are")
    add("--topic", action="append", metavar="T", help="a topic; '*' is every topic")
    add("--group", action="append", metavar="G", help="a consumer group; '*' is every group")
    add("--transactional-id", action="append", metavar="ID", help="'*' is every transactional id")
    add("--cluster", action="store_true", help="the cluster")
    add(
        "--resource-pattern-type",
        type=str.lower,
        choices=["literal", "prefixed", "any", "match"],
        default="literal",
        help="the name itself, or what begins so; list, remove: either of both (any), or all that"
        " covers the name (match); default: literal",
    )


def _add_who(parser: argparse.ArgumentParser) -> None:
    add, flag = parser.add_argument, "store_true"
    add("--allow-principal", action="append", metavar="P", help="such as User:alice; User:* is all")
    add("--deny-principal", action="append", metavar="P", help="the same; comes before any allow")
    add("--principal", action="append", metavar="P", help="list: only this principal's ACLs")
    add("--allow-host", action="append", metavar="IP", help="from where; default: everywhere")
    add("--deny-host", action="append", metavar="IP", help="from where; default: everywhere")
    add(
        "--operation",
        action="append",
        type=operation_argument,
        metavar="OP",
        help="read, write, create, delete, alter, describe, ...; default: all",
    )
    add("--producer", action=flag, help="write, describe and create on topics; ids as well")
    add("--consumer", action=flag, help="read and describe on topics, read on groups")
    add("--idempotent", action=flag, help="with --producer: deprecated, WRITE is enough (KIP-679)")
    add("--force", action=flag, help="remove: do not ask")


# -- the actions -----------------------------------------------------------------------------------


async def _add(admin: Admin, options: argparse.Namespace) -> int:
    acls = in_order(acls_to_add(options))
    if any(_is_deprecated(one) for one in acls):
        say_error(_DEPRECATED)
    async with Progress(f"adding {counted(len(acls), 'ACL')}"):
        outcomes = await AclAdmin(admin).create(acls)
    added = [one for one, outcome in zip(acls, outcomes, strict=True) if not outcome.code]
    refused = [(one, outcome) for one, outcome in zip(acls, outcomes, strict=True) if outcome.code]
    if options.json:
        print_json({"added": _as_json(added), "failed": _failed(refused)})
    elif added:
        print(f"Added {counted(len(added), 'ACL')}.")
        print(_table(added))
    for one, outcome in refused[:_SHOWN]:
        told = refusal(f"ACL '{one}'", "added", outcome, _STEPS.get(outcome.error, ""))
        say_error(addressed(told, options.bootstrap_server, options.command_config))
    if len(refused) > _SHOWN:
        say_error(f"{len(refused) - _SHOWN:,} more were refused")
    return 1 if refused else 0


async def _list(admin: Admin, options: argparse.Namespace) -> int:
    found = await _described(admin, filters_to_list(options))
    if options.json:
        print_json({"acls": _as_json(found)})
    elif found:
        print(_table(found))
    else:
        print("There is no such ACL.")
    return 0


async def _remove(admin: Admin, options: argparse.Namespace) -> int:
    filters = filters_to_remove(options)
    if not options.force:
        found = await _described(admin, filters)
        if not found:
            return _told_removed([], options)
        print(_table(found), file=sys.stderr)
        sure = confirmed(f"Remove {counted(len(found), 'ACL')}?", yes=False)
        if sure is None:
            raise CommandError(
                "nothing was removed, since nobody can be asked; --force does not ask"
            )
        if not sure:
            raise CommandError("nothing was removed")
    async with Progress("removing ACLs"):
        gone, outcomes = await AclAdmin(admin).delete(filters)
    status = _told_removed(gone, options)
    for outcome in outcomes:
        if outcome.code:
            say_error(refusal("an ACL", "removed", outcome, _STEPS.get(outcome.error, "")))
            status = 1
    return status


async def _described(admin: Admin, filters: Sequence[AclFilter]) -> list[AclBinding]:
    async with Progress("looking up ACLs"):
        found, outcome = await AclAdmin(admin).describe(filters)
    if outcome.code:
        step = _STEPS.get(outcome.error, "").replace("ALTER", "DESCRIBE", 1)
        raise CommandError(refusal("the list of ACLs", "read", outcome, step))
    return found


def _told_removed(gone: Sequence[AclBinding], options: argparse.Namespace) -> int:
    if options.json:
        print_json({"removed": _as_json(gone)})
    elif gone:
        print(f"Removed {counted(len(gone), 'ACL')}.")
        print(_table(gone))
    else:
        print("There is no such ACL; nothing was removed.")
    return 0


_ACTIONS: Final[Actions] = {
    "add": (_add, f"{_WHAT} {_WHO}"),
    "remove": (_remove, f"{_WHAT} {_WHO} force"),
    "list": (_list, f"{_WHAT} principal"),
}
"""What each action is done by, and the flags that go with it."""


# -- what is printed -------------------------------------------------------------------------------


def _is_deprecated(one: AclBinding) -> bool:
    entry = one.entry
    return entry.operation is Operation.IDEMPOTENT_WRITE and entry.permission is Permission.ALLOW


def _table(acls: Sequence[AclBinding]) -> str:
    rows = [("resource", "name", "pattern", "principal", "host", "operation", "permission")]
    rows += [
        (
            _resource(one),
            one.pattern.name,
            one.pattern.pattern_type.name.lower(),
            one.entry.principal,
            one.entry.host,
            one.entry.operation.name,
            one.entry.permission.name,
        )
        for one in acls
    ]
    return table(rows)


def _resource(one: AclBinding) -> str:
    """A topic resource whose name ends in a colon is a namespace."""
    kind, name = one.pattern.type, one.pattern.name
    if kind is ResourceType.TOPIC and name.endswith(DELIMITER):
        return "namespace"
    return kind.name.lower().replace("_", " ")


def _as_json(acls: Sequence[AclBinding]) -> list[dict[str, str]]:
    return [
        {
            "resource_type": one.pattern.type.name,
            "name": one.pattern.name,
            "pattern_type": one.pattern.pattern_type.name,
            "principal": one.entry.principal,
            "host": one.entry.host,
            "operation": one.entry.operation.name,
            "permission": one.entry.permission.name,
        }
        for one in acls
    ]


def _failed(refused: Sequence[tuple[AclBinding, Outcome]]) -> list[dict[str, str]]:
    return [
        {**_as_json([one])[0], "error": outcome.error, "message": outcome.message}
        for one, outcome in refused
    ]
