"""``topics --move``: a topic, or all of a namespace, to another one (KIP-37: Move)."""

from __future__ import annotations

import argparse

from gateway.commands.admin import Admin
from gateway.commands.failure import UsageError
from gateway.commands.listed import (
    ROOT,
    Name,
    namespace_argument,
    sent,
    shown_namespace,
    topic_argument,
)
from gateway.commands.moving import MOVE, Step, move_all
from gateway.commands.namespaces import require_namespace, topics_by_namespace
from gateway.commands.progress import Progress
from gateway.commands.told import print_json
from gateway.names import DELIMITER


async def move(admin: Admin, options: argparse.Namespace) -> int:
    """Exit status 1 if a topic was not moved; the others are moved all the same."""
    named = None if options.topic is None else _named(options)
    # No default here: all topics of the default namespace are not moved by leaving out a flag.
    if options.to_namespace is None or (named is None and options.from_namespace is None):
        raise UsageError(
            "--move needs --to-namespace, and --from-namespace or a --topic such as org:orders; "
            '"" is the default namespace'
        )
    if options.as_name is not None and named is None:
        raise UsageError("--as is the name of one topic: give --topic as well")
    source = namespace_argument(options.from_namespace) if named is None else named.namespace
    target = namespace_argument(options.to_namespace)
    if source == ROOT and named is None:
        raise UsageError("topics of the root are moved one at a time: give --topic as well")
    if source == target and options.as_name is None:
        raise UsageError(f"it is moved from and to the same namespace, '{source}'; give another")
    async with Progress("looking up what is to be moved"):
        await require_namespace(admin, source)
        await require_namespace(admin, target)
        if named is None:
            steps = await _all(admin, source, target)
        else:
            steps = [Step(named, sent(named), Name(target, options.as_name or named.topic))]
    if not steps:
        if options.json:
            print_json({MOVE.done: 0, "failed": 0, "topics": []})
        else:
            print(f"There is no topic in {shown_namespace(source)}.")
        return 0
    return await move_all(admin, steps, MOVE, options)


def _named(options: argparse.Namespace) -> Name | None:
    """The one topic; None if nothing says its namespace."""
    if options.from_namespace is not None:
        return topic_argument(options.topic, namespace_argument(options.from_namespace))
    return topic_argument(options.topic, None) if DELIMITER in options.topic else None


async def _all(admin: Admin, source: str, target: str) -> list[Step]:
    topics = (await topics_by_namespace(admin)).get(source, {})
    return [
        # The default namespace's topics go by the name that the listing gives them.
        Step(
            Name(source, topic),
            str(Name(source, topic)) if source else listed.name,
            Name(target, topic),
        )
        for topic, listed in topics.items()
        if not listed.internal
    ]
