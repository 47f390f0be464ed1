"""A right that is revoked decides nothing any more: whatever changes the catalog is decided by the
rights of the state that it is decided on, also if the revocation is an earlier decision of the same
transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

import pytest

from gateway.acl_model import ANY_USER
from gateway.acls.standard import StandardAuthorizer
from gateway.apis.security.scram_credentials import alter_user_scram_credentials
from gateway.catalog.entities import Change, Removal, ResourceAcls, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.configs.alter_client_metrics import incremental_alter_client_metrics
from protocol import messages
from protocol.messages import element_class, make
from tests.changes import config_requests
from tests.changes.acl_requests import held
from tests.changes.admin_requests import codes, delete
from tests.changes.config_requests import SET
from tests.changes.fakes import once
from tests.changes.rights.generation import random_plan
from tests.changes.rights.search import make as made_by
from tests.changes.rights.steps import random_step, take
from tests.changes.rights.worlds import DELEGATE, Plan, RightsWorld, Step
from tests.changes.transactions import Transactions

TOPIC_FAILED, CLUSTER_FAILED = 29, 31
"""TOPIC_AUTHORIZATION_FAILED and CLUSTER_AUTHORIZATION_FAILED."""

SEQUENCES: Final = 400

Ask = Callable[[RightsWorld], Awaitable[list[int]]]


def revoke(newest: Snapshot) -> list[Change]:
    """The decision that takes all rights of the delegate."""
    changes: list[Change] = []
    for acls in newest.acls.values():
        left = frozenset(e for e in acls.entries if e.principal not in (DELEGATE, ANY_USER))
        if left != acls.entries:
            changes.append(ResourceAcls(acls.pattern, left) if left else Removal(key_of(acls)))
    return changes


def lasting(world: RightsWorld) -> list[object]:
    """All that a client could have changed, but for the ACLs of the delegate itself."""
    snapshot = world.world.snapshot
    return [
        {text for text in held(snapshot) if DELEGATE not in text and ANY_USER not in text},
        {
            path: (one.configs, one.settings, one.deleting)
            for path, one in snapshot.namespaces.items()
        },
        {flat: (one.name, one.names, one.own_configs) for flat, one in snapshot.topics.items()},
        set(snapshot.links),
        set(snapshot.scram),
        dict(snapshot.homes),
        dict(snapshot.client_metrics),
        set(world.world.broker.topics),
    ]


# -- every API -------------------------------------------------------------------------------------


def step(*names: str) -> Ask:
    """A step of ``steps``."""
    return lambda world: take(world, names)


def config(name: str, key: str, value: str) -> Ask:
    """IncrementalAlterConfigs of one config."""

    async def ask(world: RightsWorld) -> list[int]:
        access, changes = world.access(DELEGATE), [(key, SET, value)]
        told = await config_requests.alter(world.gateway, name, changes, access=access)
        return [told[0]]

    return ask


async def metrics(world: RightsWorld) -> list[int]:
    """IncrementalAlterConfigs of client metrics."""
    cls = messages.message_class("IncrementalAlterConfigsRequest", 1)
    resource = element_class(cls, "resources")
    one = make(element_class(resource, "configs"), {"name": "interval.ms", "value": "5000"})
    values = {"resource_type": 16, "resource_name": "org:m", "configs": (one,)}
    body = messages.write(make(cls, {"resources": (make(resource, values),)}))
    access = world.access(DELEGATE)
    told = await incremental_alter_client_metrics(world.gateway.context, access, 1, body)
    response = messages.parse("IncrementalAlterConfigsResponse", 1, told.body)
    return [int(each.error_code) for each in response.responses]


async def delete_by_id(world: RightsWorld) -> list[int]:
    """DeleteTopics of the only link, by its id."""
    (link,) = world.world.snapshot.links.values()
    access = world.access(DELEGATE)
    return codes(await delete(world.gateway, link.topic_id, access=access))


async def scram(world: RightsWorld) -> list[int]:
    """AlterUserScramCredentials."""
    cls = messages.message_class("AlterUserScramCredentialsRequest", 0)
    values = {"name": "eve", "mechanism": 1, "iterations": 4096}
    secret = {"salt": b"0123456789abcdef", "salted_password": b"x" * 32}
    one = make(element_class(cls, "upsertions"), {**values, **secret})
    body = messages.write(make(cls, {"deletions": (), "upsertions": (one,)}))
    access = world.access(DELEGATE)
    told = await alter_user_scram_credentials(world.gateway.context, access, 0, body)
    response = messages.parse("AlterUserScramCredentialsResponse", 0, told.body)
    return [int(each.error_code) for each in response.results]


ORG: Final = "ALLOW ALL User:bob TOPIC:LITERAL:org:"
OTHER: Final = "ALLOW ALL User:bob TOPIC:LITERAL:other:"
CLUSTER: Final = "ALLOW ALTER User:bob CLUSTER:LITERAL:kafka-cluster"
GRANT: Final = "ALLOW READ User:eve TOPIC:LITERAL:org:t"
EVE: Final = "DENY READ User:eve TOPIC:LITERAL:org:t"


@dataclass(frozen=True)
class Case:
    """A request of the delegate with the rights that it needs; ``code`` is Kafka's error without
    them."""

    title: str
    ask: Ask
    acls: tuple[str, ...] = (ORG, OTHER)
    code: int = TOPIC_FAILED
    setup: tuple[Step, ...] = ()

    def plan(self) -> Plan:
        """The world before the request."""
        acls = (*self.acls, EVE)
        return Plan(("org", "other"), ("org..t", "plain"), acls, setup=self.setup)


PLAIN: Final = "ALLOW ALL User:bob TOPIC:PREFIXED:pla"
LINKED: Final = (("link", "org:t", "APPEND", "other:l"),)
MOVED: Final = (("move", "plain", "other", "n", ""),)
PRINCIPALS: Final = config("org:", "gateway.principals", "User:eve")
CASES: Final = (
    Case("CreateTopics of a namespace", step("create", "org:new:")),
    Case("CreateTopics that adopts", step("adopt", "org:new:"), (ORG, CLUSTER)),
    Case("DeleteTopics of a namespace", step("delete", "org:")),
    Case("a config of a namespace", config("org:", "retention.ms", "5000")),
    Case("a setting of a namespace", config("org:", "gateway.num.partitions", "5")),
    Case("the principals of a namespace", PRINCIPALS, (ORG, CLUSTER), CLUSTER_FAILED),
    Case("a move", step("move", "org:t", "other", "n", "")),
    Case("a release", step("release", "other:n"), (OTHER, PLAIN), setup=MOVED),
    Case("a link", step("link", "org:t", "APPEND", "other:l")),
    Case("links that are removed", step("link", "org:t", "SUBTRACT", "other:l"), setup=LINKED),
    Case("a link that is removed", step("unlink", "other:l"), setup=LINKED),
    Case("DeleteTopics of a link", step("delete", "other:l"), setup=LINKED),
    Case("DeleteTopics of a link by id", delete_by_id, setup=LINKED),
    Case("client metrics", metrics, code=CLUSTER_FAILED),
    Case("CreateAcls of a delegate", step("grant", GRANT), code=CLUSTER_FAILED),
    Case("CreateAcls", step("grant", GRANT), (CLUSTER,), CLUSTER_FAILED),
    Case("DeleteAcls of a delegate", step("revoke", EVE), code=CLUSTER_FAILED),
    Case("DeleteAcls", step("revoke", EVE), (CLUSTER,), CLUSTER_FAILED),
    Case("AlterUserScramCredentials", scram, (CLUSTER,), CLUSTER_FAILED),
)
each_case = pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])


async def _lasting_call(case: Case) -> tuple[int, list[object]]:
    """The call that carries a request out, and the state that it leads to."""
    world = await made_by(case.plan())
    transactions, before = Transactions(world.gateway.catalog, world.world.log), lasting(world)
    assert await case.ask(world) == [0]
    assert lasting(world) != before
    return transactions.lasting[0], lasting(world)


@each_case
async def test_a_revocation_first_in_the_transaction_denies_what_follows(case: Case) -> None:
    number, _ = await _lasting_call(case)
    for call in range(number + 1):
        world = await made_by(case.plan())
        transactions, before = Transactions(world.gateway.catalog, world.world.log), lasting(world)
        transactions.before[call] = revoke
        assert await case.ask(world) == [case.code]
        assert lasting(world) == before


@each_case
async def test_a_revocation_before_the_transaction_denies_what_follows(case: Case) -> None:
    number, _ = await _lasting_call(case)
    world = await made_by(case.plan())
    before = lasting(world)
    world.world.step = once(
        "change", lambda: world.world.log.append(revoke(world.world.snapshot)), nth=number + 1
    )
    assert await case.ask(world) == [case.code]
    assert lasting(world) == before


@each_case
async def test_a_revocation_later_in_the_transaction_denies_nothing(case: Case) -> None:
    number, after = await _lasting_call(case)
    world = await made_by(case.plan())
    transactions = Transactions(world.gateway.catalog, world.world.log)
    transactions.after[number] = revoke
    assert await case.ask(world) == [0]
    assert lasting(world) == after


@each_case
async def test_an_authorizer_of_ones_own_is_asked_about_the_state_that_is_decided_on(
    case: Case,
) -> None:
    class Own(StandardAuthorizer):
        """Judges by what it has seen, and cannot be asked about another state."""

        def see(self, snapshot: Snapshot) -> None:
            super().see(snapshot)

    number, after = await _lasting_call(case)
    for position in ("before", "after"):
        world = await made_by(case.plan())
        own = Own()
        own.configure({"super.users": (), "allow.everyone.if.no.acl.found": False}, lambda: None)
        world.use(own)
        transactions, before = Transactions(world.gateway.catalog, world.world.log), lasting(world)
        getattr(transactions, position)[number] = revoke
        assert await case.ask(world) == [case.code if position == "before" else 0]
        assert lasting(world) == (before if position == "before" else after)
        assert own.judges_by is world.world.snapshot


# -- any step of any world -------------------------------------------------------------------------


async def _stepped(seed: int, call: int | None) -> tuple[list[int], list[int], bool]:
    """A random step in a random world, with a revocation first in this transaction of it: its
    codes, the transactions that change the catalog, and whether anything is changed."""
    rng = Random(seed)
    world = await made_by(replace(random_plan(rng), allow_everyone=False))
    kind, *names = taken = random_step(rng, world)
    own = set() if kind == "create" else {str(link) for link in world.world.snapshot.links}
    if kind in ("create", "delete") and not all(n in own or n.endswith(":") for n in names):
        return [], [], False  # the broker makes and deletes topics, and the catalog only follows
    transactions, before = Transactions(world.gateway.catalog, world.world.log), lasting(world)
    if call is not None:
        transactions.before[call] = revoke
    told = await take(world, taken)
    return told, transactions.lasting, lasting(world) != before


async def test_a_revocation_is_the_end_of_any_change() -> None:
    denied = 0
    for seed in range(SEQUENCES):
        told, calls, changed = await _stepped(seed, None)
        if not told or any(told) or not changed or not calls:
            continue
        for call in range(calls[0] + 1):
            told, _, changed = await _stepped(seed, call)
            assert all(told), (seed, call)
            assert not changed, (seed, call)
            denied += 1
    assert denied > SEQUENCES // 20
