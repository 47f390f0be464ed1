"""``topics --list``: the topics of a namespace, and the namespaces under it (KIP-37: List)."""

from __future__ import annotations

import argparse

from gateway.commands.admin import Admin
from gateway.commands.failure import UsageError
from gateway.commands.listed import ROOT, Name, namespace_argument, namespace_resource
from gateway.commands.namespaces import namespaces_below, topics_by_namespace
from gateway.commands.progress import Progress
from gateway.commands.told import print_json


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
