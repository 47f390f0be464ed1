"""``kafka-gateway explain``: what a name is to a client, and why. An operator's tool."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from gateway.acl_model import Operation, Resource
from gateway.acls.authorizer import Authorizer, load_authorizer
from gateway.catalog.snapshot import Snapshot
from gateway.commands import operator
from gateway.commands.explained import Explained, explain_name
from gateway.commands.failure import CommandError, UsageError
from gateway.commands.policies import as_json, policy_table
from gateway.commands.running import run
from gateway.commands.told import Progress, print_json, table
from gateway.config.models import Config, Listener
from gateway.config_file.loading import load_config
from gateway.identity import ANONYMOUS
from gateway.policies.applied import MIN_ISR, AppliedRule, applied_rules, is_hollow
from gateway.policies.tree import BUILT_IN, Policies
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View
from gateway.views.views import home_of, settings_of, view_settings

_NOBODY = ANONYMOUS.principal

_EXAMPLES = """\
examples:
  kafka-gateway explain --config gateway.yaml --name org:orders
  kafka-gateway explain --config gateway.yaml --principal User:alice --listener home --name orders
  kafka-gateway explain --config gateway.yaml --name org:apache: --json

exit status:
   0  explained, whether or not there is such a topic or namespace
   1  no such listener, or no catalog yet
   2  the command line cannot be understood
  69  the cluster, or its catalog, does not answer
  78  the configuration is refused
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand; its options' ``run`` returns the exit status."""
    parser = commands.add_parser(
        "explain",
        help="what a name is, where its configs and policies are set, who may do what with it",
        description="What a client's name stands for, read of the catalog and the cluster, and"
        " which policies of the configuration apply there.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--config", type=Path, required=True, metavar="FILE", help="YAML file")
    add("--name", required=True, metavar="N", help="a topic, or a namespace such as org:apache:")
    add("--principal", default=_NOBODY, metavar="P", help=f"who asks (default: {_NOBODY})")
    add("--host", default="127.0.0.1", metavar="H", help="from which IP address")
    add("--listener", metavar="L", help="whose view it is (default: the first one)")
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    config = load_config(options.config)
    return run(lambda: _explain(config, options))


async def _explain(config: Config, options: argparse.Namespace) -> int:
    listener = _listener(config, options.listener)
    if not options.name:
        raise UsageError("--name is empty; give it like org:orders")
    async with Progress("explaining"), operator.backend(config, read_only=True) as found:
        view = _view(config, listener, options.principal, found.catalog.snapshot)
        explained = await explain_name(options.name, view, found.cluster, found.admin)
        permitted = _permitted(config, view, options)
    policies = _policies(config, explained)
    if options.json:
        asked = {"name": options.name, "principal": options.principal, "listener": listener.name}
        home = {"home": view.settings.home or None, "permissions": _as_json(permitted)}
        more = {**explained.as_json(), **home, "policies": as_json(policies)}
        more["warnings"] = _warnings(config, explained)
        print_json({**asked, "cluster": config.clusters[0].name, **more})
    else:
        _print(explained, config, view, options)
        _print_policies(policies, options.config)
        _print_permissions(permitted)
        for warning in _warnings(config, explained):
            print(f"\nwarning: {warning}")
    return 0


def _warnings(config: Config, explained: Explained) -> list[str]:
    """What is as it was asked for, and not what it looks like."""
    namespace = explained.policies_of
    replicas = {one.key: one.value for one in explained.configs}.get(MIN_ISR, "")
    if namespace is None or not is_hollow(Policies(config.policies), namespace, replicas):
        return []
    return [
        f"its producers are held to acks=all, which one replica alone answers as {MIN_ISR} is"
        f" {replicas}; make it 2 (with 3 replicas)"
    ]


def _policies(config: Config, explained: Explained) -> list[AppliedRule]:
    """What applies to the topic, or to those in the namespace; nothing where it is no name."""
    namespace = explained.policies_of
    return [] if namespace is None else applied_rules(Policies(config.policies), namespace)


def _print_policies(policies: list[AppliedRule], file: Path) -> None:
    if not policies:
        return
    placed = [
        row if row.source == BUILT_IN else replace(row, source=f"{row.source} in {file}")
        for row in policies
    ]
    print()
    print(policy_table(placed))


def _permitted(
    config: Config, view: View, options: argparse.Namespace
) -> tuple[Permitted, ...] | None:
    """What the principal may do with what the name stands for; None: there are no ACLs."""
    authorizer = load_authorizer(config.authorization, lambda: None)
    if authorizer is None:
        return None
    authorizer.see(view.snapshot)
    access = AuthorizedAccess(view, options.principal, options.host, authorizer)
    named = access.topic_resource(options.name.encode())
    if named is None:
        return ()
    return permissions(authorizer, options.principal, options.host, named)


def _as_json(permitted: tuple[Permitted, ...] | None) -> list[dict[str, object]] | None:
    return None if permitted is None else [asdict(one) for one in permitted]


def _print_permissions(permitted: tuple[Permitted, ...] | None) -> None:
    if permitted is None:
        return
    rows = [(one.operation, "allowed" if one.allowed else "denied", one.rule) for one in permitted]
    print()
    print(table([("operation", "is", "because"), *rows]))


def _print(explained: Explained, config: Config, view: View, options: argparse.Namespace) -> None:
    rows = [
        ("name", options.name),
        ("principal", options.principal),
        ("listener", view.settings.listener),
        ("home", view.settings.home or "none"),
        ("cluster", config.clusters[0].name),
        *explained.rows(),
    ]
    print(table(rows))
    if explained.configs:
        print()
        head = ("config", "value", "source")
        print(table([head, *((one.key, one.value, one.source) for one in explained.configs)]))


def _listener(config: Config, name: str | None) -> Listener:
    if name is None:
        return config.listeners[0]
    for listener in config.listeners:
        if listener.name == name:
            return listener
    there = ", ".join(listener.name for listener in config.listeners)
    raise CommandError(f"there is no listener '{name}'; the listeners are {there}")


def _view(config: Config, listener: Listener, principal: str, snapshot: Snapshot) -> View:
    """The names as this principal sees them there: in its home, if it has one."""
    settings = view_settings(listener, config.clusters[0])
    return View(settings_of(settings, home_of(config.principals, snapshot, principal)), snapshot)


TOPIC_OPERATIONS: Final = (
    Operation.READ,
    Operation.WRITE,
    Operation.DESCRIBE,
    Operation.CREATE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
"""What can be done with a topic, those first that are asked about most."""


@dataclass(frozen=True, slots=True)
class Permitted:
    """One operation: whether it is allowed, and the ``rule``, an ACL or what stands for one."""

    operation: str
    allowed: bool
    rule: str


def permissions(
    authorizer: Authorizer, principal: str, host: str, named: Resource
) -> tuple[Permitted, ...]:
    """All operations on a topic or namespace."""
    found = []
    for operation in TOPIC_OPERATIONS:
        verdict = authorizer.authorize(principal, host, operation, named)
        found.append(Permitted(operation.name, verdict.allowed, verdict.rule))
    return tuple(found)
