"""``kafka-gateway explain``: the topic or namespace that a client's name stands for, and
why. An operator's tool."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from gateway.acl_model import Operation
from gateway.acls.authorizer import AuthorizerError, load_authorizer
from gateway.commands.actions import run
from gateway.commands.errors import CommandError, UsageError
from gateway.commands.explain_far import FarName, explain_far
from gateway.commands.explanation import Explained, explain_name
from gateway.commands.flags import Flag, fill_operator_parser
from gateway.commands.output import Output, Progress, counted, table
from gateway.commands.policies import policies_json, policy_table
from gateway.commands.resolution import resolution
from gateway.commands.viewed import viewed
from gateway.commands.volumes import CLUSTER_FLAG, of_cluster
from gateway.config.errors import key_text
from gateway.config.models import Config, Listener
from gateway.config.reach import mounts_of
from gateway.config_file.loading import load_config
from gateway.identity import ANONYMOUS, InvalidPrincipal, check_principal
from gateway.policies.applied import MIN_ISR, applied_rules, is_hollow
from gateway.policies.applied_text import AppliedRule
from gateway.policies.tree import BUILT_IN, Policies
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.spelling import volume_of
from gateway.views.trust import trusted
from gateway.views.view import View

_EXAMPLES = """\
examples:
  kafka-gateway explain --config gateway.yaml --name org:orders
  kafka-gateway explain --config gateway.yaml --principal User:alice --listener home --name orders
  kafka-gateway explain --config gateway.yaml --name org:apache: --json
  kafka-gateway explain --config tree.yaml --name :la:tracking:search:clicks
"""
_ANONYMOUS: Final = ANONYMOUS.principal
_FLAGS: Final = (
    CLUSTER_FLAG._replace(help="the cluster whose view is used (default: that of the name)"),
    Flag("--name", "N", "a topic, or a namespace such as org:apache:", {"required": True}),
    Flag("--principal", "P", "the client's (default: %(default)s)", {"default": _ANONYMOUS}),
    Flag("--host", "H", "the client's address (default: %(default)s)", {"default": "127.0.0.1"}),
    Flag("--listener", "L", "the listener it connects to (default: the first one, of the cluster)"),
    Flag("--all", "", "show configs that have Kafka's default, too (JSON has them always)"),
    Flag("--json", "", "print JSON"),
)


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    fill_operator_parser(
        parser,
        _FLAGS,
        _run,
        description="Explain what a client's name stands for, by the catalog and the cluster, and"
        " which policies of the configuration apply there.",
        examples=_EXAMPLES,
    )


def _run(options: argparse.Namespace) -> int:
    config = load_config(options.config)

    return run(lambda: _explain(config, options), options)


async def _explain(whole: Config, options: argparse.Namespace) -> Output:
    listener = _listener(whole, options)
    if not options.name:
        raise UsageError("--name is empty; give it like org:orders")
    try:
        check_principal(options.principal)
    except InvalidPrincipal as error:
        raise UsageError(f"--principal: {error}") from None
    async with Progress("explaining") as progress, viewed(whole, listener, options) as seen:
        if isinstance(seen, FarName):
            return await explain_far(whole, listener, options, seen, progress)
        config, found, view = seen
        explained = await explain_name(options.name, view, found.cluster.index, found.admin)
        permitted = _permitted(config, view, options)
    mounts = view.settings.mounts
    way = None if mounts is None else resolution(options.name, view, mounts)
    namespace = explained.policies_of
    policies = [] if namespace is None else applied_rules(Policies(config.policies), namespace)
    warnings = [*_warnings(config, explained), *_out_of_reach(whole, listener, view, options.name)]
    content = {
        "name": options.name,
        "principal": options.principal,
        "listener": listener.name,
        "cluster": config.clusters[0].name,
        **({} if way is None else way.as_json()),
        **explained.as_json(),
        "home": view.settings.home or None,
        "permissions": None if permitted is None else [one._asdict() for one in permitted],
        "policies": policies_json(policies),
        "warnings": warnings,
    }
    facts = [
        ("name", options.name),
        ("principal", options.principal),
        ("listener", view.settings.listener),
        ("home", view.settings.home or "none"),
        ("cluster", config.clusters[0].name),
        *(() if way is None else way.rows()),
        *explained.rows(),
    ]
    parts = [explained.answer(config.clusters[0].name), table(facts)]
    if permitted is not None:
        verdicts = [
            (one.operation, "allowed" if one.allowed else "denied", one.rule) for one in permitted
        ]
        parts.append(table([("operation", "is", "because"), *verdicts]))
    parts += _config_parts(explained, everything=options.all)
    if policies:
        parts.append(policy_table(_with_file(row, config, options.config) for row in policies))
    parts += [f"warning: {warning}" for warning in warnings]
    return Output(content, "\n\n".join(parts))


def _config_parts(explained: Explained, *, everything: bool) -> list[str]:
    """The table of configs that are set; with ``everything`` also Kafka's defaults."""
    shown = [one for one in explained.configs if everything or not one.is_default]
    left_out = len(explained.configs) - len(shown)
    parts = [table([("config", "value", "source"), *shown])] if shown else []
    if left_out:
        parts.append(f"{counted(left_out, 'config')} at Kafka's default, shown by --all")
    return parts


def _with_file(row: AppliedRule, config: Config, file: Path) -> AppliedRule:
    if row.source == BUILT_IN:
        return row
    *above, _ = config.key_of("policies")
    key = f"{key_text(tuple(above))}.{row.source}" if above else row.source
    return replace(row, source=f"{key} in {file}")


def _warnings(config: Config, explained: Explained) -> list[str]:
    """Warnings about settings that do not have the effect that their names promise."""
    namespace = explained.policies_of
    replicas = {one.key: one.value for one in explained.configs}.get(MIN_ISR, "")
    if namespace is None or not is_hollow(Policies(config.policies), namespace, replicas):
        return []
    return [
        f"its producers have to use acks=all, but {MIN_ISR} is {replicas}, so the leader may"
        f" acknowledge a record that no other replica has; set {MIN_ISR}=2 (with 3 replicas)"
    ]


class Permitted(NamedTuple):
    """An operation: whether it is allowed, and the ``rule``: an ACL, or a
    text if no ACL decides."""

    operation: str
    allowed: bool
    rule: str


def _permitted(config: Config, view: View, options: argparse.Namespace) -> list[Permitted] | None:
    """The operations on the name, with the verdict for the principal; None if there are no ACLs."""
    try:
        authorizer = load_authorizer(config.authorization, lambda: None)
    except AuthorizerError as error:
        raise CommandError(f"{error}; correct the configuration") from None
    if authorizer is None:
        return None
    authorizer.see(view.snapshot)
    principal = options.principal
    if not view.settings.is_relative:
        principal = trusted(config.clusters[0].trust, view.settings.listener, principal)
    access = AuthorizedAccess(view, principal, options.host, authorizer)
    named = access.topic_resource(options.name.encode())
    if named is None:
        return []
    found = []
    for operation in TOPIC_OPERATIONS:
        verdict = access.verdict(operation, named)
        found.append(Permitted(operation.name, verdict.allowed, verdict.rule))
    return found


def _out_of_reach(whole: Config, listener: Listener, view: View, name: str) -> list[str]:
    """A warning if the volume of a name is not in the listener's reach, because its clients
    cannot see such a volume."""
    mounts, reach = mounts_of(whole), listener.reach
    if mounts is None or reach is None:
        return []
    owner = volume_of(replace(view.settings, mounts=mounts), name)
    if owner is None or owner.path in reach:
        return []
    return [f"'{owner}' is not in the reach of listener '{listener.name}': add it to `reach`"]


def _listener(whole: Config, options: argparse.Namespace) -> Listener:
    if options.listener is None:
        if options.cluster is None:
            return whole.listeners[0]
        mount = of_cluster(whole, options.cluster).clusters[0].mount
        own = (one for one in whole.listeners if one.volume in (None, mount))
        return next(own, whole.listeners[0])
    for listener in whole.listeners:
        if listener.name == options.listener:
            return listener
    there = ", ".join(listener.name for listener in whole.listeners)
    raise CommandError(f"there is no listener '{options.listener}'; the listeners are {there}")


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
"""The operations on a topic, the most common operations first."""
