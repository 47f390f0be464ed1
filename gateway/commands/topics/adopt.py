"""``topics --adopt`` and ``--release``: existing topics into a namespace and out, not copied."""

from __future__ import annotations

import argparse

from gateway.commands.admin import Admin
from gateway.commands.failure import CommandError, UsageError
from gateway.commands.groups.carriage import groups_left, warn
from gateway.commands.namespaces import (
    Name,
    is_default,
    namespace_argument,
    require_namespace,
    sent,
    topic_argument,
    topics_by_namespace,
)
from gateway.commands.told import (
    Progress,
    confirmed,
    counted,
    print_json,
    refusal,
    say_error,
    shortened,
    table,
)
from gateway.commands.topics.move import ADOPT, Step, move_all, release_topic


async def adopt(admin: Admin, options: argparse.Namespace) -> int:
    """Exit status 1 if a topic was not adopted; the others are adopted all the same. Groups that
    would begin anew in the namespace, where it is a home, are warned of.

    ``--prefix`` shows what it would do first, and does nothing where a name is taken.
    """
    target = namespace_argument(options.to_namespace or "")
    if is_default(target) or (options.topic is None) is (options.prefix is None):
        raise UsageError("--adopt needs --to-namespace, and either --topic or --prefix")
    if options.topic is not None:
        for flag in ("dry_run", "yes"):
            if getattr(options, flag):
                shown = "--" + flag.replace("_", "-")
                raise UsageError(f"{shown} goes with --prefix; --validate-only goes with --topic")
        name = topic_argument(options.topic, None)
        step = Step(name, sent(name), Name(target, options.as_name or name.topic))
        return await _adopted(admin, [step], target, options)
    if options.as_name is not None:
        raise UsageError("--as is the name of one topic: give --topic instead of --prefix")
    return await _by_prefix(admin, options, target)


async def _by_prefix(admin: Admin, options: argparse.Namespace, target: str) -> int:
    async with Progress("looking up what is to be adopted"):
        await require_namespace(admin, target)
        topics = await topics_by_namespace(admin)
    steps = [
        Step(
            Name("", topic),
            listed.name,
            Name(target, topic.removeprefix(options.prefix)),
        )
        for topic, listed in topics.get("", {}).items()
        if topic.startswith(options.prefix) and not listed.internal
    ]
    _refuse(steps, set(topics.get(target, ())), options.prefix)
    if not steps:
        raise CommandError(
            f"nothing was adopted: no topic of the default namespace begins with "
            f"'{options.prefix}'; see what there is: kafka-gateway topics --list"
        )
    return await _agreed(admin, steps, target, options)


async def _adopted(
    admin: Admin, steps: list[Step], target: str, options: argparse.Namespace
) -> int:
    """Looks for groups first, while the topics have the names that are known here."""
    left = await groups_left(admin, [step.written for step in steps], target)
    status = await move_all(admin, steps, ADOPT, options)
    warn(left, target, options)
    return status


async def _agreed(admin: Admin, steps: list[Step], target: str, options: argparse.Namespace) -> int:
    plan = [{"from": str(step.source), "to": str(step.target)} for step in steps]
    if not options.json:
        print(table([("topic", "becomes"), *((row["from"], row["to"]) for row in plan)]))
    if options.dry_run:
        if options.json:
            print_json({"plan": plan})
        warn(await groups_left(admin, [step.written for step in steps], target), target, options)
        return 0
    agreed = confirmed(f"Adopt {counted(len(steps), 'topic')}?", yes=options.yes)
    if not agreed:
        if agreed is None:
            say_error("nothing was adopted: nobody can be asked here; say --yes, or --dry-run")
        else:
            say_error("nothing was adopted")
        return 1
    return await _adopted(admin, steps, target, options)


def _refuse(steps: list[Step], taken: set[str], prefix: str) -> None:
    """Raises CommandError where a plan cannot work out as a whole."""
    nameless = [step.source.topic for step in steps if not step.target.topic]
    if nameless:
        raise CommandError(
            f"nothing was adopted: of topic '{nameless[0]}' prefix '{prefix}' leaves no name; "
            f"adopt it first: --topic {nameless[0]} --as NAME"
        )
    clashes = [f"'{step.target}'" for step in steps if step.target.topic in taken]
    if clashes:
        raise CommandError(
            f"nothing was adopted: {shortened(clashes)} "
            f"{'exists' if len(clashes) == 1 else 'exist'} already; adopt those topics one by one "
            "under other names first: --topic TOPIC --as NAME"
        )


async def release(admin: Admin, options: argparse.Namespace) -> int:
    """Raises CommandError when it is refused."""
    if options.topic is None:
        raise UsageError("--release needs --topic, such as team-a:orders")
    namespace = None if options.namespace is None else namespace_argument(options.namespace)
    name = topic_argument(options.topic, namespace)
    if is_default(name.namespace):
        raise UsageError(
            f"topic '{name}' is in no namespace; give --namespace, or write it like "
            f"team-a:{name.topic}"
        )
    async with Progress(f"releasing topic '{name}'"):
        outcome = await release_topic(admin, name, validate_only=options.validate_only)
    if outcome.code:
        raise CommandError(refusal(f"topic '{name}'", "released", outcome))
    if options.json:
        content = {"topic": str(name), "released": True, "validate_only": options.validate_only}
        print_json(content)
    elif options.validate_only:
        print(f"Topic {name} could be released.")
    else:
        print(f"Released topic {name}: it has its plain name in the default namespace again.")
    return 0
