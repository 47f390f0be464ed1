"""``kafka-gateway configs``: kafka-configs for topics and namespaces (KIP-37)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from gateway.commands.admin import DELETE, SET, Admin
from gateway.commands.answers import (
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    Config,
    Described,
    as_json,
    lines,
)
from gateway.commands.failure import CommandError, UsageError
from gateway.commands.namespaces import (
    DELETING,
    SUB_NAMESPACES,
    TOPICS,
    is_default,
    namespace_argument,
    namespace_resource,
    sent,
    topic_argument,
)
from gateway.commands.running import add_client_arguments, run_client
from gateway.commands.told import Progress, print_json, refusal

_EXAMPLES = """\
examples:
  kafka-gateway configs --bootstrap-server localhost:9192 --describe --namespace org
  kafka-gateway configs --bootstrap-server localhost:9192 --describe --all --topic org:orders
  kafka-gateway configs --bootstrap-server localhost:9192 --alter --namespace org \\
      --add-config retention.ms=60000,cleanup.policy=[compact,delete]
  kafka-gateway configs --bootstrap-server localhost:9192 --alter --namespace org --topic orders \\
      --delete-config retention.ms

exit status:
   0  done
   1  refused; standard error says why, and what to do next
   2  the command line cannot be understood
  69  no gateway answers at that address, or not in time
"""

_SET_SOMEWHERE = frozenset({DYNAMIC_TOPIC_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG})
_VIRTUAL = frozenset({SUB_NAMESPACES, TOPICS, DELETING})


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand; its options' ``run`` returns the exit status."""
    parser = commands.add_parser(
        "configs",
        help="describe and alter the configs of namespaces and topics (KIP-37)",
        description="Configs of a namespace, inherited by what is below, or of a topic.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_client_arguments(parser)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--describe", action="store_true", help="what is set, and inherited")
    action.add_argument("--alter", action="store_true", help="set configs, or take them off")
    add = parser.add_argument
    add("--namespace", metavar="NS", help='such as org:apache:kafka; "" is the default one')
    add("--topic", metavar="T", help="a topic in that namespace, or with it: org:orders")
    add("--all", action="store_true", help="describe: defaults as well")
    add("--add-config", metavar="K=V,K=[A,B]", help="alter: set these")
    add("--delete-config", metavar="K,K", help="alter: take these off, so that others hold")
    add("--validate-only", action="store_true", help="alter: change nothing")
    parser.set_defaults(run=lambda options: run_client(_configs, options))


async def _configs(admin: Admin, options: argparse.Namespace) -> int:
    kind, shown, resource = _resource(options)
    if options.describe:
        for flag in ("add_config", "delete_config", "validate_only"):
            if getattr(options, flag):
                shown_flag = "--" + flag.replace("_", "-")
                raise UsageError(f"{shown_flag} does not go with --describe but with --alter")
        return await _describe(admin, options, kind, shown, resource)
    if options.all:
        raise UsageError("--all does not go with --alter but with --describe")
    return await _alter(admin, options, kind, shown, resource)


def _resource(options: argparse.Namespace) -> tuple[str, str, str]:
    """``topic`` or ``namespace``, its name, and its name in a request."""
    namespace = None if options.namespace is None else namespace_argument(options.namespace)
    if options.topic is not None:
        name = topic_argument(options.topic, namespace)
        return "topic", str(name), sent(name)
    if namespace is None or is_default(namespace):
        raise UsageError(
            "give --namespace, --topic or both; the default namespace has the cluster's configs"
        )
    return "namespace", namespace, namespace_resource(namespace)


async def _describe(
    admin: Admin, options: argparse.Namespace, kind: str, shown: str, resource: str
) -> int:
    async with Progress(f"describing {kind} '{shown}'"):
        (described,) = await admin.describe([resource], synonyms=True)
    if described.outcome.code:
        raise CommandError(refusal(f"{kind} '{shown}'", "described", described.outcome))
    configs = _chosen(described, every=options.all)
    if options.json:
        print_json({kind: shown, "configs": as_json(configs)})
        return 0
    what = "All configs" if options.all else "Configs"
    print(f"{what} for {kind} {shown} are:")
    for line in lines(configs):
        print(line)
    return 0


def _chosen(described: Described, *, every: bool) -> list[Config]:
    """Sorted by key: all of them, or those that the thing or a namespace above it sets."""
    configs = [described.configs[key] for key in sorted(described.configs)]
    if every:
        return configs
    return [one for one in configs if one.source in _SET_SOMEWHERE and one.name not in _VIRTUAL]


async def _alter(
    admin: Admin, options: argparse.Namespace, kind: str, shown: str, resource: str
) -> int:
    added = parse_configs(options.add_config or "")
    deleted = [key.strip() for key in (options.delete_config or "").split(",") if key.strip()]
    if not added and not deleted:
        raise UsageError("--alter needs --add-config, --delete-config or both")
    both = sorted(set(added) & set(deleted))
    if both:
        raise UsageError(f"'{both[0]}' is both added and deleted; keep one")
    changes: list[tuple[str, int, str | None]] = [(key, SET, added[key]) for key in added]
    changes += [(key, DELETE, None) for key in dict.fromkeys(deleted)]
    async with Progress(f"altering {kind} '{shown}'"):
        if deleted:
            (described,) = await admin.describe([resource])
            if described.outcome.code:
                raise CommandError(refusal(f"{kind} '{shown}'", "altered", described.outcome))
            _refuse_unset(described, deleted, kind, shown)
        outcome = await admin.alter(resource, changes, validate_only=options.validate_only)
    if outcome.code:
        step = ""
        if outcome.message.startswith("Unknown"):
            step = (
                f"see what keys there are: kafka-gateway configs --describe --all --{kind} {shown}"
            )
        raise CommandError(refusal(f"{kind} '{shown}'", "altered", outcome, step))
    if options.json:
        print_json({kind: shown, "altered": True, "validate_only": options.validate_only})
    elif options.validate_only:
        print(f"Configs of {kind} {shown} could be updated.")
    else:
        print(f"Completed updating config for {kind} {shown}.")
    return 0


def _refuse_unset(described: Described, keys: Sequence[str], kind: str, shown: str) -> None:
    """Raises CommandError for keys that are not set on the thing itself, as kafka-configs does."""
    own = {one.name for one in described.configs.values() if one.source == DYNAMIC_TOPIC_CONFIG}
    unset = [key for key in keys if key not in own]
    if unset:
        raise CommandError(
            f"{kind} '{shown}' was not altered: Invalid config(s): {','.join(unset)}, not set on "
            f"the {kind} itself; see what is: kafka-gateway configs --describe --{kind} {shown}"
        )


def parse_configs(text: str) -> dict[str, str]:
    """``k=v,k=[a,b]`` as kafka-configs reads it: a value in brackets may hold commas.

    Raises UsageError.
    """
    found: dict[str, str] = {}
    rest = text.strip()
    while rest:
        key, equals, after = rest.partition("=")
        key = key.strip()
        if not equals or not key or "," in key:
            raise UsageError(f"'{rest}' is not KEY=VALUE; write it like retention.ms=60000")
        if after.startswith("["):
            value, bracket, rest = after[1:].partition("]")
            if not bracket or (rest.strip() and not rest.lstrip().startswith(",")):
                raise UsageError(f"'{key}={after}' has no closing bracket before the next comma")
            rest = rest.strip().removeprefix(",")
        else:
            value, _, rest = after.partition(",")
        if key in found:
            raise UsageError(f"'{key}' is given twice; keep one")
        found[key] = value.strip()
        rest = rest.strip()
    return found
