"""``kafka-gateway configs``: kafka-configs for topics and namespaces (KIP-37)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final, NamedTuple

from gateway.commands.actions import Action, Command, fill_client_parser
from gateway.commands.admin import DELETE, SET, Admin
from gateway.commands.answers import ConfigSource, Described, config_lines, configs_json
from gateway.commands.errors import CommandError, UsageError, rejection
from gateway.commands.flags import Flag
from gateway.commands.namespaces import (
    VIRTUAL,
    is_default,
    namespace_argument,
    namespace_resource,
    request_name,
    topic_argument,
)
from gateway.commands.output import Output, Progress
from gateway.commands.spelling import shown

_SET_SOMEWHERE = frozenset(
    {ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG}
)


class _Resource(NamedTuple):
    """A topic or namespace. ``kind`` is topic or namespace, ``written`` the name in a request."""

    kind: str
    name: str
    written: str

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"


def _resource(options: argparse.Namespace) -> _Resource:
    """The resource of the flags, spelled as the listener spells names if that is
    known. Raises UsageError."""
    namespace = options.namespace
    if options.topic is not None:
        name = topic_argument(options.topic, namespace)
        return _Resource("topic", str(name), request_name(name))
    if namespace is None or is_default(namespace):
        raise UsageError(
            "give --namespace, --topic or both; the default namespace has the cluster's configs"
        )
    return _Resource("namespace", shown(namespace), namespace_resource(namespace))


async def _describe(admin: Admin, options: argparse.Namespace) -> Output:
    resource = _resource(options)
    async with Progress(f"describing {resource}"):
        await admin.learn()
        resource = _resource(options)
        (described,) = await admin.describe([resource.written], synonyms=True)
    if described.outcome.code:
        raise CommandError(rejection(str(resource), "described", described.outcome))
    configs = [
        described.configs[key]
        for key in sorted(described.configs)
        if options.all or (described.configs[key].source in _SET_SOMEWHERE and key not in VIRTUAL)
    ]
    heading = "All configs" if options.all else "Configs"
    lines = [f"{heading} for {resource.kind} {resource.name} are:", *config_lines(configs)]
    content = {resource.kind: resource.name, "configs": configs_json(configs)}
    return Output(content, "\n".join(lines))


async def _alter(admin: Admin, options: argparse.Namespace) -> Output:
    resource = _resource(options)
    added = parse_configs(options.add_config or "")
    deleted = [key.strip() for key in (options.delete_config or "").split(",") if key.strip()]
    if not added and not deleted:
        raise UsageError("--alter needs --add-config, --delete-config or both")
    both = sorted(set(added) & set(deleted))
    if both:
        raise UsageError(f"'{both[0]}' is both added and deleted; keep one")
    changes: list[tuple[str, int, str | None]] = [(key, SET, added[key]) for key in added]
    changes += [(key, DELETE, None) for key in dict.fromkeys(deleted)]
    async with Progress(f"altering {resource}"):
        await admin.learn()
        resource = _resource(options)
        if deleted:
            (described,) = await admin.describe([resource.written])
            if described.outcome.code:
                raise CommandError(rejection(str(resource), "altered", described.outcome))
            _reject_unset(described, deleted, resource)
        outcome = await admin.alter(resource.written, changes, validate_only=options.validate_only)
    kind, name, _ = resource
    if outcome.code:
        step = ""
        if outcome.message.startswith("Unknown"):
            step = (
                f"see what keys there are: kafka-gateway configs --describe --all --{kind} {name}"
            )
        raise CommandError(rejection(str(resource), "altered", outcome, step))
    text = f"Completed updating config for {kind} {name}."
    if options.validate_only:
        text = f"Configs of {kind} {name} could be updated."
    return Output({kind: name, "altered": True, "validate_only": options.validate_only}, text)


def _reject_unset(described: Described, keys: Sequence[str], resource: _Resource) -> None:
    """Raises CommandError if a key is not set on the resource itself, as kafka-configs does."""
    source = ConfigSource.DYNAMIC_TOPIC_CONFIG
    own = {one.name for one in described.configs.values() if one.source == source}
    unset = [key for key in keys if key not in own]
    if unset:
        kind, name, _ = resource
        raise CommandError(
            f"{resource} was not altered: Invalid config(s): {','.join(unset)}, not set on "
            f"the {kind} itself; see what is: kafka-gateway configs --describe --{kind} {name}"
        )


def parse_configs(text: str) -> dict[str, str]:
    """Parse ``k=v,k=[a,b]`` as kafka-configs does: a value in brackets may hold commas.

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


_PATH: Final = {"type": namespace_argument}
_ALTERED: Final = "namespace topic add_config delete_config validate_only"

COMMAND: Final = Command(
    "configs",
    "Describe or alter the configs of a topic, or of a namespace, whose topics inherit them.",
    (
        "--describe --namespace org",
        "--describe --all --topic org:orders",
        "--alter --namespace org \\\n"
        "      --add-config retention.ms=60000,cleanup.policy=[compact,delete]",
        "--alter --namespace org --topic orders \\\n      --delete-config retention.ms",
    ),
    (
        Flag("--namespace", "NS", 'such as org:apache:kafka; "" is the default one', _PATH),
        Flag("--topic", "T", "a topic in that namespace, or with its namespace: org:orders"),
        Flag("--all", "", "describe: defaults as well"),
        Flag("--add-config", "K=V,K=[A,B]", "alter: set these"),
        Flag("--delete-config", "K,K", "alter: remove these, so that inherited values apply"),
        Flag("--validate-only", "", "alter: change nothing"),
    ),
    (
        Action("describe", "show what is set, and inherited", _describe, "namespace topic all"),
        Action("alter", "set configs, or remove them", _alter, _ALTERED),
    ),
)


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand."""
    fill_client_parser(parser, COMMAND)
