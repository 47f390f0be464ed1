"""``topics --describe``: topics as kafka-topics describes them, or a namespace."""

from __future__ import annotations

import argparse
import base64
import uuid
from collections.abc import Mapping

from gateway.commands.admin import Admin
from gateway.commands.answers import DEFAULT_CONFIG, Config, Described, Topic, as_json, lines
from gateway.commands.failure import CommandError, UsageError
from gateway.commands.namespaces import (
    DELETING,
    ROOT,
    SUB_NAMESPACES,
    TOPICS,
    Name,
    existing_namespaces,
    is_default,
    namespace_argument,
    namespace_resource,
    namespaces_below,
    require_namespace,
    sent,
    shown_namespace,
    topic_argument,
    topics_by_namespace,
)
from gateway.commands.told import Progress, print_json, refusal
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import LogicalName


async def describe(admin: Admin, options: argparse.Namespace) -> int:
    """A topic, or a namespace, or every topic of the default one. Raises CommandError."""
    namespace = None if options.namespace is None else namespace_argument(options.namespace)
    async with Progress("describing"):
        if options.topic is not None:
            topics = await _topic(admin, topic_argument(options.topic, namespace), options)
        elif namespace == ROOT:
            raise UsageError("topics of the root are described one at a time: give --topic as well")
        elif namespace:
            return await _namespace(admin, namespace, options)
        else:
            listed = await topics_by_namespace(admin)
            topics = {Name("", name): topic for name, topic in listed.get("", {}).items()}
        configs = await _configs(admin, list(topics))
    if options.json:
        print_json(
            {"topics": [_topic_json(name, one, configs[name]) for name, one in topics.items()]}
        )
        return 0
    for name, topic in topics.items():
        print("\n".join(_topic_lines(name, topic, configs[name])))
    return 0


async def _topic(
    admin: Admin, name: LogicalName, options: argparse.Namespace
) -> dict[LogicalName, Topic]:
    (topic,) = await admin.topics([sent(name)])
    if topic.outcome.code == 0:
        return {name: topic}
    if topic.outcome.code == UNKNOWN_TOPIC_OR_PARTITION:
        if options.if_exists:
            return {}
        await require_namespace(admin, name.namespace)
        where = "" if is_default(name.namespace) else f" --namespace {name.namespace}"
        raise CommandError(
            f"topic '{name}' does not exist; see what does: kafka-gateway topics --list{where}"
        )
    raise CommandError(refusal(f"topic '{name}'", "described", topic.outcome))


async def _configs(admin: Admin, names: list[LogicalName]) -> dict[LogicalName, list[Config]]:
    """What is not a default, as kafka-topics shows it; sorted by key."""
    namespaces = await existing_namespaces(admin, (name.topic for name in names))
    found = await admin.describe([sent(name, namespaces) for name in names])
    configs = {}
    for name, described in zip(names, found, strict=True):
        # One that went since it was listed is shown as it was listed.
        if described.outcome.code not in (0, UNKNOWN_TOPIC_OR_PARTITION):
            raise CommandError(refusal(f"topic '{name}'", "described", described.outcome))
        configs[name] = _set(described.configs)
    return configs


def _set(configs: Mapping[str, Config]) -> list[Config]:
    return [configs[key] for key in sorted(configs) if configs[key].source != DEFAULT_CONFIG]


def _topic_lines(name: LogicalName, topic: Topic, configs: list[Config]) -> list[str]:
    partitions = topic.partitions
    heading = [
        f"Topic: {name}",
        f"TopicId: {id_text(topic.topic_id)}",
        f"PartitionCount: {len(partitions)}",
        f"ReplicationFactor: {len(partitions[0].replicas) if partitions else 0}",
        f"Configs: {','.join(f'{config.name}={config.value}' for config in configs)}",
    ]
    found = ["\t".join(heading)]
    for one in partitions:
        cells = [
            f"\tTopic: {name}",
            f"Partition: {one.index}",
            f"Leader: {one.leader if one.leader >= 0 else 'none'}",
            f"Replicas: {','.join(map(str, one.replicas))}",
            f"Isr: {','.join(map(str, one.isr))}",
        ]
        found.append("\t".join(cells))
    return found


def _topic_json(name: LogicalName, topic: Topic, configs: list[Config]) -> dict[str, object]:
    return {
        "name": str(name),
        "namespace": name.namespace,
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
        "configs": as_json(configs),
    }


async def _namespace(admin: Admin, path: str, options: argparse.Namespace) -> int:
    (described,) = await admin.describe([namespace_resource(path)], synonyms=True)
    code = described.outcome.code
    if code == UNKNOWN_TOPIC_OR_PARTITION and options.if_exists:
        if options.json:
            print_json({"namespace": path, "state": "absent"})
        return 0
    if code == UNKNOWN_TOPIC_OR_PARTITION:
        raise CommandError(
            f"{shown_namespace(path)} does not exist; see what does: "
            'kafka-gateway topics --list --namespace ""'
        )
    if code:
        raise CommandError(refusal(shown_namespace(path), "described", described.outcome))
    _print_namespace(path, described, json=options.json)
    return 0


def _print_namespace(path: str, described: Described, *, json: bool) -> None:
    inside = [name for name in described.value(SUB_NAMESPACES).split(",") if name]
    topics = int(described.value(TOPICS) or 0)
    deleting = bool(described.value(DELETING))
    configs = [one for one in _set(described.configs) if one.name not in _VIRTUAL]
    if json:
        content = {
            "namespace": path,
            "deleting": deleting,
            "namespaces": inside,
            "topics": topics,
            "configs": as_json(configs),
        }
        print_json(content)
        return
    mark = "\tMarked for deletion" if deleting else ""
    print(f"Namespace: {path}\tTopics: {topics}\tNamespaces: {','.join(inside)}{mark}")
    for line in lines(configs):
        print(line)


_VIRTUAL = frozenset({SUB_NAMESPACES, TOPICS, DELETING})


def id_text(topic_id: uuid.UUID | None) -> str:
    """A topic id as Kafka writes it (org.apache.kafka.common.Uuid): URL-safe base64."""
    if topic_id is None:
        return "none"
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


async def list_names(admin: Admin, options: argparse.Namespace) -> int:
    """Namespaces end in a colon (``org:apache:``), topics do not.

    Without ``--namespace`` it is what kafka-topics lists where nobody uses namespaces: the
    topics of the default one. Raises CommandError.
    """
    if options.recursive and options.namespace is None:
        raise UsageError('--recursive needs --namespace with --list; "" is the default one')
    namespace = namespace_argument(options.namespace or "")
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
    names = sorted(Name(path, topic) for path in inside for topic in topics.get(path, ()))
    if options.json:
        content: dict[str, object] = {"namespace": namespace}
        if options.namespace is not None:
            content["namespaces"] = list(below)
            content["deleting"] = [path for path, deleting in below.items() if deleting]
        content["topics"] = [
            {"name": str(name), "namespace": name.namespace, "topic": name.topic} for name in names
        ]
        print_json(content)
        return 0
    for path, deleting in below.items():
        print(namespace_resource(path) + (" - marked for deletion" if deleting else ""))
    for name in names:
        print(name)
    return 0
