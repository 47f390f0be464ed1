"""``topics --move``, ``--adopt``, ``--release``: topics get another namespace (KIP-37: Move)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from gateway.commands.actions import reject_flags
from gateway.commands.admin import SET, Admin
from gateway.commands.errors import (
    CommandError,
    Outcome,
    UsageError,
    print_error,
    rejection,
    with_address,
)
from gateway.commands.groups.carriage import warnings_of_groups
from gateway.commands.namespaces import (
    ROOT,
    Name,
    is_default,
    namespace_text,
    request_name,
    require_namespace,
    topic_argument,
    topics_by_namespace,
)
from gateway.commands.output import Output, Progress, confirmed, counted, shortened, table
from gateway.commands.spelling import with_colons
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.mirror_maker import DEFAULT
from gateway.names import DELIMITER, LogicalName

NAMESPACE: Final = "gateway.namespace"
TOPIC: Final = "gateway.topic"
ALIAS_UNTIL: Final = "gateway.alias.until"
RELEASE: Final = "gateway.release"
FORCE: Final = "gateway.force"


class Step(NamedTuple):
    """A topic to be moved. ``written`` is its current name in requests."""

    source: LogicalName
    written: str
    target: LogicalName


async def move(admin: Admin, options: argparse.Namespace) -> Output:
    """Move a topic, or all topics of a namespace. If a topic cannot be moved,
    the others still are."""
    named = _named(options)
    target = options.to_namespace
    # There is no default here, because leaving out a flag must not move all topics of
    # the default namespace.
    if target is None or (named is None and options.from_namespace is None):
        raise UsageError(
            "--move needs --to-namespace, and --from-namespace or a --topic such as org:orders; "
            '"" is the default namespace'
        )
    if options.as_name is not None and named is None:
        raise UsageError("--as is the name of one topic: give --topic as well")
    source = options.from_namespace if named is None else named.namespace
    if source == ROOT and named is None:
        raise UsageError("topics of the root are moved one at a time: give --topic as well")
    if source == target and options.as_name is None:
        raise UsageError(f"the topics are in {namespace_text(source)} already; give another one")
    async with Progress("looking up what is to be moved"):
        await require_namespace(admin, source)
        await require_namespace(admin, target)
        if named is None:
            steps = await _steps_of_all(admin, source, target)
        else:
            goal = Name(target, options.as_name or named.topic)
            steps = [Step(named, request_name(named), goal)]
    if not steps:
        content = {"moved": 0, "failed": 0, "topics": []}
        return Output(content, f"There is no topic in {namespace_text(source)}.")
    return await _move_all(admin, steps, "moved", "moving", options)


def _named(options: argparse.Namespace) -> Name | None:
    """The topic to be moved; None if --topic is not given, or if no flag gives its namespace."""
    if options.topic is None:
        return None
    if options.from_namespace is None and DELIMITER not in with_colons(options.topic):
        return None
    return topic_argument(options.topic, options.from_namespace)


async def _steps_of_all(admin: Admin, source: str, target: str) -> list[Step]:
    topics = (await topics_by_namespace(admin)).get(source, {})
    return [
        # Requests name a topic of the default namespace as the listing does.
        Step(
            Name(source, topic),
            str(Name(source, topic)) if source else listed.name,
            Name(target, topic),
        )
        for topic, listed in topics.items()
        if not listed.internal
    ]


async def adopt(admin: Admin, options: argparse.Namespace) -> Output:
    """Adopt existing topics into a namespace, as many as can be adopted. Warns of groups that would
    start without offsets in the namespace, if it is a home.

    ``--prefix`` shows its plan first, and adopts nothing if a name is taken.
    """
    target = options.to_namespace or ""
    if is_default(target) or (options.topic is None) is (options.prefix is None):
        raise UsageError("--adopt needs --to-namespace, and either --topic or --prefix")
    if options.topic is not None:
        reject_flags(
            options, "dry_run yes", "goes with --prefix; --validate-only goes with --topic"
        )
        name = topic_argument(options.topic, None)
        goal = Name(target, options.as_name or name.topic)
        return await _adopt_all(admin, [Step(name, request_name(name), goal)], target, options)
    if options.as_name is not None:
        raise UsageError("--as is the name of one topic: give --topic instead of --prefix")
    async with Progress("looking up what is to be adopted"):
        await require_namespace(admin, target)
        topics = await topics_by_namespace(admin)
    steps = [
        Step(Name("", topic), listed.name, Name(target, topic.removeprefix(options.prefix)))
        for topic, listed in topics.get("", {}).items()
        if topic.startswith(options.prefix)
        and not listed.internal
        # MirrorMaker would not find the topic under another name.
        and not DEFAULT.is_mm2_internal_topic(topic)
    ]
    _check_plan(steps, set(topics.get(target, ())), options.prefix)
    plan = [{"from": str(step.source), "to": str(step.target)} for step in steps]
    plan_text = table([("topic", "becomes"), *((one["from"], one["to"]) for one in plan)])
    if options.dry_run:
        warnings = await warnings_of_groups(admin, [step.written for step in steps], target)
        return Output({"plan": plan}, plan_text, warnings)
    if not options.json:
        print(plan_text)
    agreed = confirmed(f"Adopt {counted(len(steps), 'topic')}?", yes=options.yes)
    if agreed is None:
        raise CommandError(
            "nothing was adopted: there is no terminal to ask at; pass --yes, or --dry-run"
        )
    if not agreed:
        raise CommandError("nothing was adopted")
    return await _adopt_all(admin, steps, target, options)


async def _adopt_all(
    admin: Admin, steps: list[Step], target: str, options: argparse.Namespace
) -> Output:
    # Groups are looked up first, while the topics still have the names of the groups' offsets.
    warnings = await warnings_of_groups(admin, [step.written for step in steps], target)
    output = await _move_all(admin, steps, "adopted", "adopting", options)
    return output._replace(notes=warnings)


def _check_plan(steps: list[Step], taken: set[str], prefix: str) -> None:
    """Raises CommandError if a plan cannot succeed as a whole."""
    if not steps:
        raise CommandError(
            f"nothing was adopted: no topic of the default namespace begins with "
            f"'{prefix}'; see what there is: kafka-gateway topics --list"
        )
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


async def _move_all(
    admin: Admin, steps: Sequence[Step], done: str, doing: str, options: argparse.Namespace
) -> Output:
    """Move every topic that can be moved, and print each outcome at once. ``done`` and ``doing``
    are the verb: ``moved``, ``moving``."""
    results: list[dict[str, object]] = []
    failed = 0
    could = "could be " if options.validate_only else ""
    async with Progress(f"{doing} topics") as progress:
        for number, step in enumerate(steps, 1):
            progress.text = f"{number} of {len(steps)}, '{step.source}'"
            outcome = await _move_topic(admin, step, options)
            error = None
            if outcome.code:
                failed += 1
                error = {"error": outcome.error, "message": outcome.message}
                reason = rejection(f"topic '{step.source}'", f"{done} to '{step.target}'", outcome)
                print_error(with_address(reason, options))
            elif not options.json:
                verb = f"Topic {step.source} could be {done}" if could else None
                print(f"{verb or f'{done.capitalize()} topic {step.source}'} to {step.target}.")
            results.append({"from": str(step.source), "to": str(step.target), "error": error})
    moved = len(steps) - failed
    summary = f"{counted(moved, 'topic')} {could}{done}, {failed:,} failed."
    content = {done: moved, "failed": failed, "topics": results}
    return Output(content, summary if len(steps) > 1 else "", failed=failed > 0)


async def _move_topic(admin: Admin, step: Step, options: argparse.Namespace) -> Outcome:
    """Send IncrementalAlterConfigs with SET on ``gateway.namespace``. If the outcome has an error
    code, the topic still has its old name, else its new name."""
    changes: list[tuple[str, int, str | None]] = [(NAMESPACE, SET, step.target.namespace)]
    if step.target.topic != step.source.topic:
        changes.append((TOPIC, SET, step.target.topic))
    if options.alias_until is not None:
        changes.append((ALIAS_UNTIL, SET, options.alias_until))
    if options.force:
        changes.append((FORCE, SET, "true"))
    outcome = await admin.alter(step.written, changes, validate_only=options.validate_only)
    if outcome.repeated and outcome.code == UNKNOWN_TOPIC_OR_PARTITION:
        # If the topic is at its target, an attempt whose response was lost has moved it.
        (target,) = await admin.topics([request_name(step.target)])
        if target.outcome.code == 0:
            return replace(outcome, code=0)
    return outcome


async def release(admin: Admin, options: argparse.Namespace) -> Output:
    """Release a topic from its namespace. Raises CommandError if the request is rejected."""
    if options.topic is None:
        raise UsageError("--release needs --topic, such as team-a:orders")
    name = topic_argument(options.topic, options.namespace)
    if is_default(name.namespace):
        raise UsageError(
            f"topic '{name}' is in no namespace; give --namespace, or write it like "
            f"team-a:{name.topic}"
        )
    async with Progress(f"releasing topic '{name}'"):
        (topic,) = await admin.topics([request_name(name)])
        outcome = topic.outcome
        if outcome.code == UNKNOWN_TOPIC_OR_PARTITION:
            outcome = replace(outcome, message=f"Topic '{name}' does not exist.")
        else:
            changes = [(RELEASE, SET, "true")]
            if options.force:
                changes.append((FORCE, SET, "true"))
            outcome = await admin.alter(
                request_name(name), changes, validate_only=options.validate_only
            )
            if outcome.repeated and outcome.code == UNKNOWN_TOPIC_OR_PARTITION:
                # The topic was there, so an attempt whose response was lost has released it.
                outcome = replace(outcome, code=0)
    if outcome.code:
        raise CommandError(rejection(f"topic '{name}'", "released", outcome))
    text = f"Released topic {name}: it has its plain name in the default namespace again."
    if options.validate_only:
        text = f"Topic {name} could be released."
    content = {"topic": str(name), "released": True, "validate_only": options.validate_only}
    return Output(content, text)
