"""Groups that have read topics which are adopted: in a home they would begin anew."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.commands.admin import Admin
from gateway.commands.carriage import left_behind
from gateway.commands.failure import CommandError
from gateway.commands.groups import Groups
from gateway.commands.listed import ROOT
from gateway.commands.progress import Progress
from gateway.commands.told import addressed, say_error, shortened
from gateway.names import flat_prefix

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
