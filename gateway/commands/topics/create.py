"""``topics --create``: a namespace with every tier above it, or a topic (KIP-37: Create)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Final

from gateway.commands.admin import Admin
from gateway.commands.answers import DEFAULT_CONFIG, Config, Created, source_name
from gateway.commands.answers import as_json as configs_as_json
from gateway.commands.failure import CommandError, UsageError
from gateway.commands.groups.carriage import groups_left, warn
from gateway.commands.namespaces import (
    is_default,
    namespace_argument,
    namespace_resource,
    sent,
    shown_namespace,
    topic_argument,
    topics_by_namespace,
)
from gateway.commands.policies import Applied, as_json, lines, of_namespace, of_topic
from gateway.commands.told import Progress, print_json, refusal, say_error, table
from gateway.error_codes import INVALID_TOPIC_EXCEPTION, POLICY_VIOLATION

TOPIC_ALREADY_EXISTS: Final = 36
ADOPT: Final = "gateway.adopt"


async def create(admin: Admin, options: argparse.Namespace) -> int:
    """Raises CommandError when it is refused."""
    configs = pairs(options.config or ())
    namespace = None if options.namespace is None else namespace_argument(options.namespace)
    if options.topic is None:
        return await _namespace(admin, options, namespace, configs)
    if options.adopt_existing:
        raise UsageError(
            "--adopt-existing goes with a namespace that is made; a topic is adopted by --adopt"
        )
    name = topic_argument(options.topic, namespace)
    applied = None
    async with Progress(f"creating topic '{name}'"):
        outcome = await admin.create(
            sent(name),
            partitions=options.partitions,
            replication_factor=options.replication_factor,
            configs=configs,
            validate_only=options.validate_only,
        )
        if options.validate_only:
            applied = await of_topic(admin, name)
    step = ""
    if outcome.message.startswith("InvalidNamespaceException"):
        step = f"kafka-gateway topics --create --namespace {name.namespace}"
    return _told(outcome, options, "topic", str(name), step, applied)


async def _namespace(
    admin: Admin, options: argparse.Namespace, namespace: str | None, configs: dict[str, str]
) -> int:
    if namespace is None or is_default(namespace):
        raise UsageError("--create needs --namespace, --topic or both; the default one exists")
    for flag in ("partitions", "replication_factor"):
        if getattr(options, flag) is not None:
            shown = "--" + flag.replace("_", "-")
            raise UsageError(f"{shown} is for topics: give --topic, or leave it out")
    if options.adopt_existing:
        configs = {**configs, ADOPT: "true"}
    applied = None
    async with Progress(f"creating {shown_namespace(namespace)}"):
        outcome = await admin.create(
            namespace_resource(namespace), configs=configs, validate_only=options.validate_only
        )
        if options.validate_only:
            applied = await of_namespace(admin, namespace)
    step = ""
    if outcome.code == INVALID_TOPIC_EXCEPTION and ADOPT in outcome.message:
        step = "--adopt-existing makes those topics the namespace's own"
    status = _told(outcome, options, "namespace", namespace, step, applied)
    if options.adopt_existing and not options.validate_only:
        topics = (await topics_by_namespace(admin)).get(namespace, {})
        names = [topic.name for topic in topics.values()]
        warn(await groups_left(admin, names, namespace), namespace, options)
    return status


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """``["k=v"]`` as a mapping. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(
                f"--config '{text}' is not KEY=VALUE; write it like retention.ms=60000"
            )
        found[key.strip()] = value.strip()
    return found


def _told(
    outcome: Created,
    options: argparse.Namespace,
    kind: str,
    name: str,
    step: str,
    applied: Applied | None,
) -> int:
    """``applied``: which policies do apply, where nothing was to be made."""
    exists = outcome.code == TOPIC_ALREADY_EXISTS
    # An attempt whose answer was lost may be what made it.
    created = outcome.code == 0 or (exists and outcome.repeated and applied is None)
    accepted = created or (exists and options.if_not_exists)
    if applied is not None:
        show = show_validated_json if options.json else show_validated
        show(kind, name, outcome, applied, accepted=accepted)
    if not accepted:
        if exists:
            step = "choose another name, or pass --if-not-exists"
        elif outcome.code == POLICY_VIOLATION and applied is None:
            step = (
                "see what applies there: kafka-gateway topics --create --validate-only "
                f"--{kind} {name}"
            )
        raise CommandError(refusal(f"{kind} '{name}'", "created", outcome, step))
    if applied is not None:
        return 0
    if options.json:
        print_json({kind: name, "created": created, "validate_only": False})
    elif not created:
        print(f"{kind.capitalize()} {name} exists already.")
    else:
        print(f"Created {kind} {name}.")
    return 0


def show_validated(
    kind: str, name: str, created: Created, applied: Applied, *, accepted: bool
) -> None:
    """Print what would be made, for people. Others say why it is not ``accepted``."""
    shown = []
    if accepted and created.code:
        shown.append(f"{kind.capitalize()} {name} exists already.")
    elif accepted:
        shown.append(
            "\n".join([f"{kind.capitalize()} {name} could be created.", *_counts(created)])
        )
        if _set(created):
            shown.append(_config_table(created))
    if applied.rows is not None:
        heading = ""
        if kind == "namespace" and applied.namespace != name:
            heading = f"In and below namespace {applied.namespace}:\n"
        shown.append(heading + lines(applied))
    if shown:
        print("\n\n".join(shown))
    _say_why(created, applied, accepted=accepted)


def show_validated_json(
    kind: str, name: str, created: Created, applied: Applied, *, accepted: bool
) -> None:
    """The same for programs. ``error`` is Kafka's name of what it is refused for, or null;
    ``policies_of`` the namespace that ``policies`` apply in."""
    print_json(
        {
            kind: name,
            "created": created.code == 0,
            "validate_only": True,
            "error": None if accepted else created.error,
            "message": None if accepted else created.message,
            "partitions": created.partitions,
            "replication_factor": created.replication_factor,
            "configs": configs_as_json(_set(created)),
            "policies_of": applied.namespace,
            "policies": as_json(applied.rows),
            "more_policies": applied.more,
        }
    )
    _say_why(created, applied, accepted=accepted)


def _say_why(created: Created, applied: Applied, *, accepted: bool) -> None:
    """Why no policies are told, unless something else is the matter with the name."""
    if applied.why and (accepted or created.code == POLICY_VIOLATION):
        say_error(applied.why)


def _counts(created: Created) -> Iterator[str]:
    """As ``topics --describe`` shows them; a namespace has none, and old versions tell none."""
    if created.partitions is not None:
        yield (
            f"PartitionCount: {created.partitions}\tReplicationFactor: {created.replication_factor}"
        )


def _config_table(created: Created) -> str:
    rows = [(one.name, one.value or "", source_name(one.source)) for one in _set(created)]
    return table([("config", "value", "source"), *rows])


def _set(created: Created) -> list[Config]:
    """What is not a default, sorted by key, as topics --describe shows it."""
    told = sorted(created.configs, key=lambda one: one.name)
    return [one for one in told if one.source != DEFAULT_CONFIG]
