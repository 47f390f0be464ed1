"""spark.acl_advice: ACLs that may be removed, and never an ACL that is still needed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Set

import pytest
from pyspark.sql import SparkSession

from gateway.acl_model import Operation, Permission, Resource, ResourceType, resource
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import Entity, ResourceAcls
from gateway.catalog.snapshot import Snapshot
from gateway.names import parents
from spark.acls import LAST, Acl, Tool, advice, removal, too_short, unused_acls
from tests.acls.samples import HOST, authorizer
from tests.acls.samples import acls as entities
from tests.spark import samples
from tests.spark.test_acls import acl, acls_of

ALICE, BOB = "User:alice", "User:bob"
TOOL = Tool("gw:9192")
HOUR = 60 * samples.MINUTE_MS

Row = dict[str, str | None]


def advised(
    acls: list[str],
    used: Iterable[tuple[str, str]] = (),
    visited: Set[tuple[str, str]] = frozenset(),
    tool: Tool = TOOL,
) -> dict[str, str | None]:
    """The ACLs in the advice, each with its caution."""
    found = [acl(one) for one in acls]
    by_text = dict(zip((one.text for one in found), acls, strict=True))
    rows = advice(found, {(f"User:{who}", acl(text).text) for who, text in used}, visited, tool)
    told = {}
    for row in rows:
        one = Acl(
            str(row["type"]),
            str(row["pattern"]),
            str(row["name"]),
            "ALLOW",
            str(row["operation"]),
            str(row["principal"]),
            str(row["host"]),
        )
        assert (row["command"] is None) is (row["caution"] is not None)
        told[by_text[one.text]] = row["caution"]
    return told


READ = "TOPIC:LITERAL:org:orders ALLOW READ alice"
WRITE = "TOPIC:LITERAL:org:orders ALLOW WRITE alice"
OPEN = "TOPIC:LITERAL:org: ALLOW DESCRIBE alice"
OPEN_BOB = "TOPIC:LITERAL:org: ALLOW READ bob"


def test_what_nothing_used_may_go() -> None:
    assert advised([READ, WRITE], used=[("alice", READ)]) == {WRITE: None}


def test_a_denial_stays() -> None:
    assert advised(["TOPIC:LITERAL:* DENY READ alice", "GROUP:LITERAL:g ALLOW READ bob"]) == {
        "GROUP:LITERAL:g ALLOW READ bob": None
    }


def test_what_lets_somebody_in_is_needed() -> None:
    acls = [READ, OPEN, OPEN_BOB]
    assert advised(acls, used=[("alice", READ)], visited={(ALICE, "org")}) == {OPEN_BOB: None}
    # Also if only the used ACL itself shows where she was.
    assert advised(acls, used=[("alice", READ)]) == {OPEN_BOB: None}
    everybody = "TOPIC:LITERAL:org: ALLOW DESCRIBE *"
    assert advised([READ, everybody], visited={(ALICE, "org")}) == {READ: None}


def test_an_acl_for_a_subtree_may_have_been_used_anywhere_in_it() -> None:
    inner = "TOPIC:LITERAL:org:apache: ALLOW DESCRIBE alice"
    other = "TOPIC:LITERAL:team-a: ALLOW DESCRIBE alice"
    stays = "TOPIC:LITERAL:team-a: ALLOW DESCRIBE bob"
    group = "GROUP:PREFIXED:org: ALLOW READ alice"
    used = [("alice", group)]
    visited = {(BOB, "team-a")}
    assert advised([group, inner, other, stays], used, visited) == {other: None}
    anything = "GROUP:LITERAL:* ALLOW READ alice"
    assert advised([anything, inner, other, stays], [("alice", anything)], visited) == {}


def test_the_last_acl_of_a_namespace_is_its_gate() -> None:
    assert advised([READ, OPEN_BOB], used=[("alice", READ)]) == {OPEN_BOB: LAST}
    kept = "TOPIC:LITERAL:org: DENY WRITE carol"
    assert advised([READ, OPEN_BOB, kept], used=[("alice", READ)]) == {OPEN_BOB: None}


def test_where_everyone_is_allowed_the_last_acl_is_a_gate_of_anything() -> None:
    tool = Tool("gw:9192", everyone=True)
    assert advised([READ], tool=tool) == {READ: LAST}
    assert advised([READ, WRITE], used=[("alice", READ)], tool=tool) == {WRITE: None}


@pytest.mark.parametrize("everyone", [False, True])
def test_after_the_advice_everything_is_decided_as_before(everyone: bool) -> None:
    """By the gateway's own authorizer, after all advised ACLs are removed: requests from the time
    of the log get the same decision, and nothing is allowed that was not before."""
    draw = random.Random(12)
    removed = 0
    for _ in range(400):
        snapshot = _world(draw)
        before = authorizer(snapshot, allow_everyone=everyone)
        allowed = {one for one in QUESTIONS if before.authorize(*one).allowed}
        wanted = set(draw.sample(sorted(allowed, key=str), min(len(allowed), draw.randrange(4))))
        gone = list(_advised(draw, snapshot, before, wanted, everyone))
        removed += len(gone)
        after = authorizer(_without(snapshot, gone), allow_everyone=everyone)
        for one in QUESTIONS:
            if after.authorize(*one).allowed is not (one in allowed):
                assert one in allowed - wanted, (one, snapshot.acls, gone)
    assert removed > (20 if everyone else 400), f"{removed} were advised: that tests nothing"


Question = tuple[str, str, Operation, Resource]

QUESTIONS: list[Question] = [
    (principal, HOST, operation, resource(kind, name))
    for principal in ("User:a", "User:b")
    for operation in (Operation.READ, Operation.CREATE, Operation.DESCRIBE)
    for kind in (ResourceType.TOPIC, ResourceType.GROUP)
    for name in ("o", "org:o", "org:or", "org:x:o", "org:y:o", "other:o")
]


def _world(draw: random.Random) -> Snapshot:
    """A few ACLs, most of them about namespaces and resources in them."""
    lines = set()
    for _ in range(draw.randrange(2, 9)):
        kind = draw.choice(["TOPIC", "TOPIC", "GROUP"])
        pattern = draw.choice(["LITERAL", "LITERAL", "PREFIXED"])
        names = ["o", "org:o", "org:or", "org:x:o", "org:y:o"]
        namespaces = ["org:", "org:", "org:x:", "org:y:", "other:"]
        name = draw.choice([*names, "*", *(namespaces if kind == "TOPIC" else ["org:", "org:o"])])
        permission = draw.choice(["ALLOW", "ALLOW", "ALLOW", "DENY"])
        operation = draw.choice(["READ", "CREATE", "DESCRIBE", "ALTER", "ALL"])
        who = draw.choice(["a", "a", "b", "b", "*"])
        lines.add(f"{kind}:{pattern}:{name} {permission} {operation} {who}")
    return Snapshot().apply(entities(lines), 1)


def _advised(
    draw: random.Random,
    snapshot: Snapshot,
    authorizer: StandardAuthorizer,
    wanted: Iterable[Question],
    everyone: bool,
) -> Iterator[Row]:
    """The rows with a command, if these questions were asked; some requests name no topic in the
    log."""
    used: set[tuple[str, str]] = set()
    visited: set[tuple[str, str]] = set()
    for principal, host, operation, named in wanted:
        used.add((principal, authorizer.authorize(principal, host, operation, named).rule))
        # A name that an ACL allows exactly need not be in a flow.
        told = operation is Operation.READ and named.type is ResourceType.TOPIC
        if told and draw.random() < 0.5:
            visited |= {(principal, path) for path in parents(named.namespace)}
    acls = [one for some in snapshot.acls.values() for one in acls_of(some)]
    rows = advice(acls, used, visited, Tool(everyone=everyone))
    return (row for row in rows if row["command"] is not None)


def _without(snapshot: Snapshot, gone: list[Row]) -> Snapshot:
    """The catalog with the remaining ACLs."""
    columns = ("type", "pattern", "name", "principal", "host", "operation")
    removed = {tuple(row[column] for column in columns) for row in gone}
    left: list[Entity] = []
    for pattern, acls in snapshot.acls.items():
        about = pattern.type.name, pattern.pattern_type.name, pattern.name
        kept = frozenset(
            entry
            for entry in acls.entries
            if entry.permission is not Permission.ALLOW
            or (*about, entry.principal, entry.host, entry.operation.name) not in removed
        )
        if kept:
            left.append(ResourceAcls(pattern, kept))
    return Snapshot().apply(left, 1)


def test_from_records_to_commands(spark: SparkSession) -> None:
    rows = [
        samples.used_acl(acl(READ).text, principal=ALICE),
        samples.flow("org:orders", "Fetch", time_ms=samples.START_MS + HOUR),
        samples.denial(),
    ]
    acls = [acl(one) for one in (READ, WRITE, OPEN, OPEN_BOB)]
    found = unused_acls(samples.frame(spark, rows), acls, TOOL).collect()
    assert {(row.principal, row.operation): row.command for row in found} == {
        (ALICE, "WRITE"): removal(acl(WRITE), TOOL),
        (BOB, "READ"): removal(acl(OPEN_BOB), TOOL),
    }
    silent = unused_acls(samples.frame(spark, rows[1:]), acls, TOOL)
    assert silent.count() == 0, "a log that tells of no used ACL at all proves nothing"


def test_less_than_an_hour_of_a_worker_gives_no_commands(spark: SparkSession) -> None:
    """Bob's ACL was recorded before the log begins, and is recorded again after its end."""
    start = samples.START_MS
    acls = [acl(READ), acl("TOPIC:LITERAL:org:pay ALLOW WRITE bob")]
    used = [samples.used_acl(acls[0].text, principal=ALICE, time_ms=start)]
    bobs = [
        samples.flow("org:pay", principal=BOB, time_ms=start + minute * samples.MINUTE_MS)
        for minute in range(30)
    ]
    [row] = unused_acls(samples.frame(spark, used + bobs), acls, TOOL).collect()
    assert (row.command, row.principal) == (None, BOB)
    assert "less than an hour of worker 0 of gateway-1" in row.caution
    hour = [samples.flow("org:pay", time_ms=start + HOUR)]
    assert too_short(samples.frame(spark, used + bobs + hour)) is None


def test_every_worker_that_is_at_work_has_to_be_there_for_an_hour(spark: SparkSession) -> None:
    start, day = samples.START_MS, 24 * HOUR
    whole = [samples.flow(time_ms=start), samples.flow(time_ms=start + day)]
    ended = samples.flow(worker_id=1, time_ms=start + day - 2 * HOUR)
    assert too_short(samples.frame(spark, [*whole, ended])) is None
    young = samples.flow(worker_id=2, gateway_id="young", time_ms=start + day - HOUR // 2)
    assert "worker 2 of young" in str(too_short(samples.frame(spark, [*whole, ended, young])))
    assert too_short(samples.frame(spark, [])) is None
