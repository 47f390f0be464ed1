"""One group's committed offsets on their way to another group: what is refused, and how it is made
sure that all of them arrive."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.commands.admin import Admin
from gateway.commands.failure import CommandError
from gateway.commands.groups.coordinator import Groups
from gateway.commands.groups.plan import (
    Row,
    counted_offsets,
    in_the_way,
    missing,
    named,
    plan,
    to_commit,
)
from gateway.commands.namespaces import ROOT, existing_namespaces, placed
from gateway.commands.told import Progress, addressed, say_error, shortened
from gateway.names import flat_prefix
from gateway.views.spelling import below

_WITHOUT_MEMBERS: Final = frozenset({"Empty", "Dead"})
"""States of a group that takes offsets without a member; ``Dead``: there is none."""


@dataclass(frozen=True, slots=True)
class Carriage:
    """Which group's offsets go to which: both as the brokers, and listeners without a home, know
    them. ``back``: out of the home."""

    group: str
    home: str
    source: str
    target: str
    back: bool

    @property
    def command(self) -> str:
        """How it is asked for."""
        undo = " --undo" if self.back else ""
        return f"kafka-gateway adopt --group {shlex.quote(self.group)} --home {self.home}{undo}"

    @property
    def where(self) -> str:
        """Where to, for a sentence."""
        return f"out of home '{self.home}'" if self.back else f"into home '{self.home}'"


def left_behind(group: str, home: str) -> str:
    """The command that carries a group which has read topics that are adopted into ``home``."""
    return Carriage(group, home, "", "", back=False).command


async def planned(
    admin: Admin, groups: Groups, carriage: Carriage, *, force: bool
) -> tuple[list[Row], str | None]:
    """What is to be done, and why it is not to be; None: nothing is against it."""
    # First of all: who leaves meanwhile commits for the last time.
    states = {one: await groups.state(one) for one in (carriage.source, carriage.target)}
    source = await groups.positions(carriage.source)
    rows = plan(source, await groups.positions(carriage.target))
    for group, state in states.items():
        if state not in _WITHOUT_MEMBERS:
            return rows, (
                f"nothing was carried: group '{group}' has active members (state {state}); stop all"
                f" of them, wait until the group is empty, then: {carriage.command}"
            )
    if not source:
        return rows, (
            f"nothing was carried: group '{carriage.source}' has no committed offsets; see which"
            " groups have: kafka-consumer-groups --list"
        )
    if force:
        return rows, None
    return rows, await _outside(admin, carriage, rows) or _lost(carriage, rows)


async def carry(groups: Groups, carriage: Carriage, rows: Sequence[Row]) -> int:
    """How many offsets were written; all are there then. Raises CommandError otherwise."""
    wanted = {row.partition: row.source for row in rows if row.source is not None}
    positions = to_commit(rows)
    failed = await groups.commit(carriage.target, positions)
    if failed:
        told = shortened(
            f"{one.topic}-{one.number} ({error})" for one, error in sorted(failed.items())
        )
        raise CommandError(
            f"not all was carried: {counted_offsets(len(failed))} of {len(wanted):,} of group"
            f" '{carriage.source}' were refused for group '{carriage.target}': {told}; carry them"
            f" before the application starts, this goes on where it ended: {carriage.command}"
        )
    lacking = missing(wanted, await groups.positions(carriage.target))
    if lacking:
        raise CommandError(
            f"not all was carried: group '{carriage.target}' has other offsets than were written:"
            f" {named(lacking)}; see that nothing uses it, then: {carriage.command} --force"
        )
    moved = missing(await groups.positions(carriage.source), wanted)
    state = await groups.state(carriage.source)
    if moved or state not in _WITHOUT_MEMBERS:
        how = f"has committed {named(moved)}" if moved else f"has members (state {state})"
        raise CommandError(
            f"group '{carriage.source}' was used meanwhile: it {how}; stop what uses it, then carry"
            f" it again: {carriage.command} --force"
        )
    return len(positions)


async def _outside(admin: Admin, carriage: Carriage, rows: Sequence[Row]) -> str | None:
    """Why offsets of topics that the home does not reach are not carried."""
    if carriage.back:
        return None
    topics = sorted({row.partition.topic for row in rows if row.source is not None})
    known = await existing_namespaces(admin, topics)
    names = {topic: placed(topic, known) for topic in topics}
    outside = [
        topic
        for topic, name in names.items()
        if name is None or below(name.namespace, carriage.home) is None
    ]
    if not outside:
        return None
    return (
        f"nothing was carried: group '{carriage.source}' has offsets on topics that home"
        f" '{carriage.home}' does not reach: {shortened(outside)}; adopt or move them first"
        f" (kafka-gateway topics --adopt --topic T --to-namespace {carriage.home}), or carry these"
        f" offsets as well, for nobody to use: {carriage.command} --force"
    )


def _lost(carriage: Carriage, rows: Sequence[Row]) -> str | None:
    """Why offsets that the target has are not written over."""
    found = in_the_way(rows, back=carriage.back)
    if not found:
        return None
    ahead = ", further on than these" if carriage.back else ""
    return (
        f"nothing was carried: group '{carriage.target}' has other offsets{ahead}:"
        f" {named(row.partition for row in found)}; if nobody needs them, write over them:"
        f" {carriage.command} --force"
    )


_MOST: Final = 10
"""Groups that are warned of one by one."""


@dataclass(frozen=True, slots=True)
class LeftGroups:
    """The groups that have offsets of some topics, each with these topics; ``failed`` says why not
    all of them are known."""

    found: dict[str, set[str]]
    failed: str = ""


async def groups_left(admin: Admin, topics: Sequence[str], home: str) -> LeftGroups:
    """Those that are not in ``home`` already. ``topics`` are named as the listener lists them.
    Raises nothing: topics can be adopted whether or not this is known."""
    groups = Groups(admin.client)
    try:
        if not await admin.client.serves("ListGroupsRequest", 0):
            return LeftGroups({})
        async with Progress("looking for groups that have read them"):
            found = await groups.having(topics)
    except CommandError as error:
        return LeftGroups({}, str(error))
    finally:
        groups.close()
    inside = flat_prefix(home.removeprefix(ROOT))
    return LeftGroups({group: on for group, on in found.items() if not group.startswith(inside)})


def warn(left: LeftGroups, home: str, options: argparse.Namespace) -> None:
    """A line for each group on standard error, with the command that carries its offsets."""

    def say(text: str) -> None:
        say_error(addressed(f"warning: {text}", options.bootstrap_server, options.command_config))

    if left.failed:
        say(f"groups that have offsets on what is adopted are not known: {left.failed}")
    home = home.removeprefix(ROOT)
    for group, topics in list(left.found.items())[:_MOST]:
        say(
            f"group '{group}' has offsets on {shortened(sorted(topics), 3)}; if it moves to a"
            f" listener with home '{home}', carry them: {left_behind(group, home)}"
        )
    if len(left.found) > _MOST:
        more = list(left.found)[_MOST:]
        say(f"so it is with {len(more):,} more groups: {shortened(more)}")
