"""Carries a group's committed offsets to another group: the plan, the conditions that reject it,
and the check that all offsets arrive."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from gateway.commands.admin import Admin
from gateway.commands.errors import CommandError
from gateway.commands.groups.coordinator import Groups, Partition, Position, Positions
from gateway.commands.namespaces import ROOT, existing_namespaces, name_of_listed
from gateway.commands.output import Progress, counted, shortened
from gateway.commands.spelling import shown
from gateway.names import below, flat_prefix

_WITHOUT_MEMBERS: Final = frozenset({"Empty", "Dead"})
"""States in which a group accepts offsets without a member; ``Dead``: there is no such group."""


class Carriage(NamedTuple):
    """A group's offsets, to be carried from group ``source`` to group ``target``, by their names at
    the brokers and at listeners without a home. ``back``: out of the home."""

    group: str
    home: str
    source: str
    target: str
    back: bool

    @property
    def command(self) -> str:
        """The command line that carries the offsets."""
        undo = " --undo" if self.back else ""
        return f"kafka-gateway adopt --group {shlex.quote(self.group)} --home {self.home}{undo}"

    @property
    def where(self) -> str:
        """The direction, for a sentence."""
        return f"out of home '{self.home}'" if self.back else f"into home '{self.home}'"


Action = Literal["carry", "same", "overwrite", "keep"]
"""``keep``: only the target has a position."""


class Row(NamedTuple):
    """A partition, with the positions of the source and the target; None: no position."""

    partition: Partition
    source: Position | None
    target: Position | None

    @property
    def action(self) -> Action:
        """The action for the partition."""
        if self.source is None:
            return "keep"
        if self.target is None:
            return "carry"
        return "same" if self.source == self.target else "overwrite"

    @property
    def is_ahead(self) -> bool:
        """Whether the target has read further than the source, or has a position where the
        source has no position."""
        if self.target is None:
            return False
        return self.source is None or self.target.offset > self.source.offset


def plan(source: Positions, target: Positions) -> list[Row]:
    """A row for each partition for which either group has a position, in order."""
    both = sorted({*source, *target})
    return [Row(one, source.get(one), target.get(one)) for one in both]


def to_commit(rows: Iterable[Row]) -> dict[Partition, Position]:
    """The positions to commit so that the target has all positions of the source."""
    return {
        row.partition: row.source
        for row in rows
        if row.source is not None and row.action in ("carry", "overwrite")
    }


def in_the_way(rows: Sequence[Row], *, back: bool) -> list[Row]:
    """The target's own offsets that carrying would overwrite, or mix with the source's.

    If ``back``, the source's offsets were once carried from the target. So if the target's
    offset is further back, overwriting it loses nothing; an offset that only the target
    has was never carried.
    """
    if back:
        return [row for row in rows if row.action == "overwrite" and row.is_ahead]
    return [row for row in rows if row.action in ("overwrite", "keep")]


def missing(wanted: Positions, found: Positions) -> list[Partition]:
    """The partitions whose position found differs from the wanted position."""
    return [one for one, position in wanted.items() if found.get(one) != position]


async def planned(
    admin: Admin, groups: Groups, carriage: Carriage, *, force: bool
) -> tuple[list[Row], str | None]:
    """The plan, and the reason why it must not be carried out, or None if it may be."""
    # States are queried first, because a member that leaves meanwhile commits for the last time.
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
    """Write the offsets; returns how many were written. Raises CommandError unless the
    target then has them all."""
    wanted = {row.partition: row.source for row in rows if row.source is not None}
    positions = to_commit(rows)
    failed = await groups.commit(carriage.target, positions)
    if failed:
        errors = shortened(
            f"{one.topic}-{one.number} ({error})" for one, error in sorted(failed.items())
        )
        raise CommandError(
            f"not all was carried: {counted(len(failed), 'offset')} of {len(wanted):,} of group"
            f" '{carriage.source}' were refused for group '{carriage.target}': {errors}; carry them"
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
    """The reason why offsets are not carried, if their topics are outside the home's reach."""
    if carriage.back:
        return None
    topics = sorted({row.partition.topic for row in rows if row.source is not None})
    known = await existing_namespaces(admin, topics)
    names = {topic: name_of_listed(topic, known) for topic in topics}
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
    """The reason why the target's offsets are not overwritten, if it has any."""
    found = in_the_way(rows, back=carriage.back)
    if not found:
        return None
    ahead = ", further on than these" if carriage.back else ""
    return (
        f"nothing was carried: group '{carriage.target}' has other offsets{ahead}:"
        f" {named(row.partition for row in found)}; if nobody needs them, write over them:"
        f" {carriage.command} --force"
    )


def named(partitions: Iterable[Partition]) -> str:
    """``orders-0, orders-1``, and the number of further partitions."""
    return shortened(f"{one.topic}-{one.number}" for one in partitions)


_MOST: Final = 10
"""Maximum number of groups with a warning each."""


async def warnings_of_groups(admin: Admin, topics: Sequence[str], home: str) -> list[str]:
    """A warning, with the command that carries the offsets, for each group with offsets of topics
    that are adopted into ``home``, unless the group is there already.

    ``topics`` are named as the listener lists them. Raises nothing, because topics can be adopted
    even if the groups are not known.
    """
    groups = Groups(admin.client)
    try:
        if not await admin.client.serves("ListGroupsRequest", 0):
            return []
        async with Progress("looking for groups that have read them"):
            await admin.learn()
            found = await groups.having(map(shown, topics))
    except CommandError as error:
        return [f"warning: groups that have offsets on what is adopted are not known: {error}"]
    finally:
        groups.close()
    home = home.removeprefix(ROOT)
    left = [group for group in found if not group.startswith(flat_prefix(home))]
    warnings = [
        f"warning: group '{group}' has offsets on {shortened(sorted(found[group]), 3)}; if it moves"
        f" to a listener with home '{home}', carry them:"
        f" {Carriage(group, home, '', '', back=False).command}"
        for group in left[:_MOST]
    ]
    if len(left) > _MOST:
        more = left[_MOST:]
        warnings.append(f"warning: the same goes for {len(more):,} more groups: {shortened(more)}")
    return warnings
