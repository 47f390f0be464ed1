"""Access: what a decision costs with 100,000 ACLs and 1,000 principals.

``python -m bench acls`` prints the table. Everything is timed in this process, on the very classes
that the gateway uses: a decision that a connection has made before, one that it has not, the
question for any topic (KIP-679), and what a changed ACL takes a worker's event loop.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from bench.acl_population import (
    HOST,
    LONG_NAME,
    PRINCIPALS,
    WORST,
    principal,
    resource_acls,
    team,
)
from bench.catalog_rows import CatalogRow, catalog_table
from bench.codec import nanoseconds
from gateway.acl_model import (
    ANY_USER,
    AclEntry,
    Operation,
    Permission,
    Resource,
    ResourceType,
    pattern_of,
    resource,
)
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import Namespace, ResourceAcls
from gateway.catalog.snapshot import Snapshot
from gateway.names import parents
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View, ViewSettings

CACHED_NS: Final = 300.0
UNCACHED_US: Final = 30.0
ANY_US: Final = 10.0
SEE_MS: Final = 10.0
BUILD_S: Final = 1.5

Value = TypeVar("Value")

_TOPIC: Final = ResourceType.TOPIC
_ROUNDS: Final = 15
_OF_EVERY_USER: Final = ResourceAcls(
    pattern_of("GROUP:LITERAL:bench"),
    frozenset({AclEntry(ANY_USER, "*", Operation.READ, Permission.ALLOW)}),
)

Decision = Callable[[str], object]


def measure_acls(say: Callable[[str], None]) -> Iterator[CatalogRow]:
    """Every row, in the order of the table; ``say`` is told what goes on."""
    say("acls: deciding and changing")
    snapshot = populated(resource_acls())
    users = list(map(principal, range(PRINCIPALS)))
    yield from decisions(snapshot, users)
    yield from changes(snapshot)


def populated(acls: Sequence[ResourceAcls]) -> Snapshot:
    """The catalog with these ACLs, and the namespaces of the teams."""
    return Snapshot().apply([*acls, *team_namespaces()], version=1)


def team_namespaces() -> list[Namespace]:
    """The namespaces of the teams, and those above them, outer ones first."""
    tiers = sorted({tier for number in range(PRINCIPALS) for tier in parents(team(number)[:-1])})
    return list(map(Namespace, tiers))


def decisions(snapshot: Snapshot, users: Sequence[str]) -> Iterator[CatalogRow]:
    """The cost of an authorization decision; ``users`` are the population's."""
    asked = seeing(snapshot)
    name = f"{team(0)}events-0".encode()
    access = AuthorizedAccess(View(ViewSettings("bench"), snapshot), principal(0), HOST, asked)
    cached = _again(access.to_write, name)
    yield CatalogRow("to_write, a topic in use", "ns", cached, CACHED_NS)
    numbers = {user: number for number, user in enumerate(users)}

    def of_namespace(user: str) -> object:
        """Three tiers, two of them with ACLs of their own for every second team."""
        topic = resource(_TOPIC, f"{team(numbers[user])}events-0")
        return asked.authorize(user, HOST, Operation.WRITE, topic)

    def by_prefix(user: str) -> object:
        topic = resource(_TOPIC, f"service-{numbers[user]}-{'y' * 25}")
        return asked.authorize(user, HOST, Operation.WRITE, topic)

    def denied(user: str) -> object:
        """A denial with its rule in words, as the client's error and the audit log need it."""
        topic = resource(_TOPIC, f"service-{numbers[user]}-{'y' * 25}")
        return asked.authorize(user, HOST, Operation.DELETE, topic).rule

    def long_name(user: str) -> object:
        return asked.authorize(user, HOST, Operation.WRITE, Resource(_TOPIC, "", LONG_NAME))

    def anywhere(user: str) -> object:
        return asked.authorize_any(user, HOST, Operation.WRITE, _TOPIC)

    def nowhere(user: str) -> object:
        return asked.authorize_any(user, HOST, Operation.DELETE, _TOPIC)

    for figure, decide, who, bar in (
        ("authorize, a topic in a namespace of three tiers", of_namespace, users, UNCACHED_US),
        ("authorize, a topic by a prefix", by_prefix, users, UNCACHED_US),
        ("authorize, a topic that is denied", denied, users, UNCACHED_US),
        ("authorize, 200 letters and as many prefixes", long_name, WORST, UNCACHED_US),
        ("authorize_any, allowed", anywhere, users, ANY_US),
        ("authorize_any, denied", nowhere, users, ANY_US),
    ):
        first = _microseconds(decide, who, partial(_forget, asked, snapshot))
        yield CatalogRow(f"{figure}, never asked", "us", first, bar)
        again = _microseconds(decide, who, lambda: None)
        yield CatalogRow(f"{figure}, asked before", "us", again, bar)


def changes(snapshot: Snapshot) -> Iterator[CatalogRow]:
    """The time for which an ACL change occupies a worker's event loop."""
    asked = StandardAuthorizer()
    built = _timed(partial(asked.see, snapshot))[1]
    rounds = []
    for acls in islice(list(snapshot.acls.values()), 0, None, len(snapshot.acls) // _ROUNDS):
        snapshot, applied = _timed(partial(_changed, snapshot, acls))
        rounds.append((applied, _timed(partial(asked.see, snapshot))[1]))
    applied, seen = map(statistics.median, zip(*rounds, strict=True))
    yield CatalogRow("one ACL changes: the next snapshot", "ms", applied)
    yield CatalogRow("... the authorizer sees it", "ms", seen, SEE_MS)
    yield CatalogRow(
        "the authorizer sees all of them for the first time", "s", built / 1e3, BUILD_S
    )


def seeing(snapshot: Snapshot) -> StandardAuthorizer:
    """An authorizer that decides by a snapshot."""
    made = StandardAuthorizer()
    made.see(snapshot)
    return made


def _changed(snapshot: Snapshot, acls: ResourceAcls) -> Snapshot:
    more = AclEntry("User:new", "*", Operation.READ, Permission.ALLOW)
    changed = ResourceAcls(acls.pattern, acls.entries | {more})
    return snapshot.apply([changed], snapshot.version + 1)


def _again(decide: Callable[[bytes], object], name: bytes) -> float:
    """Nanoseconds of one of many decisions on a name."""

    def run() -> None:
        for _ in range(100):
            decide(name)

    return nanoseconds(run) / 100


def _forget(asked: StandardAuthorizer, snapshot: Snapshot) -> None:
    """An ACL of every user comes and goes: nothing is kept of what was asked before."""
    asked.see(snapshot.apply([_OF_EVERY_USER], snapshot.version + 1))
    asked.see(snapshot)


def _microseconds(decide: Decision, users: Sequence[str], before: Callable[[], None]) -> float:
    """What a decision for a user takes, the mean over all of them: the best of several rounds,
    because all that disturbs only adds."""
    rounds = []
    for _ in range(_ROUNDS):
        before()
        rounds.append(_timed(partial(_for_each, decide, users))[1])
    return min(rounds) * 1e3 / len(users)


def _for_each(decide: Decision, users: Sequence[str]) -> None:
    for user in users:
        decide(user)


def _timed(act: Callable[[], Value]) -> tuple[Value, float]:
    """The result of a call, and the CPU time that it took in milliseconds."""
    started = time.thread_time()
    value = act()
    return value, (time.thread_time() - started) * 1e3


def main() -> None:
    """Print the table."""
    print(catalog_table(list(measure_acls(print))), end="")


if __name__ == "__main__":
    main()
