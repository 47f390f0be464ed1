"""The namespaces that exist, their contents, and the names as they are listed and sent.

Namespaces are queried through DescribeConfigs and Metadata. The commands send names with colons,
which every listener accepts. A listener may list names in the legal spelling (``org..orders``),
which is a namespace's topic only if that namespace exists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from gateway.commands.admin import Admin
from gateway.commands.answers import Described, Topic
from gateway.commands.errors import CommandError, UsageError, rejection
from gateway.commands.spelling import listener, shown, with_colons
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER, END_OF_NAMESPACE, LogicalName, decode, parents

SUB_NAMESPACES: Final = "gateway.namespaces"
TOPICS: Final = "gateway.topics"
DELETING: Final = "gateway.deleting"
VIRTUAL: Final = frozenset({SUB_NAMESPACES, TOPICS, DELETING})
"""Configs by which the gateway describes a namespace itself."""


async def describe_namespaces(admin: Admin, paths: Iterable[str]) -> dict[str, Described]:
    """The virtual configs of each of these namespaces that exists. Raises CommandError."""
    paths = list(paths)
    resources = [namespace_resource(path) for path in paths]
    existing = {}
    for path, described in zip(
        paths, await admin.describe(resources, sorted(VIRTUAL)), strict=True
    ):
        if described.outcome.code == 0:
            existing[path] = described
        elif described.outcome.code != UNKNOWN_TOPIC_OR_PARTITION:
            thing = namespace_text(path) if path else "what the root holds"
            raise CommandError(rejection(thing, "described", described.outcome))
    return existing


async def require_namespace(admin: Admin, path: str) -> None:
    """Raises CommandError unless the namespace exists and is in use; the default
    namespace always does."""
    if is_default(path):
        return
    found = (await describe_namespaces(admin, [path])).get(path)
    if found is None:
        raise CommandError(
            f"InvalidNamespaceException: namespace '{shown(path)}' does not exist; create it first:"
            f" kafka-gateway topics --create --namespace {shown(path)}"
        )
    if found.value(DELETING):
        raise CommandError(
            f"InvalidNamespaceException: namespace '{shown(path)}' is being deleted; wait until it"
            " is gone, then create it anew"
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
            raise CommandError(missing_namespace(path))
        # If a namespace has gone since it was listed, it is left out.
        known |= {name: bool(one.value(DELETING)) for name, one in found.items()}
        inside = {name for one in found.values() for name in sub_namespaces(one)}
        level = sorted(inside - known.keys())
    del known[path]
    return dict(sorted(known.items()))


async def topics_by_namespace(admin: Admin) -> dict[str, dict[str, Topic]]:
    """Every topic that the listener lists, by namespace and by name in it, both sorted."""
    topics = await admin.topics()
    names = [topic.name for topic in topics]
    if listener().spelling in ("colon", "slash"):
        # A listing there has no legal spellings, but a name that it writes from the
        # root may look legal.
        names = [name for name in names if with_colons(name).startswith(ROOT)]
    existing = await existing_namespaces(admin, names)
    named = ((name, topic) for topic in topics if (name := name_of_listed(topic.name, existing)))
    found: dict[str, dict[str, Topic]] = {}
    for name, topic in sorted(named, key=lambda pair: pair[0]):
        found.setdefault(name.namespace, {})[name.topic] = topic
    return found


async def existing_namespaces(admin: Admin, names: Iterable[str]) -> set[str]:
    """The namespaces that exist and may be described, among those that legal spellings in
    ``names`` may stand for.

    They are looked for from the outermost namespace down, each in the list of the
    namespace above it, because the gateway denies, logs and audits a description of a
    namespace that does not exist.
    """
    wanted = {path: parents(path) for path in possible_namespaces(names)}
    found: set[str] = set()
    level = {""} if wanted else set()
    while level:
        described = await describe_namespaces(admin, sorted(level))
        inside = {path for one in described.values() for path in sub_namespaces(one)}
        found |= inside & wanted.keys()
        level = {tier for path, tiers in wanted.items() for tier in tiers[:-1] if tier in inside}
    return found


def sub_namespaces(described: Described) -> list[str]:
    """The namespaces directly in a namespace."""
    return [name for name in described.value(SUB_NAMESPACES).split(",") if name]


def missing_namespace(path: str, consequence: str = "") -> str:
    """The sentence for a namespace that does not exist."""
    return (
        f"{namespace_text(path)} does not exist{consequence}; see what does: "
        'kafka-gateway topics --list --namespace ""'
    )


ROOT: Final = DELIMITER
"""The root, as a listener with a home that lets names out spells it. If a path begins
with it, the path starts at the root: ``:org``. Else the path starts at the home; without
a home both are the same."""

_ANY_TOPIC = "t"


class Name(LogicalName):
    """A name as its listener reads it: the namespace may be a path from ROOT, or ROOT itself."""

    __slots__ = ()

    def __str__(self) -> str:
        written = ROOT + self.topic if self.namespace == ROOT else super().__str__()
        return shown(written)


def namespace_resource(path: str) -> str:
    """The resource name of a namespace: ``org:``; ``:`` for the root, which holds
    the outermost namespaces."""
    return shown(path + DELIMITER)


def namespace_text(path: str) -> str:
    """The words for a namespace in a sentence."""
    if path == ROOT:
        return "the root's default namespace"
    return f"namespace '{shown(path)}'" if path else "the default namespace"


def is_default(path: str) -> bool:
    """Whether the path is the root, which holds the outermost namespaces and cannot
    be created or deleted."""
    return path in ("", ROOT)


def possible_namespaces(listed: Iterable[str]) -> set[str]:
    """The namespaces that legal spellings among listed names may stand for."""
    bare = (with_colons(name).removeprefix(DELIMITER) for name in listed)
    found = (_legal(name).namespace for name in bare if DELIMITER not in name)
    return {namespace for namespace in found if namespace}


def name_of_listed(listed: str, namespaces: Collection[str]) -> Name | None:
    """The name of a listed topic. ``namespaces`` are its possible namespaces that exist.

    Returns None if the listed name is a namespace's, because listings may hold namespaces too. If a
    name would read as a topic of such a namespace, a colon before it only says that it is not;
    before any other name a colon leads to the root.
    """
    listed = with_colons(listed)
    if DELIMITER in listed.removeprefix(ROOT):
        namespace, _, topic = listed.rpartition(DELIMITER)
        return Name(namespace, topic) if topic else None
    if listed.startswith(ROOT):
        bare = listed.removeprefix(ROOT)
        return Name("" if _legal(bare).namespace in namespaces else ROOT, bare)
    name = _legal(listed)
    if name.namespace in namespaces:
        return None if listed.endswith(END_OF_NAMESPACE) else Name(*name)
    return Name("", listed)


def request_name(name: LogicalName, namespaces: Collection[str] = ()) -> str:
    """A logical name as a request spells it. ``namespaces`` are namespaces known to exist: if a
    name would be read as a topic of such a namespace, but is not, it gets a colon before it."""
    if not name.namespace and _legal(name.topic).namespace in namespaces:
        return shown(DELIMITER + name.topic)
    return str(name)


def namespace_argument(text: str) -> str:
    """The path that a ``--namespace`` names: a final colon is allowed, a leading colon is kept."""
    path = with_colons(text)
    return path if path == ROOT else path.removesuffix(DELIMITER)


def topic_argument(topic: str, namespace: str | None) -> Name:
    """The topic that ``--topic`` names, in ``--namespace`` or with its namespace before it.

    Raises UsageError if both are given, or if ``--topic`` names a namespace.
    """
    inside, colon, last = with_colons(topic).rpartition(DELIMITER)
    if colon and not inside:
        inside = ROOT
    if not last:
        raise UsageError(f"--topic '{topic}' names no topic; a namespace goes with --namespace")
    if colon and namespace is not None:
        raise UsageError(
            f"--topic '{topic}' says its namespace, and --namespace says '{namespace}'; keep one"
        )
    return Name(inside if colon else namespace or "", last)


def _legal(listed: str) -> LogicalName:
    """The meaning of a name as a legal spelling; if it is a namespace's own name, the
    meaning of any topic in it."""
    return decode(listed + _ANY_TOPIC if listed.endswith(END_OF_NAMESPACE) else listed)
