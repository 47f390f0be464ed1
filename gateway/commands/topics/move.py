"""``topics --move``: a topic, or all of a namespace, to another one (KIP-37: Move)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.commands.admin import SET, Admin
from gateway.commands.answers import Outcome
from gateway.commands.failure import UsageError
from gateway.commands.namespaces import (
    ROOT,
    Name,
    namespace_argument,
    require_namespace,
    sent,
    shown_namespace,
    topic_argument,
    topics_by_namespace,
)
from gateway.commands.told import Progress, addressed, counted, print_json, refusal, say_error
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER, LogicalName


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


NAMESPACE: Final = "gateway.namespace"
TOPIC: Final = "gateway.topic"
ALIAS_UNTIL: Final = "gateway.alias.until"
RELEASE: Final = "gateway.release"


@dataclass(frozen=True, slots=True)
class Step:
    """One topic to be moved. ``written`` is how requests name it now."""

    source: LogicalName
    written: str
    target: LogicalName


@dataclass(frozen=True, slots=True)
class Verb:
    """``move``, ``moved``, ``moving``."""

    base: str
    done: str
    doing: str


MOVE: Final = Verb("move", "moved", "moving")
ADOPT: Final = Verb("adopt", "adopted", "adopting")


async def move_topic(
    admin: Admin, step: Step, *, alias_until: str | None, validate_only: bool
) -> Outcome:
    """IncrementalAlterConfigs SET on ``gateway.namespace``: the topic is at its new name, or, if
    the outcome has a code, still at the old one."""
    changes: list[tuple[str, int, str | None]] = [(NAMESPACE, SET, step.target.namespace)]
    if step.target.topic != step.source.topic:
        changes.append((TOPIC, SET, step.target.topic))
    if alias_until is not None:
        changes.append((ALIAS_UNTIL, SET, alias_until))
    outcome = await admin.alter(step.written, changes, validate_only=validate_only)
    if outcome.repeated and outcome.code == UNKNOWN_TOPIC_OR_PARTITION:
        # The attempt whose answer was lost has moved it, if it is where it should go.
        (target,) = await admin.topics([sent(step.target)])
        if target.outcome.code == 0:
            return replace(outcome, code=0)
    return outcome


async def release_topic(admin: Admin, name: LogicalName, *, validate_only: bool) -> Outcome:
    """IncrementalAlterConfigs SET of ``gateway.release``."""
    written = sent(name)
    (topic,) = await admin.topics([written])
    if topic.outcome.code == UNKNOWN_TOPIC_OR_PARTITION:
        return replace(topic.outcome, message=f"Topic '{name}' does not exist.")
    outcome = await admin.alter(written, [(RELEASE, SET, "true")], validate_only=validate_only)
    if outcome.repeated and outcome.code == UNKNOWN_TOPIC_OR_PARTITION:
        return replace(outcome, code=0)  # it was there: the attempt without an answer released it
    return outcome


async def move_all(
    admin: Admin, steps: Sequence[Step], verb: Verb, options: argparse.Namespace
) -> int:
    """Moves every topic that can be moved, tells of each, and a summary; 1 if one failed."""
    results = []
    failed = 0
    async with Progress(f"{verb.doing} topics") as progress:
        for number, step in enumerate(steps, 1):
            progress.text = f"{number} of {len(steps)}, '{step.source}'"
            outcome = await move_topic(
                admin, step, alias_until=options.alias_until, validate_only=options.validate_only
            )
            failed += outcome.code != 0
            results.append(_result(step, outcome))
            _tell(step, outcome, verb, options)
    done = len(steps) - failed
    if options.json:
        key = verb.done
        print_json({key: done, "failed": failed, "topics": results})
    elif len(steps) > 1:
        could = "could be " if options.validate_only else ""
        print(f"{counted(done, 'topic')} {could}{verb.done}, {failed:,} failed.")
    return 1 if failed else 0


def _tell(step: Step, outcome: Outcome, verb: Verb, options: argparse.Namespace) -> None:
    if outcome.code:
        told = refusal(f"topic '{step.source}'", f"{verb.done} to '{step.target}'", outcome)
        say_error(addressed(told, options.bootstrap_server, options.command_config))
    elif not options.json and options.validate_only:
        print(f"Topic {step.source} could be {verb.done} to {step.target}.")
    elif not options.json:
        print(f"{verb.done.capitalize()} topic {step.source} to {step.target}.")


def _result(step: Step, outcome: Outcome) -> dict[str, object]:
    error = None if not outcome.code else {"error": outcome.error, "message": outcome.message}
    return {"from": str(step.source), "to": str(step.target), "error": error}
