"""``kafka-gateway adopt``: a group's committed offsets into a home namespace, and back.

A listener with home ``crm`` prefixes groups: ``app`` is ``crm..app`` at the brokers there. So an
application that moves to it is a group of no offsets, unless those of the bare group are carried.
"""

from __future__ import annotations

import argparse

from gateway.acl_model import Operation
from gateway.commands.admin import Admin
from gateway.commands.failure import CommandError, UsageError
from gateway.commands.groups.carriage import Carriage, carry, planned
from gateway.commands.groups.coordinator import Groups
from gateway.commands.groups.plan import Row, as_json, counted_offsets, named, shown_rows, to_commit
from gateway.commands.namespaces import (
    DELETING,
    ROOT,
    SUB_NAMESPACES,
    TOPICS,
    is_default,
    namespace_argument,
    require_namespace,
)
from gateway.commands.running import add_client_arguments, run_client
from gateway.commands.told import Progress, print_json, say_error, table
from gateway.names import DELIMITER, InvalidName, check_namespace, flat_prefix
from protocol.messages import make

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
            sees_all = await _sees_all(admin)
            rows, refused = await planned(admin, groups, carriage, force=options.force)
        if not sees_all:
            say_error(
                "warning: offsets on topics that you may not Describe are not shown, and not"
                " carried; whoever may Alter the cluster sees to it that all are"
            )
        if not options.json and (options.dry_run or refused):
            print(table(shown_rows(rows, carriage.target)), flush=True)
        carried = 0
        if refused is None and not options.dry_run:
            async with Progress(f"carrying group '{carriage.group}'"):
                carried = await carry(groups, carriage, rows)
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


async def _sees_all(admin: Admin) -> bool:
    """Whether this is an administrator. From others OffsetFetch keeps what they may not Describe,
    as Kafka does, and does not say that there is any."""
    name = "DescribeClusterRequest"
    if not await admin.client.serves(name, 0):
        return True
    wanted = {"include_cluster_authorized_operations": True}
    answer = await admin.client.ask(name, lambda cls: make(cls, wanted), lambda told: [told])
    operations: int = answer.entity.cluster_authorized_operations
    return bool(operations >> Operation.ALTER & 1)


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
