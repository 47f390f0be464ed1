"""``kafka-gateway adopt``: carries a group's committed offsets into a home namespace, and back.

A listener with home ``crm`` prefixes groups: ``app`` is ``crm..app`` at the brokers. So if
an application moves to that listener, its group has no offsets unless the offsets of the
bare group are carried.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Iterable
from typing import Final

from gateway.acl_model import Operation
from gateway.commands.actions import Command, fill_client_parser
from gateway.commands.admin import Admin
from gateway.commands.errors import CommandError, UsageError, print_error
from gateway.commands.flags import Flag
from gateway.commands.groups.carriage import Carriage, Row, carry, named, planned, to_commit
from gateway.commands.groups.coordinator import Groups, Position
from gateway.commands.namespaces import (
    ROOT,
    VIRTUAL,
    is_default,
    namespace_argument,
    namespace_resource,
    require_namespace,
)
from gateway.commands.output import Output, Progress, counted, table
from gateway.commands.spelling import listener
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from gateway.names import InvalidName, check_namespace, flat_prefix
from protocol.messages import Request


async def adopt_group(admin: Admin, options: argparse.Namespace) -> Output:
    """Carry a group's offsets. Raises CommandError if the brokers reject a request."""
    carriage = _carriage(options)
    groups = Groups(admin.client)
    try:
        async with Progress(f"looking at group '{carriage.group}'"):
            await _require_root(admin, carriage.home)
            await groups.check_versions()
            sees_all = await _sees_all(admin)
            rows, rejected = await planned(admin, groups, carriage, force=options.force)
        if not sees_all:
            print_error(
                "warning: offsets on topics that you may not Describe are not shown, and not"
                " carried; a principal that may Alter the cluster can carry all of them"
            )
        carried = 0
        shown = table(table_rows(rows, carriage.target))
        if rejected is None and not options.dry_run:
            shown = ""
            async with Progress(f"carrying group '{carriage.group}'"):
                carried = await carry(groups, carriage, rows)
    finally:
        groups.close()
    content = {
        "group": carriage.group,
        "home": carriage.home,
        "from": carriage.source,
        "to": carriage.target,
        "dry_run": options.dry_run,
        "carried": carried,
        "refused": rejected,
        "offsets": list(map(row_json, rows)),
    }
    if rejected is not None:
        return Output(content, shown, (rejected,), failed=True)
    kept = [row.partition for row in rows if row.action == "keep"]
    notes = [f"group '{carriage.target}' keeps what it alone has: {named(kept)}"] if kept else []
    text = _summary(carriage, rows, dry_run=options.dry_run)
    return Output(content, f"{shown}\n{text}" if shown else text, () if options.json else notes)


def _carriage(options: argparse.Namespace) -> Carriage:
    """The carriage that the flags request. Raises UsageError."""
    home, group = options.home, options.group
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
    """Raises CommandError unless the namespace exists and no home applies here, because groups have
    other names at a listener with a home, or for a principal with a home."""
    keys = sorted(VIRTUAL)
    resources = [namespace_resource(path) for path in (ROOT + home, home)]
    absolute, relative = await admin.describe(resources, keys)
    differ = any(absolute.value(key) != relative.value(key) for key in keys)
    if absolute.outcome.code != relative.outcome.code or differ:
        raise CommandError(
            "a home is in force at this address, so groups have other names here; give the address"
            " of a listener without a home, and log in as a principal without one"
        )
    await require_namespace(admin, home)


async def _sees_all(admin: Admin) -> bool:
    """Whether the principal is an administrator, or may describe every topic. OffsetFetch leaves
    out topics that the principal may not describe, without an error, as Kafka's does."""
    values = {"include_cluster_authorized_operations": True}
    request = Request("DescribeClusterRequest", 2, values)
    if not await admin.client.serves(request.name, 0):
        return True
    answer = await admin.client.ask(request, lambda response: [response])
    operations: int = answer.entity.cluster_authorized_operations
    if operations >> Operation.ALTER & 1:
        return True
    # If the gateway has no ACLs, these operations are the operations that the brokers allow the
    # gateway's user, or a client that passes through, on the cluster. Whether the principal may
    # describe topics is found out with the name of a topic that does not exist, because brokers
    # reject such a name if it may not be described. If the gateway has ACLs, it is not queried,
    # because it would log a denial.
    await admin.learn()
    if listener().authorizes is not False:
        return False
    (topic,) = await admin.topics([f"kafka-gateway-adopt-{uuid.uuid4()}"])
    return topic.outcome.code != TOPIC_AUTHORIZATION_FAILED


def _summary(carriage: Carriage, rows: list[Row], *, dry_run: bool) -> str:
    total = sum(row.source is not None for row in rows)
    number = len(to_commit(rows))
    offsets = f"{counted(number or total, 'offset')} of group '{carriage.group}'"
    if not number:
        return f"All {offsets} are in group '{carriage.target}' already; nothing was changed."
    if dry_run:
        return f"{offsets} could be carried {carriage.where}."
    return (
        f"Carried {offsets} {carriage.where}: the brokers' group '{carriage.target}'"
        f" has all {total:,}."
    )


def table_rows(rows: Iterable[Row], target: str) -> list[tuple[str, ...]]:
    """The rows of a table, its head first."""
    found: list[tuple[str, ...]] = [
        ("topic", "partition", "offset", "leader epoch", f"in {target}", "")
    ]
    for row in rows:
        topic, number = row.partition
        epoch = -1 if row.source is None else row.source.leader_epoch
        shown_epoch = str(epoch) if epoch >= 0 else "-"
        offsets = _offset(row.source), shown_epoch, _offset(row.target)
        found.append((topic, str(number), *offsets, row.action))
    return found


def row_json(row: Row) -> dict[str, object]:
    return {
        "topic": row.partition.topic,
        "partition": row.partition.number,
        "source": None if row.source is None else row.source._asdict(),
        "target": None if row.target is None else row.target._asdict(),
        "action": row.action,
    }


def _offset(position: Position | None) -> str:
    return "-" if position is None else str(position.offset)


_HOME: Final = {"required": True, "type": namespace_argument}

COMMAND: Final = Command(
    "adopt",
    "A group that moves to a listener with a home, or whose principal gets one, has another name at"
    " the brokers. Its offsets are carried there, while it has no members.",
    tuple(f"--group app --home crm{more}" for more in (" --dry-run", "", " --undo")),
    (
        Flag("--group", "G", "as the application calls it", {"required": True}),
        Flag("--home", "NS", "the namespace that is, or will be, its home", _HOME),
        Flag("--undo", "", "carry the home's offsets back to the bare group"),
        Flag("--dry-run", "", "show what would be carried, and change nothing"),
        Flag("--force", "", "also carry offsets outside of the home, and overwrite the target's"),
    ),
    run=adopt_group,
)


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand."""
    fill_client_parser(parser, COMMAND)
