"""``kafka-gateway adopt``: a group's committed offsets into a home namespace, and back.

A listener with home ``crm`` prefixes groups: ``app`` is ``crm..app`` at the brokers there. So an
application that moves to it is a group of no offsets, unless those of the bare group are carried.
"""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass

from gateway.commands.admin import Admin
from gateway.commands.failure import CommandError, UsageError
from gateway.commands.group_plan import (
    Row,
    as_json,
    counted_offsets,
    in_the_way,
    missing,
    named,
    plan,
    shown_rows,
    to_commit,
)
from gateway.commands.groups import Groups
from gateway.commands.listed import ROOT, is_default, namespace_argument, placed
from gateway.commands.namespaces import (
    DELETING,
    SUB_NAMESPACES,
    TOPICS,
    existing_namespaces,
    require_namespace,
)
from gateway.commands.progress import Progress
from gateway.commands.running import add_client_arguments, run_client
from gateway.commands.told import print_json, say_error, shortened, table
from gateway.names import DELIMITER, InvalidName, check_namespace, flat_prefix
from gateway.views.spelling import below

_EXAMPLES = """\
examples:
  kafka-gateway adopt --bootstrap-server localhost:9192 --group app --home crm --dry-run
  kafka-gateway adopt --bootstrap-server localhost:9192 --group app --home crm
  kafka-gateway adopt --bootstrap-server localhost:9192 --group app --home crm --undo

exit status:
   0  carried, or it was already
   1  refused, or not all was carried; standard error says what, and what to do next
   2  the command line cannot be understood
  69  no gateway answers at that address, or not in time
"""

_WITHOUT_MEMBERS = frozenset({"Empty", "Dead"})
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


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand; its options' ``run`` returns the exit status."""
    parser = commands.add_parser(
        "adopt",
        help="carry the committed offsets of a group into a home namespace, and back",
        description="A group that moves to a listener with a home, or whose principal gets one, has"
        " another name at the brokers. Its offsets are carried there, while it has no members.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_client_arguments(parser)
    add, flag = parser.add_argument, "store_true"
    add("--group", required=True, metavar="G", help="as the application calls it")
    add("--home", required=True, metavar="NS", help="the namespace that is, or will be, its home")
    add("--undo", action=flag, help="carry the home's offsets back to the bare group")
    add("--dry-run", action=flag, help="show what would be carried, and change nothing")
    add(
        "--force",
        action=flag,
        help="also offsets of topics outside of the home, and over others that the target has",
    )
    parser.set_defaults(run=lambda options: run_client(adopt_group, options))


async def adopt_group(admin: Admin, options: argparse.Namespace) -> int:
    """Carry a group's offsets. Raises CommandError for what is refused."""
    carriage = _carriage(options)
    groups = Groups(admin.client)
    try:
        async with Progress(f"looking at group '{carriage.group}'"):
            await _require_root(admin, carriage.home)
            await groups.check_versions()
            rows, refused = await _planned(admin, groups, carriage, force=options.force)
        if not options.json and (options.dry_run or refused):
            print(table(shown_rows(rows, carriage.target)), flush=True)
        carried = 0
        if refused is None and not options.dry_run:
            async with Progress(f"carrying group '{carriage.group}'"):
                carried = await _carry(groups, carriage, rows)
    finally:
        groups.close()
    if options.json:
        print_json(
            {
                "group": carriage.group,
                "home": carriage.home,
                "from": carriage.source,
                "to": carriage.target,
                "dry_run": options.dry_run,
                "carried": carried,
                "refused": refused,
                "offsets": as_json(rows),
            }
        )
    if refused is not None:
        raise CommandError(refused)
    if not options.json:
        _tell(carriage, rows, dry_run=options.dry_run)
    return 0


def left_behind(group: str, home: str) -> str:
    """The command that carries a group which has read topics that are adopted into ``home``."""
    return Carriage(group, home, "", "", back=False).command


def _carriage(options: argparse.Namespace) -> Carriage:
    """Raises UsageError."""
    home, group = namespace_argument(options.home), options.group
    if is_default(home) or home.startswith(ROOT):
        raise UsageError("--home is the path of a namespace, such as crm or org:crm")
    if not group:
        raise UsageError("--group is empty; give it as the application does")
    try:
        check_namespace(home)
    except InvalidName as error:
        raise UsageError(f"--home: {error}") from None
    prefix = flat_prefix(home)
    if group.startswith(prefix):
        raise UsageError(
            f"--group '{group}' has the home's prefix already; give the name that the application"
            f" uses: --group {group.removeprefix(prefix)}"
        )
    inside = prefix + group
    source, target = (inside, group) if options.undo else (group, inside)
    return Carriage(group, home, source, target, options.undo)


async def _require_root(admin: Admin, home: str) -> None:
    """Raises CommandError unless the namespace exists and no home is in force here: at a listener
    with one, or for a principal with one, groups have other names."""
    keys = (SUB_NAMESPACES, TOPICS, DELETING)
    paths = (ROOT + home, home)
    absolute, relative = await admin.describe([path + DELIMITER for path in paths], keys)
    told = [{key: one.value(key) for key in keys} for one in (absolute, relative)]
    if absolute.outcome.code != relative.outcome.code or told[0] != told[1]:
        raise CommandError(
            "a home is in force at this address, so groups have other names here; give the address"
            " of a listener without a home, and log in as a principal without one"
        )
    await require_namespace(admin, home)


async def _planned(
    admin: Admin, groups: Groups, carriage: Carriage, *, force: bool
) -> tuple[list[Row], str | None]:
    """What is to be done, and why it is not to be; None: nothing is against it."""
    source = await groups.positions(carriage.source)
    rows = plan(source, await groups.positions(carriage.target))
    for group in (carriage.source, carriage.target):
        state = await groups.state(group)
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


async def _outside(admin: Admin, carriage: Carriage, rows: list[Row]) -> str | None:
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


def _lost(carriage: Carriage, rows: list[Row]) -> str | None:
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


async def _carry(groups: Groups, carriage: Carriage, rows: list[Row]) -> int:
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


def _tell(carriage: Carriage, rows: list[Row], *, dry_run: bool) -> None:
    whole = sum(row.source is not None for row in rows)
    number = len(to_commit(rows))
    group = f"group '{carriage.group}'"
    if not number:
        print(
            f"All {counted_offsets(whole)} of {group} are in group '{carriage.target}' already;"
            " nothing was changed."
        )
    elif dry_run:
        print(f"{counted_offsets(number)} of {group} could be carried {carriage.where}.")
    else:
        print(
            f"Carried {counted_offsets(number)} of {group} {carriage.where}: the brokers' group"
            f" '{carriage.target}' has all {whole:,}."
        )
    kept = [row.partition for row in rows if row.action == "keep"]
    if kept:
        say_error(f"group '{carriage.target}' keeps what it alone has: {named(kept)}")
