"""``kafka-gateway policies``, which prints the JSON Schema; and which policies apply where.

A gateway tells them by the virtual config ``gateway.policies`` of a namespace that exists.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from gateway import exit_codes
from gateway.commands.admin import Admin
from gateway.commands.answers import Described
from gateway.commands.namespaces import (
    ROOT,
    namespace_resource,
    possible_namespaces,
    shown_namespace,
)
from gateway.commands.told import counted, refusal, table
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER, LogicalName
from gateway.policies.applied import AppliedRule, parse_rules
from gateway.policies.schema import schema_text

_EXAMPLES = """\
examples:
  kafka-gateway policies schema > policies.schema.json

exit status:
   0  done
   2  the command line cannot be understood
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand; its options' ``run`` returns the exit status."""
    parser = commands.add_parser(
        "policies",
        help="the JSON Schema of the policies in a configuration",
        description="What helps to write policies; nothing is connected to.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    schema = inner.add_parser(
        "schema",
        help="print the JSON Schema of `policies:`",
        description="Print the JSON Schema of a configuration's key `policies`.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    schema.set_defaults(run=_schema)


def _schema(_: argparse.Namespace) -> int:
    print(schema_text(), end="")
    return exit_codes.OK


POLICIES: Final = "gateway.policies"
HEADING: Final = ("policy", "limit", "mode", "source")
_ROOT_IS_NOT_TOLD: Final = (
    "which policies apply is not told of the root's default namespace: "
    "ask at a listener without a home"
)


@dataclass(frozen=True, slots=True)
class Applied:
    """What applies in ``namespace``, as the client writes it: ``more`` rules had no room in the
    answer. ``rows`` None: nobody says; ``why`` is a sentence about that, if there is one."""

    namespace: str
    rows: tuple[AppliedRule, ...] | None
    more: int = 0
    why: str = ""


async def of_topic(admin: Admin, name: LogicalName) -> Applied:
    """What applies to topics of that name's namespace, which may be a legal spelling's
    (``org..orders``)."""
    if name.namespace == ROOT:
        return Applied(ROOT, None, why=_ROOT_IS_NOT_TOLD)
    if name.namespace:
        return await _first(admin, [name.namespace])
    return await _first(admin, [*possible_namespaces([name.topic]), ""])


async def of_namespace(admin: Admin, path: str) -> Applied:
    """What applies in a namespace; in one that does not exist, what the innermost namespace above
    it says of all that is below it."""
    tiers = [path]
    while DELIMITER in tiers[-1].removeprefix(ROOT):
        tiers.append(tiers[-1].rpartition(DELIMITER)[0])
    return await _first(admin, tiers)


async def _first(admin: Admin, paths: Sequence[str]) -> Applied:
    """Of these namespaces the first one that exists; of none of them nothing is said."""
    resources = [namespace_resource(path) for path in paths]
    for path, described in zip(paths, await admin.describe(resources, [POLICIES]), strict=True):
        if described.outcome.code != UNKNOWN_TOPIC_OR_PARTITION:
            return _read(path, described)
    return Applied(paths[0], None)


def _read(path: str, described: Described) -> Applied:
    if described.outcome.code:
        what = f"which policies apply in {shown_namespace(path)}"
        return Applied(path, None, why=refusal(what, "told", described.outcome))
    value = described.value(POLICIES)
    if not value:  # an older gateway
        return Applied(path, None)
    try:
        told = parse_rules(value)
    except ValueError:
        why = f"which policies apply in {shown_namespace(path)} the gateway tells so: {value}"
        return Applied(path, None, why=why)
    return Applied(path, told.rules, told.more)


def policy_table(rows: Iterable[AppliedRule]) -> str:
    """A line each, below a heading. The producer guarantee has no mode."""
    shown = [(one.rule, one.limit, one.mode or "", one.source) for one in rows]
    return table([HEADING, *shown])


def lines(applied: Applied) -> str:
    """The table; what had no room in it is counted."""
    assert applied.rows is not None
    left = "" if not applied.more else f"\nand {counted(applied.more, 'more rule')}"
    return policy_table(applied.rows) + left


def as_json(rows: Iterable[AppliedRule] | None) -> list[dict[str, object]] | None:
    """The same for programs."""
    return None if rows is None else [asdict(one) for one in rows]
