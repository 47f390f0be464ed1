"""``topics --move``: a topic, or all of a namespace, to another one (KIP-37: Move)."""

from __future__ import annotations

import argparse

from gateway.commands.admin import Admin
from gateway.commands.failure import UsageError
from gateway.commands.listed import namespace_argument, sent, shown_namespace, topic_argument
from gateway.commands.moving import MOVE, Step, move_all
from gateway.commands.namespaces import require_namespace, topics_by_namespace
from gateway.commands.progress import Progress
from gateway.commands.told import print_json
from gateway.names import LogicalName


async def move(admin: Admin, options: argparse.Namespace) -> int:
    """Exit status 1 if a topic was not moved; the others are moved all the same."""
    # No default here: all topics of the default namespace are not moved by leaving out a flag.
    if options.from_namespace is None or options.to_namespace is None:
        raise UsageError(
            '--move needs --from-namespace and --to-namespace; "" is the default namespace'
        )
    if options.as_name is not None and options.topic is None:
        raise UsageError("--as is the name of one topic: give --topic as well")
    source = namespace_argument(options.from_namespace)
    target = namespace_argument(options.to_namespace)
    if source == target and options.as_name is None:
        raise UsageError(f"--from-namespace and --to-namespace are the same, '{source}'")
    async with Progress("looking up what is to be moved"):
        await require_namespace(admin, source)
        await require_namespace(admin, target)
        steps = await _steps(admin, options, source, target)
    if not steps:
        if options.json:
            print_json({MOVE.done: 0, "failed": 0, "topics": []})
        else:
            print(f"There is no topic in {shown_namespace(source)}.")
        return 0
    return await move_all(admin, steps, MOVE, options)


async def _steps(admin: Admin, options: argparse.Namespace, source: str, target: str) -> list[Step]:
    if options.topic is not None:
        name = topic_argument(options.topic, source)
        there = LogicalName(target, options.as_name or name.topic)
        return [Step(name, sent(name), there)]
    topics = (await topics_by_namespace(admin)).get(source, {})
    return [
        # The default namespace's topics go by the name that the listing gives them.
        Step(
            LogicalName(source, topic),
            str(LogicalName(source, topic)) if source else listed.name,
            LogicalName(target, topic),
        )
        for topic, listed in topics.items()
        if not listed.internal
    ]
