"""Any sequence of namespaces, ACLs, links, moves with aliases and deletions, by a delegate and an
administrator: no tree ever holds more of anything than its limits allow."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gateway.acl_model import namespace_of
from gateway.catalog.entities import CatalogFormat
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import DELETE, Operation
from gateway.changes.base.virtual_configs import Move
from gateway.changes.topics.links import change_links
from gateway.changes.topics.move_topics import move_topic
from gateway.config.policies import CATALOG_LIMITS
from gateway.names import parents
from gateway.policies import catalog_limits
from tests.changes import acl_requests as acls
from tests.changes.fakes import START, FakeGateway, World
from tests.changes.judges import judge
from tests.changes.test_catalog_limits import ALICE, APPEND, make
from tests.examples import examples
from tests.policies.samples import block

NAMESPACES = ["org", "org:a", "org:a:b", "org:c", "free"]
DEFAULTS = {"max_namespaces_in_tree": 3, "max_acls_in_tree": 5}
DEFAULTS |= {"max_links_in_tree": 2, "max_aliases_in_tree": 2}
FLATS = ["org..x", "org..y", "free..z"]
PLACES = st.sampled_from(NAMESPACES)
NAMES = st.sampled_from("xyz")
WHO = st.sampled_from([ALICE, acls.ADMIN])
WHICH = st.integers(0, 1)
LIMITS = st.dictionaries(st.sampled_from(CATALOG_LIMITS), st.integers(0, 5), max_size=4)


class Limited(RuleBasedStateMachine):
    """``org`` is alice's. ``limits`` are the limits of each block: ``*`` is everywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.patched = patch.object(catalog_limits, "DEFAULTS", block(**DEFAULTS))
        self.patched.start()
        self.world = World(["org", "free"])
        self.world.broker.make(*FLATS)
        self.world.log.append([CatalogFormat(3)])
        acls.put(self.world, f"ALLOW ALL {ALICE} TOPIC:PREFIXED:org:")
        self.gateways: list[FakeGateway] = []
        self.limits: dict[str, dict[str, int]] = {}
        self.before = self.numbers()

    def teardown(self) -> None:
        self.patched.stop()
        self.runner.close()

    @initialize(everywhere=LIMITS, org=LIMITS, below=LIMITS)
    def configure(self, everywhere: dict[str, int], **blocks: dict[str, int]) -> None:
        self.limits = {"*": everywhere, "org": blocks["org"], "org:a": blocks["below"]}
        policies: dict[str, Any] = {
            "everywhere": everywhere,
            "namespaces": {"org": blocks["org"], "org:a": blocks["below"]},
        }
        self.gateways = [self.world.gateway(judge(**policies)) for _ in range(2)]

    def run(self, request: Coroutine[Any, Any, object], who: str = acls.ADMIN) -> None:
        self.before = self.numbers()
        self.world.clock.forward(seconds=1)
        try:
            self.runner.run(request)
        except Rejected:
            assert self.numbers() == self.before
        self.check(who)

    # -- requests of clients --------------------------------------------------------------------

    @rule(which=WHICH, who=WHO, path=PLACES)
    def create_namespace(self, which: int, who: str, path: str) -> None:
        self.run(make(self.gateways[which], path, who), who)

    @rule(which=WHICH, who=WHO, path=PLACES, name=NAMES, users=st.integers(1, 4))
    def create_acls(self, which: int, who: str, path: str, name: str, users: int) -> None:
        gateway = self.gateways[which]
        texts = [f"ALLOW READ User:{n} TOPIC:LITERAL:{path}:{name}" for n in range(users)]
        self.run(acls.create(gateway, acls.access(gateway, who), *texts), who)

    @rule(which=WHICH, path=PLACES, name=NAMES)
    def delete_acls(self, which: int, path: str, name: str) -> None:
        gateway = self.gateways[which]
        matching = acls.filtering(f"{path}:{name}")
        self.run(acls.delete(gateway, acls.access(gateway), matching))

    @rule(
        which=WHICH,
        who=WHO,
        flat=st.sampled_from(FLATS),
        operation=st.sampled_from([0, DELETE, APPEND]),
        places=st.lists(st.tuples(PLACES, st.sampled_from("pq")), min_size=1, max_size=3),
    )
    def link(
        self, which: int, who: str, flat: str, operation: int, places: list[tuple[str, str]]
    ) -> None:
        gateway = self.gateways[which]
        names = None if operation == DELETE else ",".join(f"{p}:{name}" for p, name in places)
        one = Operation("gateway.link", operation, names)
        asking, name = acls.access(gateway, who), str(self.world.snapshot.owner(flat))
        self.run(change_links(gateway.context, asking, name, one), who)

    @rule(
        which=WHICH,
        who=WHO,
        flat=st.sampled_from(FLATS),
        path=PLACES,
        name=NAMES,
        until=st.sampled_from([None, START + 9_000, 1 << 50]),
    )
    def move(
        self, which: int, who: str, flat: str, path: str, name: str, until: int | None
    ) -> None:
        gateway = self.gateways[which]
        asking, former = acls.access(gateway, who), str(self.world.snapshot.owner(flat))
        wanted = Move(path, name, alias_until=until)
        self.run(move_topic(gateway.context, asking, former, wanted), who)

    # -- the limits that hold -------------------------------------------------------------------

    def check(self, who: str) -> None:
        """Assert that nothing has grown beyond a limit."""
        now = self.numbers()
        for place, limits in self.limits.items():
            for rule_, most in limits.items():
                self.within(now, rule_, None if place == "*" else place, most)
        if who != ALICE:
            return
        for path in ("org", "free"):
            for rule_, most in DEFAULTS.items():
                # If a block of a tier sets a limit, it applies to the tiers below.
                if not any(rule_ in limits for limits in self.limits.values()):
                    self.within(now, rule_, path, most)

    def within(
        self, now: dict[tuple[str, str | None], int], rule_: str, path: str | None, most: int
    ) -> None:
        key = rule_, path
        assert now.get(key, 0) <= max(most, self.before.get(key, 0)), key

    @invariant()
    def tallies_are_kept(self) -> None:
        words = catalog_limits.LIMITED
        for (rule_, tier), number in self.numbers().items():
            assert self.world.snapshot.tally(words[rule_], tier) == number

    def numbers(self) -> dict[tuple[str, str | None], int]:
        """All numbers counted anew, by rule and tier."""
        snapshot = self.world.snapshot
        where = [("max_namespaces_in_tree", p.rpartition(":")[0]) for p in snapshot.namespaces]
        for held in snapshot.acls.values():
            where += [("max_acls_in_tree", namespace_of(held.pattern) or "")] * len(held.entries)
        where += [("max_links_in_tree", name.namespace) for name in snapshot.links]
        for entry in snapshot.topics.values():
            where += [("max_aliases_in_tree", one.name.namespace) for one in entry.aliases]
        found: dict[tuple[str, str | None], int] = {}
        for rule_, namespace in where:
            for tier in (None, *parents(namespace)):
                found[rule_, tier] = found.get((rule_, tier), 0) + 1
        return found


TestLimited = Limited.TestCase
TestLimited.settings = settings(
    max_examples=examples(40),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
