"""The state that all connections of one worker process share; rules and handlers read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from gateway.audit.audit import NO_AUDIT, Audit
from gateway.auth.login import Accepts
from gateway.auth.pass_through import PassThrough
from gateway.catalog.source import Actor, Catalog
from gateway.catalog.validity import Validity
from gateway.changes.base.context import Answered, RequestChange
from gateway.counts import Labels, Row
from gateway.exchanges.descriptions import Descriptions
from gateway.exchanges.kept_answers import KeptAnswers
from gateway.flows import Denial
from gateway.names import LogicalName
from gateway.places import NO_PLACE, Place
from gateway.policies.judge import NO_JUDGE, Judge
from gateway.rules.gateway_nodes import NO_GATEWAY_NODES, GatewayNodes
from gateway.rules.regex_subscriptions import RegexSubscriptions
from gateway.slices import SLICE_SECONDS
from gateway.topic_ids import TopicIndex
from gateway.views.access import Access
from gateway.views.views import Listings


async def _at_once(_: str, work: Callable[[], None]) -> None:
    work()


MAX_DENIALS: Final = 10_000
"""Denial events kept between two collections (a second apart); more are counted as dropped."""

LOGGED_DENIALS: Final = 100
"""Denials logged between two collections, a second apart; all are counted and written to the
traffic log."""


class ClusterFacts(Protocol):
    """The facts of a cluster that handlers read without waiting (gateway/cluster/cluster.py)."""

    @property
    def index(self) -> TopicIndex:
        """Its topics."""
        ...

    @property
    def api_versions(self) -> Mapping[int, tuple[int, int]]:
        """The (lowest, highest) version that all its brokers serve, by API key."""
        ...

    def versions_of(self, node_id: int | None) -> Mapping[int, tuple[int, int]]:
        """The same of one broker; of all if it is not known, or may be any (None)."""
        ...

    @property
    def brokers(self) -> Mapping[int, tuple[str, int]]:
        """Its brokers' hosts and ports, by node id."""
        ...

    def hear(self, node_id: int, host: str, port: int) -> None:
        """A broker's answer to a client names this broker."""
        ...


class Changes(Protocol):
    """The requests of admin clients that the gateway carries out itself (gateway/changes).

    Each takes a whole request body in the client's names, at the client's version (CreateTopics
    from v2 on), and gives the whole response body. The client is authorized by the state of the
    catalog that the change is made on.
    """

    async def create_topics(self, access: Access, version: int, body: bytes) -> Answered: ...
    async def delete_topics(self, access: Access, version: int, body: bytes) -> Answered: ...
    async def create_partitions(self, access: Access, version: int, body: bytes) -> Answered: ...
    async def describe_configs(self, access: Access, version: int, body: bytes) -> Answered: ...
    async def alter_configs(self, access: Access, version: int, body: bytes) -> Answered: ...
    async def incremental_alter_configs(
        self, access: Access, version: int, body: bytes
    ) -> Answered: ...
    async def carry_out(
        self, change: RequestChange, access: Access, version: int, body: bytes
    ) -> Answered:
        """Do what an API's own slice executes."""
        ...


class AutoCreation(Protocol):
    """Auto-creation of topics that Metadata names (gateway/changes/topics/auto_creation.py)."""

    def allows(self, name: LogicalName) -> bool:
        """Whether a Metadata request creates a topic of this name."""
        ...

    def begin(self, access: Access, actor: Actor, names: Mapping[LogicalName, str]) -> None:
        """Create topics, in the background: names, with the client's spellings."""
        ...


class NoAutoCreation:
    """Creates nothing."""

    def allows(self, name: LogicalName) -> bool:
        """No name is."""
        return False

    def begin(self, access: Access, actor: Actor, names: Mapping[LogicalName, str]) -> None:
        """Nothing is begun, because nothing is allowed."""


NO_AUTO_CREATION: Final = NoAutoCreation()


@dataclass(slots=True)
class WorkerState:
    """Shared by all connections of one worker process.

    ``verify`` has work for a client's address done in a thread.
    ``sasl`` is what listeners with SASL accept, by name, and ``pass_through`` those of them where
    brokers decide. ``failure_delay`` is how many seconds an authentication that failed is
    answered late. ``judge`` asks the policies. ``auto_creation`` creates what brokers must not.
    ``number`` is the cluster's in the tree, ``mount`` its path; 0: there is no tree. ``place`` is
    the cluster as flows and events name it. ``lane_accesses`` are the accesses of clients of other
    volumes' nodes that were used here since the last collection. ``gateway_nodes`` are the gateways
    that listeners list among the brokers. ``turn_seconds`` is how long one connection decides
    requests before others have their turn. ``validity`` is the catalog's.
    """

    catalog: Catalog
    cluster: ClusterFacts
    changes: Changes
    max_request_bytes: int
    sasl: Mapping[str, Accepts] = field(default_factory=dict)
    pass_through: Mapping[str, PassThrough] = field(default_factory=dict)
    failure_delay: float = 0.0
    verify: Callable[[str, Callable[[], None]], Awaitable[None]] = _at_once
    listings: Listings = field(default_factory=Listings)
    kept_answers: KeptAnswers = field(default_factory=KeptAnswers)
    regexes: RegexSubscriptions = field(default_factory=RegexSubscriptions)
    descriptions: Descriptions = field(default_factory=Descriptions)
    denials: list[Denial] = field(default_factory=list)
    denials_dropped: int = 0
    audit: Audit = NO_AUDIT
    authorization_denials: dict[Labels, int] = field(default_factory=dict)
    judge: Judge = NO_JUDGE
    auto_creation: AutoCreation = NO_AUTO_CREATION
    number: int = 0
    mount: str = ""
    place: Place = NO_PLACE
    lane_accesses: set[Access] = field(default_factory=set)
    gateway_nodes: GatewayNodes = NO_GATEWAY_NODES
    turn_seconds: float = SLICE_SECONDS
    validity: Validity = field(default_factory=Validity)

    def take_lane_accesses(self) -> set[Access]:
        """Those since the last call."""
        accesses, self.lane_accesses = self.lane_accesses, set()
        return accesses

    def denied(self, denial: Denial) -> bool:
        """Audit a denial and keep it for the next collection, or count it as dropped.

        Returns whether it is among the first since the last collection, which may be logged.
        """
        self.audit.denied(denial)
        if denial.because:
            labels = (denial.source.listener, denial.operation, denial.named.partition(" ")[0])
            self.authorization_denials[labels] = self.authorization_denials.get(labels, 0) + 1
        if len(self.denials) >= MAX_DENIALS:
            self.denials_dropped += 1
            return False
        self.denials.append(denial)
        return len(self.denials) <= LOGGED_DENIALS

    def take_authorization_denials(self) -> list[Row]:
        """The ACL denials since the last call, by listener, operation and resource type."""
        denials, self.authorization_denials = self.authorization_denials, {}
        return [("authorization_denials", labels, count) for labels, count in denials.items()]
