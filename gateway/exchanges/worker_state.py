"""The state that all connections of one worker process share; rules and handlers read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.audit.audit import NO_AUDIT, Audit
from gateway.auth.mechanisms import Mechanisms
from gateway.auth.pass_through import PassThrough
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog
from gateway.catalog.validity import Validity
from gateway.changes.changes import NamespaceChanges
from gateway.changes.topics.auto_creation import AutoCreation
from gateway.changes.topics.internal_topics import InternalTopics
from gateway.cluster.cluster import Cluster
from gateway.counts import Labels, Row
from gateway.exchanges.descriptions import Descriptions
from gateway.exchanges.kept_answers import KeptAnswers
from gateway.flows import Denial
from gateway.places import NO_PLACE, Place
from gateway.policies.judge import NO_JUDGE, Judge
from gateway.rules.regex_subscriptions import RegexSubscriptions
from gateway.rules.tree_brokers import Broker
from gateway.slices import SLICE_SECONDS
from gateway.telemetry.telemetry import Telemetry
from gateway.views.access import Access
from gateway.views.views import Listings


async def _at_once(_: str, work: Callable[[], None]) -> None:
    work()


def _no_gateways(_: Snapshot, listener: str) -> tuple[Broker, ...]:
    return ()


MAX_DENIALS: Final = 10_000
"""Denial events kept between two collections, a second apart; more are counted as dropped."""

LOGGED_DENIALS: Final = 100
"""Denials logged between two collections, a second apart. All denials are counted, and written to
the traffic log."""


@dataclass(slots=True)
class WorkerState:
    """The state that all connections of a worker process share."""

    catalog: Catalog
    cluster: Cluster
    changes: NamespaceChanges
    max_request_bytes: int

    sasl: Mapping[str, Mechanisms] = field(default_factory=dict)
    """Listener -> the SASL logins that it accepts."""

    pass_through: Mapping[str, PassThrough] = field(default_factory=dict)
    """Those of the listeners with SASL at which brokers decide."""

    failure_delay: float = 0.0
    """Seconds by which the response to a failed authentication is delayed."""

    verify: Callable[[str, Callable[[], None]], Awaitable[None]] = _at_once
    """(client's address, work) runs the work in a thread."""

    listings: Listings = field(default_factory=Listings)
    kept_answers: KeptAnswers = field(default_factory=KeptAnswers)
    regexes: RegexSubscriptions = field(default_factory=RegexSubscriptions)
    descriptions: Descriptions = field(default_factory=Descriptions)
    denials: list[Denial] = field(default_factory=list)
    denials_dropped: int = 0
    audit: Audit = NO_AUDIT
    authorization_denials: dict[Labels, int] = field(default_factory=dict)

    judge: Judge = NO_JUDGE
    """Applies the policies."""

    auto_creation: AutoCreation | None = None
    """Creates the topics that brokers must not create; None: no topic is created."""

    internal_topics: InternalTopics | None = None
    """Creates the internal topics of Streams groups; None: no topic is created."""

    number: int = 0
    """The cluster's number in the tree; 0: there is no tree."""

    mount: str = ""
    """The cluster's path in the tree."""

    place: Place = NO_PLACE
    """The cluster, as flows and events name it."""

    lane_accesses: set[Access] = field(default_factory=set)
    """The accesses of other volumes' clients that were used here since the last collection."""

    listed_gateways: Callable[[Snapshot, str], tuple[Broker, ...]] = _no_gateways
    """(the catalog's state, listener) -> the gateways that the listener lists among the brokers."""

    turn_seconds: float = SLICE_SECONDS
    """Seconds for which a connection decides requests before other connections have their turn."""

    telemetry: Telemetry = field(default_factory=Telemetry)
    """The metrics that clients push; all volumes of a worker have the same."""

    validity: Validity = field(default_factory=Validity)
    """Whether the catalog's state is recent enough to decide by."""

    def take_lane_accesses(self) -> set[Access]:
        """The lane accesses since the last call."""
        accesses, self.lane_accesses = self.lane_accesses, set()
        return accesses

    def denied(self, denial: Denial) -> bool:
        """Audit a denial and keep it for the next collection, or count it as dropped.

        Returns whether the denial is among the first since the last collection, which are logged.
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
