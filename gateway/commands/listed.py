"""Names as listeners list them, and names as the commands send them.

The commands send names with colons, which every listener takes. A listener may list the legal
spelling (``org..orders``), which stands for a namespace's topic only if that namespace exists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from gateway.commands.failure import UsageError
from gateway.names import DELIMITER, END_OF_NAMESPACE, LogicalName, decode

ROOT: Final = DELIMITER
"""The root as a listener with a home that lets names out writes it. A path that begins so starts
there: ``:org``. Without it, a path starts at the home; where there is none, both are the same."""

_ANY_TOPIC = "t"


class Name(LogicalName):
    """A name as its listener reads it: the namespace may be a path from ROOT, or ROOT itself."""

    __slots__ = ()

    def __str__(self) -> str:
        return ROOT + self.topic if self.namespace == ROOT else super().__str__()


def namespace_resource(path: str) -> str:
    """The resource name of a namespace: ``org:``, and ``:`` for what holds the outermost ones."""
    return path + DELIMITER


def shown_namespace(path: str) -> str:
    """A namespace in a sentence."""
    if path == ROOT:
        return "the root's default namespace"
    return f"namespace '{path}'" if path else "the default namespace"


def is_default(path: str) -> bool:
    """Whether it is no namespace that can be made or deleted: what holds the outermost ones."""
    return path in ("", ROOT)


def possible_namespaces(listed: Iterable[str]) -> set[str]:
    """The namespaces that legal spellings among listed names may stand for."""
    bare = (name.removeprefix(DELIMITER) for name in listed)
    found = (_legal(name).namespace for name in bare if DELIMITER not in name)
    return {namespace for namespace in found if namespace}


def placed(listed: str, namespaces: Collection[str]) -> Name | None:
    """The name of a listed topic, given which of its possible namespaces exist.

    None: it is a namespace, which listings may hold as well. A colon before a name that would
    read as a topic of such a namespace only says that it is none; any other leads to the root.
    """
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


def sent(name: LogicalName, namespaces: Collection[str] = ()) -> str:
    """A logical name for a request. ``namespaces`` are those known to exist: what would read as
    a topic of one of them, though it is none, gets a colon before it."""
    if not name.namespace and _legal(name.topic).namespace in namespaces:
        return DELIMITER + name.topic
    return str(name)


def namespace_argument(text: str) -> str:
    """The path that a ``--namespace`` names: a final colon is allowed, a leading one is kept,
    tiers are the gateway's to check."""
    return text if text == ROOT else text.removesuffix(DELIMITER)


def topic_argument(topic: str, namespace: str | None) -> Name:
    """The topic that ``--topic`` names, in ``--namespace`` or with its namespace before it.

    Raises UsageError where both are given, or where it names a namespace.
    """
    inside, colon, last = topic.rpartition(DELIMITER)
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
    """What a name stands for as a legal spelling; of a namespace's own name, any topic in it."""
    return decode(listed + _ANY_TOPIC if listed.endswith(END_OF_NAMESPACE) else listed)
