"""``topics --create``: a namespace with every tier above it, or a topic (KIP-37: Create)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from gateway.commands.actions import reject_flags
from gateway.commands.admin import Admin
from gateway.commands.answers import Created, configs_json, not_defaults, source_name
from gateway.commands.errors import CommandError, UsageError, rejection
from gateway.commands.groups.carriage import warnings_of_groups
from gateway.commands.namespaces import (
    is_default,
    namespace_resource,
    namespace_text,
    request_name,
    topic_argument,
    topics_by_namespace,
)
from gateway.commands.output import Output, Progress, table
from gateway.commands.policies import Applied, applied_text, of_namespace, of_topic, policies_json
from gateway.commands.spelling import shown
from gateway.error_codes import INVALID_TOPIC_EXCEPTION, POLICY_VIOLATION

TOPIC_ALREADY_EXISTS: Final = 36
ADOPT: Final = "gateway.adopt"


async def create(admin: Admin, options: argparse.Namespace) -> Output:
    """Create a topic or a namespace. Raises CommandError if the options contradict each other."""
    configs = parse_pairs(options.config or ())
    if options.topic is None:
        return await _create_namespace(admin, options, configs)
    reject_flags(
        options, "adopt_existing", "goes with a namespace to be created; --adopt adopts a topic"
    )
    name = topic_argument(options.topic, options.namespace)
    applied = None
    async with Progress(f"creating topic '{name}'"):
        created = await admin.create(
            request_name(name),
            partitions=options.partitions,
            replication_factor=options.replication_factor,
            configs=configs,
            validate_only=options.validate_only,
        )
        if options.validate_only:
            applied = await of_topic(admin, name)
    step = ""
    if created.message.startswith("InvalidNamespaceException"):
        step = f"kafka-gateway topics --create --namespace {shown(name.namespace)}"
    return _output(created, options, "topic", str(name), step, applied)


async def _create_namespace(
    admin: Admin, options: argparse.Namespace, configs: dict[str, str]
) -> Output:
    path: str | None = options.namespace
    if path is None or is_default(path):
        raise UsageError("--create needs --namespace, --topic or both; the default one exists")
    reject_flags(
        options, "partitions replication_factor", "is for topics: give --topic, or leave it out"
    )
    if options.adopt_existing:
        configs = {**configs, ADOPT: "true"}
    applied = None
    async with Progress(f"creating {namespace_text(path)}"):
        created = await admin.create(
            namespace_resource(path), configs=configs, validate_only=options.validate_only
        )
        if options.validate_only:
            applied = await of_namespace(admin, path)
    step = ""
    if created.code == INVALID_TOPIC_EXCEPTION and ADOPT in created.message:
        step = "--adopt-existing makes them the namespace's own"
    output = _output(created, options, "namespace", shown(path), step, applied)
    if options.adopt_existing and not options.validate_only:
        topics = (await topics_by_namespace(admin)).get(path, {})
        names = [topic.name for topic in topics.values()]
        return output._replace(notes=await warnings_of_groups(admin, names, path))
    return output


def parse_pairs(texts: Sequence[str]) -> dict[str, str]:
    """Parse ``["k=v"]`` into a mapping. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(
                f"--config '{text}' is not KEY=VALUE; write it like retention.ms=60000"
            )
        found[key.strip()] = value.strip()
    return found


def _output(
    created: Created,
    options: argparse.Namespace,
    kind: str,
    name: str,
    step: str,
    applied: Applied | None,
) -> Output:
    """The result of a creation. ``applied``: the policies that apply, with --validate-only."""
    exists = created.code == TOPIC_ALREADY_EXISTS
    # An attempt whose response was lost may have created the topic or namespace.
    done = created.code == 0 or (exists and created.repeated and applied is None)
    accepted = done or (exists and options.if_not_exists)
    output = Output({kind: name, "created": done, "validate_only": False})
    if applied is not None:
        output = validated(kind, name, created, applied, accepted=accepted)
    elif accepted:
        created_text = f"Created {kind} {name}."
        text = created_text if done else f"{kind.capitalize()} {name} exists already."
        output = output._replace(text=text)
    if accepted:
        return output
    if exists:
        step = "choose another name, or pass --if-not-exists"
    elif created.code == POLICY_VIOLATION and applied is None:
        step = (
            f"see what applies there: kafka-gateway topics --create --validate-only --{kind} {name}"
        )
    reason = rejection(f"{kind} '{name}'", "created", created, step)
    if applied is None:
        raise CommandError(reason)
    return output._replace(notes=(*output.notes, reason), failed=True)


def validated(
    kind: str, name: str, created: Created, applied: Applied, *, accepted: bool
) -> Output:
    """The topic that would be created, and the policies that apply to it.

    In JSON ``error`` is Kafka's name of the error with which the request would be rejected, or
    null; ``policies_of`` is the namespace in which ``policies`` apply.
    """
    configs = not_defaults(created.configs)
    parts = []
    if accepted and created.code:
        parts.append(f"{kind.capitalize()} {name} exists already.")
    elif accepted:
        text = f"{kind.capitalize()} {name} could be created."
        if created.partitions is not None:  # a namespace has no partitions, nor had old versions
            text += f"\nPartitionCount: {created.partitions}"
            text += f"\tReplicationFactor: {created.replication_factor}"
        parts.append(text)
        if configs:
            rows = [(one.name, one.value or "", source_name(one.source)) for one in configs]
            parts.append(table([("config", "value", "source"), *rows]))
    if applied.rows is not None:
        elsewhere = kind == "namespace" and shown(applied.namespace) != name
        heading = f"In and below namespace {shown(applied.namespace)}:\n" if elsewhere else ""
        parts.append(heading + applied_text(applied))
    content = {
        kind: name,
        "created": created.code == 0,
        "validate_only": True,
        "error": None if accepted else created.error,
        "message": None if accepted else created.message,
        "partitions": created.partitions,
        "replication_factor": created.replication_factor,
        "configs": configs_json(configs),
        "policies_of": shown(applied.namespace),
        "policies": policies_json(applied.rows),
        "more_policies": applied.more,
    }
    # If the name itself is rejected, the reason why policies are not known does not matter.
    tells = applied.why and (accepted or created.code == POLICY_VIOLATION)
    return Output(content, "\n\n".join(parts), (applied.why,) if tells else ())
