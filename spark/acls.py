"""Reads the ACLs of a catalog's export, finds the unused ACLs, and writes commands to remove
them."""

from __future__ import annotations

import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark import tiers
from spark.local_rows import local_rows
from spark.records import ACLS_TOLD_AGAIN_MS
from spark.sources import SourceError

DELIMITER: Final = ":"
EVERYTHING: Final = "*"
ANY_USER: Final = "User:*"

_FLAGS: Final = {
    "TOPIC": "--topic",
    "GROUP": "--group",
    "TRANSACTIONAL_ID": "--transactional-id",
    "DELEGATION_TOKEN": "--delegation-token",
    "USER": "--user-principal",
}


class CatalogError(SourceError):
    """An export of the catalog cannot be read; the text is the reason, in one line."""


class Acl(NamedTuple):
    """An ACL of the catalog, in logical names and Kafka's words (``TOPIC``, ``LITERAL``)."""

    type: str
    pattern: str
    name: str
    permission: str
    operation: str
    principal: str
    host: str = EVERYTHING

    @property
    def text(self) -> str:
        """The ACL as the traffic log writes it."""
        host = "" if self.host == EVERYTHING else f" from {self.host}"
        entry = f"{self.permission} {self.operation} for {self.principal}{host}"
        return f"{entry} on {self.type}:{self.pattern}:{self.name}"

    @property
    def about(self) -> tuple[str, str, str]:
        """The resource pattern: type, pattern type and name."""
        return self.type, self.pattern, self.name

    @property
    def is_namespaces_own(self) -> bool:
        """Whether the ACL makes a namespace a gate: it names the namespace itself."""
        literal = self.type == "TOPIC" and self.pattern == "LITERAL"
        return literal and self.name.endswith(DELIMITER)

    @property
    def reaches(self) -> tuple[str, bool]:
        """The namespace in which the ACL allows something, and whether it also allows it in the
        namespaces below; ``*`` is everywhere."""
        if self.name == EVERYTHING and self.pattern == "LITERAL":
            return EVERYTHING, True
        return self.name.rpartition(DELIMITER)[0], self.name.endswith(DELIMITER)

    @property
    def opens(self) -> str | None:
        """The namespace whose gate, and whose children's gates, the ACL may open: ``*`` if it may
        open the gates of all namespaces, or None if it opens no gate."""
        if self.type != "TOPIC":
            return None
        if self.name.endswith(DELIMITER):
            return self.name.removesuffix(DELIMITER)
        return EVERYTHING if self.pattern == "LITERAL" and self.name == EVERYTHING else None


@dataclass(frozen=True, slots=True)
class Tool:
    """Arguments of the commands: a gateway's address, and a file for --command-config.

    ``everyone`` is true if the gateway has ``allow.everyone.if.no.acl.found``.
    """

    bootstrap_server: str = "localhost:9192"
    command_config: str | None = None
    everyone: bool = False


def read_acls(path: Path) -> list[Acl]:
    """The ACLs of an export of the catalog: YAML as the gateway writes it, or JSON with that
    content.

    Raises CatalogError.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix == ".json" else _yaml(text)
        if not isinstance(content, dict) or "format" not in content:
            raise CatalogError(f"{path} is no export of a catalog (kafka-gateway catalog export)")
        return [acl for pattern in content.get("acls", ()) for acl in _acls(pattern)]
    except (OSError, ValueError) as error:
        raise CatalogError(f"{path} cannot be read: {error}") from None
    except (KeyError, TypeError) as error:
        raise CatalogError(f"{path} has an ACL that lacks something: {error}") from None


def removal(acl: Acl, tool: Tool) -> str:
    """The kafka-acls command that removes exactly this ACL, quoted for a POSIX shell."""
    words = ["kafka-acls", "--bootstrap-server", tool.bootstrap_server]
    if tool.command_config:
        words += ["--command-config", tool.command_config]
    side = "allow" if acl.permission == "ALLOW" else "deny"
    operation = "".join(part.capitalize() for part in acl.operation.split("_"))
    words += ["--remove", "--force", f"--{side}-principal", acl.principal]
    # If no host is given, the tool means the host ``*``, and removes no other entry.
    words += [f"--{side}-host", acl.host, "--operation", operation]
    words += ["--cluster"] if acl.type == "CLUSTER" else [_FLAGS[acl.type], acl.name]
    words += ["--resource-pattern-type", acl.pattern.lower()]
    return shlex.join(words)


def _acls(pattern: Any) -> Iterator[Acl]:
    for entry in pattern["entries"]:
        yield Acl(
            pattern["type"],
            pattern["pattern"],
            pattern["name"],
            entry["permission"],
            entry["operation"],
            entry["principal"],
            entry.get("host", EVERYTHING),
        )


def _yaml(text: str) -> Any:
    # A cluster may have only Spark's own packages, so only this job imports PyYAML.
    try:
        import yaml
    except ImportError:
        raise CatalogError(
            "PyYAML is not installed here: install it, or give the export as JSON (NAME.json)"
        ) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


LAST: Final = "the last ACL of this resource: without it others get access; add another ACL first"

TOO_SHORT: Final = (
    "it may be in use: the log has less than an hour of worker {worker_id} of {gateway_id}, which "
    "records each ACL once an hour; use a log of a longer time"
)

_ROW: Final = (
    "command string, caution string, type string, pattern string, name string, principal string, "
    "host string, operation string"
)


def unused_acls(records: DataFrame, acls: Iterable[Acl], tool: Tool) -> DataFrame:
    """The ACLs among ``acls`` that no request used.

    Columns: command (null if removing is not advised), caution (null, or the reason), type,
    pattern, name, principal, host, operation. Empty if the log has no record of a used ACL at all,
    because then the log is incomplete.
    """
    used = {(row[0], row[1]) for row in used_acls(records).collect()}
    visited = {(row[0], row[1]) for row in visits(records).collect()} if used else set()
    doubt = too_short(records) if used else None
    rows = list(advice(acls, used, visited, tool, doubt)) if used else []
    return local_rows(records.sparkSession, _ROW, rows)


def too_short(records: DataFrame) -> str | None:
    """Why the log is too short to know which ACLs are in use, or None if it is long enough.

    A worker that has ended is left out: its clients are at other workers now.
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
        # The record of an ACL has the time at which its window starts, but is written when it ends.
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
    """The rows of :func:`unused_acls`. ``used`` are pairs of principal and ACL text, ``visited``
    pairs of principal and the path of a namespace in which, or below which, the principal used a
    topic; ``doubt`` is a caution for all rows."""
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
    """The namespaces whose gates principals pass, or may pass."""

    def __init__(
        self, acls: Iterable[Acl], used: Set[tuple[str, str]], visited: Set[tuple[str, str]]
    ) -> None:
        """Take the arguments of :func:`advice`."""
        self._inside: dict[str, set[str]] = defaultdict(set)
        """By principal: the namespaces that it used, and every namespace above them."""
        self._roots: dict[str, set[str]] = defaultdict(set)
        """By principal: namespaces in which, or somewhere below which, it used a resource."""
        for principal, path in visited:
            self._inside[principal].add(path)
        by_text = {one.text: one for one in acls}
        for principal, text in used:
            if text in by_text:
                self._reach(principal, *by_text[text].reaches)

    def opened_by(self, acl: Acl) -> bool:
        """Whether an ACL may open the gate of a namespace for a principal."""
        path = acl.opens
        if path is None:
            return False
        everybody = self._inside.keys() | self._roots.keys()
        who = everybody if acl.principal == ANY_USER else {acl.principal} & everybody
        return any(self._opens(one, path) for one in who)

    def _reach(self, principal: str, path: str, below: bool) -> None:
        # A request that creates a topic, or that concerns a group, has no topic in the log. So the
        # ACL that allowed it shows which namespace its principal used.
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
    """The ACLs that were used: principal, acl (its text)."""
    return records.where(F.col("kind") == "acl").select("principal", "acl").distinct()


def visits(records: DataFrame) -> DataFrame:
    """The namespaces that principals used, and the namespaces above: principal, tier (a path)."""
    flows = records.where((F.col("kind") == "flow") & (F.col("namespace") != ""))
    places = flows.select("principal", "namespace").distinct()
    return (
        places.select("principal", F.explode(tiers.tiers(F.col("namespace"))).alias("tier"))
        .where(F.col("tier") != tiers.ALL)
        .distinct()
    )
