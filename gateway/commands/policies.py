"""The policies that apply to a name, as the gateway describes them by the virtual config
``gateway.policies`` of a namespace that exists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from gateway.commands.admin import Admin
from gateway.commands.answers import Described
from gateway.commands.errors import rejection
from gateway.commands.namespaces import (
    ROOT,
    existing_namespaces,
    namespace_resource,
    namespace_text,
)
from gateway.commands.output import counted, table
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER, LogicalName
from gateway.policies.applied_text import AppliedRule, parse_rules

POLICIES: Final = "gateway.policies"
HEADING: Final = ("policy", "limit", "mode", "source")


@dataclass(frozen=True, slots=True)
class Applied:
    """The policies that apply in ``namespace``, as the client spells it. ``more``: the number of
    rules that did not fit into the response. ``rows`` is None if the policies are not known;
    ``why`` is a sentence about that, or empty."""

    namespace: str
    rows: tuple[AppliedRule, ...] | None
    more: int = 0
    why: str = ""


async def of_topic(admin: Admin, name: LogicalName) -> Applied:
    """The policies for topics in that name's namespace; the name may be in the legal
    spelling (``org..orders``)."""
    if name.namespace == ROOT:
        why = (
            "policies of the root's default namespace are not described: "
            "ask at a listener without a home"
        )
        return Applied(ROOT, None, why=why)
    if name.namespace:
        return await _of_first(admin, [name.namespace])
    return await _of_first(admin, [*await existing_namespaces(admin, [name.topic]), ""])


async def of_namespace(admin: Admin, path: str) -> Applied:
    """The policies in a namespace. If it does not exist, the policies that the innermost namespace
    above it has for everything below."""
    tiers = [path]
    while DELIMITER in tiers[-1].removeprefix(ROOT):
        tiers.append(tiers[-1].rpartition(DELIMITER)[0])
    return await _of_first(admin, tiers)


async def _of_first(admin: Admin, paths: Sequence[str]) -> Applied:
    """The policies in the first of these namespaces that exists; if no namespace
    exists, they are not known."""
    resources = [namespace_resource(path) for path in paths]
    for path, described in zip(paths, await admin.describe(resources, [POLICIES]), strict=True):
        if described.outcome.code != UNKNOWN_TOPIC_OR_PARTITION:
            return _read(path, described)
    return Applied(paths[0], None)


def _read(path: str, described: Described) -> Applied:
    subject = f"which policies apply in {namespace_text(path)}"
    if described.outcome.code:
        return Applied(path, None, why=rejection(subject, "told", described.outcome))
    value = described.value(POLICIES)
    if not value:  # an older gateway
        return Applied(path, None)
    try:
        parsed = parse_rules(value)
    except ValueError:
        return Applied(path, None, why=f"{subject} the gateway tells so: {value}")
    return Applied(path, parsed.rules, parsed.more)


def policy_table(rows: Iterable[AppliedRule]) -> str:
    """A line for each rule, below a heading. The producer guarantee has no mode."""
    return table([HEADING, *((one.rule, one.limit, one.mode or "", one.source) for one in rows)])


def applied_text(applied: Applied) -> str:
    """The table of the policies; rules that did not fit into the response are counted."""
    assert applied.rows is not None
    more = "" if not applied.more else f"\nand {counted(applied.more, 'more rule')}"
    return policy_table(applied.rows) + more


def policies_json(rows: Iterable[AppliedRule] | None) -> list[dict[str, object]] | None:
    """The policies as JSON."""
    return None if rows is None else [asdict(one) for one in rows]
