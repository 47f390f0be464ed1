"""Which namespaces there are, and what is in them: asked through DescribeConfigs and Metadata.

The virtual configs ``gateway.namespaces``, ``gateway.topics`` and ``gateway.deleting`` of the
resource ``org:`` tell of a namespace on every listener, whether or not it lists namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.commands.admin import Admin
from gateway.commands.answers import Described, Topic
from gateway.commands.failure import CommandError
from gateway.commands.listed import (
    is_default,
    namespace_resource,
    placed,
    possible_namespaces,
    shown_namespace,
)
from gateway.commands.told import refusal
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import LogicalName

SUB_NAMESPACES: Final = "gateway.namespaces"
TOPICS: Final = "gateway.topics"
DELETING: Final = "gateway.deleting"


async def describe_namespaces(admin: Admin, paths: Iterable[str]) -> dict[str, Described]:
    """What the virtual configs say of each of these namespaces that exists."""
    asked = list(paths)
    keys = (SUB_NAMESPACES, TOPICS, DELETING)
    found = await admin.describe([namespace_resource(path) for path in asked], keys)
    for path, described in zip(asked, found, strict=True):
        if described.outcome.code not in (0, UNKNOWN_TOPIC_OR_PARTITION):
            what = shown_namespace(path) if path else "what the root holds"
            raise CommandError(refusal(what, "described", described.outcome))
    return {
        path: described
        for path, described in zip(asked, found, strict=True)
        if described.outcome.code == 0
    }


async def require_namespace(admin: Admin, path: str) -> None:
    """Raises CommandError unless the namespace exists and is in use; the default one does."""
    if is_default(path):
        return
    found = (await describe_namespaces(admin, [path])).get(path)
    if found is None:
        raise CommandError(
            f"InvalidNamespaceException: namespace '{path}' does not exist; create it first: "
            f"kafka-gateway topics --create --namespace {path}"
        )
    if found.value(DELETING):
        raise CommandError(
            f"InvalidNamespaceException: namespace '{path}' is being deleted; wait until it is "
            "gone, then create it anew"
        )


async def namespaces_below(admin: Admin, path: str) -> dict[str, bool]:
    """Every namespace under ``path`` (``""``: all), sorted, and whether it is being deleted.

    Raises CommandError if ``path`` does not exist.
    """
    known: dict[str, bool] = {}
    level = [path]
    while level:
        found = await describe_namespaces(admin, level)
        if path in level and path not in found:
            raise CommandError(_unknown(path))
        # What has gone since it was listed is not there.
        known |= {name: bool(one.value(DELETING)) for name, one in found.items()}
        inside = {name for one in found.values() for name in _split(one.value(SUB_NAMESPACES))}
        level = sorted(inside - known.keys())
    del known[path]
    return dict(sorted(known.items()))


async def topics_by_namespace(admin: Admin) -> dict[str, dict[str, Topic]]:
    """Every topic that the listener lists, by namespace and by name in it, both sorted."""
    topics = await admin.topics()
    listed = [topic.name for topic in topics]
    existing = await existing_namespaces(admin, listed)
    found: dict[str, dict[str, Topic]] = {}
    for name, topic in sorted(_placed(topics, existing), key=lambda pair: pair[0]):
        found.setdefault(name.namespace, {})[name.topic] = topic
    return found


async def existing_namespaces(admin: Admin, names: Iterable[str]) -> set[str]:
    """Of the namespaces that legal spellings among ``names`` may stand for, those that exist."""
    return set(await describe_namespaces(admin, sorted(possible_namespaces(names))))


def _placed(topics: Iterable[Topic], namespaces: set[str]) -> Iterable[tuple[LogicalName, Topic]]:
    for topic in topics:
        name = placed(topic.name, namespaces)
        if name is not None:
            yield name, topic


def _split(names: str) -> list[str]:
    return [name for name in names.split(",") if name]


def _unknown(path: str) -> str:
    return (
        f"namespace '{path}' does not exist; see what does: "
        'kafka-gateway topics --list --namespace ""'
    )
