"""``topics --describe`` and ``--list``: topics as kafka-topics shows them, or namespaces."""

from __future__ import annotations

import argparse
import base64
import uuid
from collections.abc import Mapping
from typing import Final

from gateway.commands.admin import Admin
from gateway.commands.answers import Config, Topic, config_lines, configs_json, not_defaults
from gateway.commands.errors import CommandError, UsageError, rejection
from gateway.commands.namespaces import (
    DELETING,
    ROOT,
    TOPICS,
    VIRTUAL,
    Name,
    is_default,
    missing_namespace,
    namespace_resource,
    namespace_text,
    namespaces_below,
    request_name,
    require_namespace,
    sub_namespaces,
    topic_argument,
    topics_by_namespace,
)
from gateway.commands.output import Output, Progress
from gateway.commands.spelling import shown
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.mirror_maker import DEFAULT
from gateway.names import DELIMITER, LogicalName


async def describe(admin: Admin, options: argparse.Namespace) -> Output:
    """Describe a topic, or a namespace, or every topic of the default
    namespace. Raises CommandError."""
    async with Progress("describing"):
        if options.topic is not None:
            name = topic_argument(options.topic, options.namespace)
            topics = await _topic(admin, name, options)
        elif options.namespace == ROOT:
            raise UsageError("topics of the root are described one at a time: give --topic as well")
        elif options.namespace:
            return await _describe_namespace(admin, options.namespace, options)
        else:
            listed = await topics_by_namespace(admin)
            topics = {Name("", name): topic for name, topic in listed.get("", {}).items()}
        configs = await _configs(admin, topics)
    described = [(name, topic, configs[name]) for name, topic in topics.items()]
    content = {"topics": [_topic_json(*one) for one in described]}
    return Output(content, "\n".join(_topic_text(*one) for one in described))


async def _topic(
    admin: Admin, name: LogicalName, options: argparse.Namespace
) -> dict[LogicalName, Topic]:
    (topic,) = await admin.topics([request_name(name)])
    if topic.outcome.code == 0:
        return {name: topic}
    if topic.outcome.code == UNKNOWN_TOPIC_OR_PARTITION:
        if options.if_exists:
            return {}
        await require_namespace(admin, name.namespace)
        where = "" if is_default(name.namespace) else f" --namespace {shown(name.namespace)}"
        raise CommandError(
            f"topic '{name}' does not exist; see what does: kafka-gateway topics --list{where}"
        )
    raise CommandError(rejection(f"topic '{name}'", "described", topic.outcome))


async def _configs(
    admin: Admin, topics: Mapping[LogicalName, Topic]
) -> dict[LogicalName, list[Config]]:
    """The configs of topics that are not defaults, as kafka-topics shows them; sorted by key.
    They are requested by the names in the listener's response, because the listener reads
    these as the topics' names."""
    found = await admin.describe([topic.name for topic in topics.values()])
    configs = {}
    for name, described in zip(topics, found, strict=True):
        # If a topic has gone since it was listed, it is shown as it was listed.
        if described.outcome.code not in (0, UNKNOWN_TOPIC_OR_PARTITION):
            raise CommandError(rejection(f"topic '{name}'", "described", described.outcome))
        configs[name] = not_defaults(described.configs.values())
    return configs


def _topic_text(name: LogicalName, topic: Topic, configs: list[Config]) -> str:
    partitions = topic.partitions
    replicas = len(partitions[0].replicas) if partitions else 0
    heading = (
        f"Topic: {name}\tTopicId: {id_text(topic.topic_id)}\tPartitionCount: {len(partitions)}"
        f"\tReplicationFactor: {replicas}"
        f"\tConfigs: {','.join(f'{config.name}={config.value}' for config in configs)}"
    )
    lines = [
        f"\tTopic: {name}\tPartition: {one.index}"
        f"\tLeader: {one.leader if one.leader >= 0 else 'none'}"
        f"\tReplicas: {','.join(map(str, one.replicas))}\tIsr: {','.join(map(str, one.isr))}"
        for one in partitions
    ]
    return "\n".join([heading, *lines])


def _topic_json(name: LogicalName, topic: Topic, configs: list[Config]) -> dict[str, object]:
    return {
        "name": str(name),
        "namespace": shown(name.namespace),
        "topic": name.topic,
        "topic_id": id_text(topic.topic_id),
        "partitions": [
            {
                "partition": one.index,
                "leader": one.leader if one.leader >= 0 else None,
                "replicas": list(one.replicas),
                "isr": list(one.isr),
            }
            for one in topic.partitions
        ],
        "configs": configs_json(configs),
    }


async def _describe_namespace(admin: Admin, path: str, options: argparse.Namespace) -> Output:
    (described,) = await admin.describe([namespace_resource(path)], synonyms=True)
    code = described.outcome.code
    if code == UNKNOWN_TOPIC_OR_PARTITION:
        if options.if_exists:
            return Output({"namespace": shown(path), "state": "absent"})
        raise CommandError(missing_namespace(path))
    if code:
        raise CommandError(rejection(namespace_text(path), "described", described.outcome))
    inside = [*map(shown, sub_namespaces(described))]
    topics = int(described.value(TOPICS) or 0)
    deleting = bool(described.value(DELETING))
    configs = [one for one in not_defaults(described.configs.values()) if one.name not in VIRTUAL]
    content = {
        "namespace": shown(path),
        "deleting": deleting,
        "namespaces": inside,
        "topics": topics,
        "configs": configs_json(configs),
    }
    mark = "\tMarked for deletion" if deleting else ""
    heading = f"Namespace: {shown(path)}\tTopics: {topics}\tNamespaces: {','.join(inside)}{mark}"
    return Output(content, "\n".join([heading, *config_lines(configs)]))


def id_text(topic_id: uuid.UUID | None) -> str:
    """A topic id as Kafka writes it (org.apache.kafka.common.Uuid): URL-safe base64."""
    if topic_id is None:
        return "none"
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


_NOT_LISTED: Final = (
    "a listing holds the topics of the listener's own cluster and home; for those of another"
    " cluster of a tree use one of its listeners, or kafka-gateway tree"
)


async def list_names(admin: Admin, options: argparse.Namespace) -> Output:
    """List the names of namespaces, which end in a colon (``org:apache:``), and of topics.

    If ``--namespace`` is not given, only the topics of the default namespace are listed, as
    kafka-topics lists topics without namespaces. Raises CommandError.
    """
    if options.recursive and options.namespace is None:
        raise UsageError('--recursive needs --namespace with --list; "" is the default one')
    namespace = options.namespace or ""
    if namespace == ROOT:
        raise UsageError(
            "--namespace : cannot be listed here; a listener without a home lists the root, and "
            '"" is this listener\'s default namespace'
        )
    below: dict[str, bool] = {}
    async with Progress("listing"):
        if options.namespace is not None:
            below = await namespaces_below(admin, namespace)
        topics = await topics_by_namespace(admin)
    inside = [namespace, *below] if options.recursive else [namespace]
    names = {
        Name(path, topic): kind
        for path in inside
        for topic, listed in topics.get(path, {}).items()
        if (kind := DEFAULT.kind(listed.name)) == "user" or not options.exclude_internal
    }
    content: dict[str, object] = {"namespace": shown(namespace)}
    if options.namespace is not None:
        content["namespaces"] = [*map(shown, below)]
        content["deleting"] = [shown(path) for path, deleting in below.items() if deleting]
    content["topics"] = [
        {
            "name": str(name),
            "namespace": shown(name.namespace),
            "topic": name.topic,
            "kind": names[name],
        }
        for name in sorted(names)
    ]
    lines = [
        namespace_resource(path) + (" - marked for deletion" if deleting else "")
        for path, deleting in below.items()
    ]
    notes = []
    if namespace.startswith(DELIMITER) and not names:
        notes.append(_NOT_LISTED)
    return Output(content, "\n".join([*lines, *map(str, sorted(names))]), notes)
