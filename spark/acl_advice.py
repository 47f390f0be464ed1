"""ACLs that nothing used, as the commands that remove them: least privilege.

The log says which ACLs allowed something (records of kind ``acl``), an export of the catalog
(``kafka-gateway catalog export``) says which there are. The difference is advised to be removed,
except where removing would do more than take away what nobody used:

- a DENY is never used to allow, and stays;
- an ALLOW on a namespace is what lets its principal past the gate (docs/access.md), also when a
  topic's own ACL then decides. It stays if the principal did anything in the namespace or below,
  or may have: what ACLs for a whole subtree or ``*`` allowed can be anywhere in it;
- the last ACL of a namespace is the gate itself: without it the namespace is open to whoever
  a topic's own ACL allows. It is shown with a caution and without a command. Where
  ``allow.everyone.if.no.acl.found`` is set the same holds for the last ACL of any pattern.

The advice is as good as the time that the log covers: who comes once a quarter is not in a week.
And a gateway's worker tells of an ACL in use once an hour. Where the log has less of one that is
still at work, an ACL that it told of before may be in use all the time: then there is no command.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark import tiers
from spark.acls import ANY_USER, DELIMITER, EVERYTHING, Acl, Tool, removal
from spark.local_rows import local_rows
from spark.records import ACLS_TOLD_AGAIN_MS

LAST: Final = (
    "the last ACL here: without it others get in whom it keeps out; write another ACL first"
)

TOO_SHORT: Final = (
    "it may be in use: the log has less than an hour of worker {worker_id} of {gateway_id}, which "
    "tells of each ACL once an hour; judge by a longer time"
)

_ROW: Final = (
    "command string, caution string, type string, pattern string, name string, principal string, "
    "host string, operation string"
)


def unused_acls(records: DataFrame, acls: Iterable[Acl], tool: Tool) -> DataFrame:
    """What may be removed of ``acls``.

    Columns: command (null where removing is not advised), caution (null, or what to think of
    first), type, pattern, name, principal, host, operation. Empty where the log has no record of
    a used ACL at all: then it is the log that lacks something.
    """
    used = {(row[0], row[1]) for row in used_acls(records).collect()}
    visited = {(row[0], row[1]) for row in visits(records).collect()} if used else set()
    doubt = too_short(records) if used else None
    rows = list(advice(acls, used, visited, tool, doubt)) if used else []
    return local_rows(records.sparkSession, _ROW, rows)


def too_short(records: DataFrame) -> str | None:
    """Why the log is too short to tell which ACLs are in use; None if it is not.

    A worker that has ended does not count: whoever it served is elsewhere by now, and told of.
    """
    ends = F.col("time_ms") + F.coalesce(F.col("window_ms"), F.lit(0))
    workers = (
        records.groupBy("gateway_id", "worker_id")
        .agg(
            F.min("time_ms").alias("first"),
            F.max(ends).alias("last"),
            F.coalesce(F.max("window_ms"), F.lit(0)).alias("window"),
        )
        .orderBy("gateway_id", "worker_id")
        .collect()
    )
    end = max((one["last"] for one in workers), default=0)
    for one in workers:
        # What is told of stands at the beginning of a window, and comes at its end.
        needed = ACLS_TOLD_AGAIN_MS + one["window"]
        if end - one["last"] < needed and one["last"] - one["first"] < needed:
            return TOO_SHORT.format_map(one.asDict())
    return None


def advice(
    acls: Iterable[Acl],
    used: Set[tuple[str, str]],
    visited: Set[tuple[str, str]],
    tool: Tool,
    doubt: str | None = None,
) -> Iterator[dict[str, str | None]]:
    """The rows of :func:`unused_acls`, given who used which ACL (principal, its text) and who was
    in which namespace or in one below it (principal, path). ``doubt`` is what casts doubt on all
    of it."""
    acls = sorted(acls)
    texts = {text for _, text in used}
    gates = Gates(acls, used, visited)
    unused = [
        one
        for one in acls
        if one.permission == "ALLOW" and one.text not in texts and not gates.opened_by(one)
    ]
    stay = Counter(one.about for one in acls)
    stay.subtract(one.about for one in unused)
    for one in unused:
        guards = one.is_namespaces_own or tool.everyone
        last = guards and stay[one.about] <= 0
        caution = doubt or (LAST if last else None)
        yield {
            "command": None if caution else removal(one, tool),
            "caution": caution,
            "type": one.type,
            "pattern": one.pattern,
            "name": one.name,
            "principal": one.principal,
            "host": one.host,
            "operation": one.operation,
        }


class Gates:
    """Which namespaces principals have to get into, or may have to."""

    def __init__(
        self, acls: Iterable[Acl], used: Set[tuple[str, str]], visited: Set[tuple[str, str]]
    ) -> None:
        """The arguments of :func:`advice`."""
        self._inside: dict[str, set[str]] = defaultdict(set)
        """By principal: the namespaces that it was in, and all above them."""
        self._roots: dict[str, set[str]] = defaultdict(set)
        """By principal: namespaces in or below which it was, nobody knows where."""
        for principal, path in visited:
            self._inside[principal].add(path)
        by_text = {one.text: one for one in acls}
        for principal, text in used:
            if text in by_text:
                self._reach(principal, *by_text[text].reaches)

    def opened_by(self, acl: Acl) -> bool:
        """Whether an ACL may be what lets somebody past the gate of a namespace."""
        path = acl.opens
        if path is None:
            return False
        everybody = self._inside.keys() | self._roots.keys()
        who = everybody if acl.principal == ANY_USER else {acl.principal} & everybody
        return any(self._opens(one, path) for one in who)

    def _reach(self, principal: str, path: str, below: bool) -> None:
        # A request that makes a topic, or that is about a group, names no topic in the log: that
        # an ACL allowed it shows where its principal was.
        parts = path.split(DELIMITER) if path else []
        above = (DELIMITER.join(parts[:count]) for count in range(1, len(parts) + 1))
        self._inside[principal].update(above)
        if below and path:
            self._roots[principal].add(path)

    def _opens(self, principal: str, path: str) -> bool:
        inside, roots = self._inside[principal], self._roots[principal]
        if path == EVERYTHING:
            return bool(inside or roots)
        if path in inside or EVERYTHING in roots:
            return True
        return any(_is_in(path, root) or _is_in(root, path) for root in roots)


def _is_in(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}{DELIMITER}")


def used_acls(records: DataFrame) -> DataFrame:
    """Who was allowed something by which ACL: principal, acl (its text)."""
    return records.where(F.col("kind") == "acl").select("principal", "acl").distinct()


def visits(records: DataFrame) -> DataFrame:
    """Who did something in which namespace or in one below it: principal, tier (a path)."""
    flows = records.where((F.col("kind") == "flow") & (F.col("namespace") != ""))
    places = flows.select("principal", "namespace").distinct()
    return (
        places.select("principal", F.explode(tiers.tiers(F.col("namespace"))).alias("tier"))
        .where(F.col("tier") != tiers.ALL)
        .distinct()
    )
