"""Names as listeners list them, and names as the commands send them.

The commands send names with colons, which every listener takes. A listener may list the legal
spelling (``org..orders``), which stands for a namespace's topic only if that namespace exists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gateway.commands.failure import UsageError
from gateway.names import DELIMITER, END_OF_NAMESPACE, LogicalName, decode

_ANY_TOPIC = "t"


def namespace_resource(path: str) -> str:
    """The resource name of a namespace: ``org:``, and ``:`` for what holds the outermost ones."""
    return path + DELIMITER


def shown_namespace(path: str) -> str:
    """A namespace in a sentence."""
    return f"namespace '{path}'" if path else "the default namespace"


def possible_namespaces(listed: Iterable[str]) -> set[str]:
    """The namespaces that legal spellings among listed names may stand for."""
    found = (_legal(name).namespace for name in listed if DELIMITER not in name)
    return {namespace for namespace in found if namespace}


def placed(listed: str, namespaces: Collection[str]) -> LogicalName | None:
    """The logical name of a listed topic, given which of its possible namespaces exist.

    None: it is a namespace, which listings may hold as well.
    """
    if DELIMITER in listed:
        namespace, _, topic = listed.removeprefix(DELIMITER).rpartition(DELIMITER)
        return LogicalName(namespace, topic) if topic else None
    name = _legal(listed)
    if name.namespace in namespaces:
        return None if listed.endswith(END_OF_NAMESPACE) else name
    return LogicalName("", listed)


def sent(name: LogicalName, namespaces: Collection[str] = ()) -> str:
    """A logical name for a request. ``namespaces`` are those known to exist: what would read as
    a topic of one of them, though it is none, gets a colon before it."""
    if not name.namespace and _legal(name.topic).namespace in namespaces:
        return DELIMITER + name.topic
    return str(name)


def namespace_argument(text: str) -> str:
    """The path that a ``--namespace`` names: a final colon is allowed, tiers are the gateway's
    to check."""
    return text.removesuffix(DELIMITER) if text != DELIMITER else ""


def topic_argument(topic: str, namespace: str | None) -> LogicalName:
    """The topic that ``--topic`` names, in ``--namespace`` or with its namespace before it.

    Raises UsageError where both are given, or where it names a namespace.
    """
    inside, colon, last = topic.rpartition(DELIMITER)
    if not last:
        raise UsageError(f"--topic '{topic}' names no topic; a namespace goes with --namespace")
    if colon and namespace is not None:
        raise UsageError(
            f"--topic '{topic}' says its namespace, and --namespace says '{namespace}'; keep one"
        )
    return LogicalName(inside.removeprefix(DELIMITER) if colon else namespace or "", last)


def _legal(listed: str) -> LogicalName:
    """What a name stands for as a legal spelling; of a namespace's own name, any topic in it."""
    return decode(listed + _ANY_TOPIC if listed.endswith(END_OF_NAMESPACE) else listed)
