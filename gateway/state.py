"""What a connection and its worker hold between requests; rules and handlers read it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from gateway.catalog.source import Catalog
from gateway.decision import Denied
from gateway.flows import NO_TOPIC, Denial, Flow, FlowSource
from gateway.rules.consumer_group_heartbeat import RegexSubscriptions
from gateway.topic_ids import TopicIndex
from gateway.view import View, ViewSettings
from gateway.virtual_brokers import ListenerAddresses
from protocol.splice import Edit

MAX_DENIALS: Final = 10_000
"""Denial events kept between two collections (a second apart); more are counted as dropped."""


class ClusterFacts(Protocol):
    """What handlers may ask of the cluster without waiting (gateway/cluster.py keeps it)."""

    @property
    def index(self) -> TopicIndex:
        """Its topics."""
        ...


class Changes(Protocol):
    """What the gateway does itself for admin clients (gateway/changes).

    Each takes a whole request body in the client's names, at the client's version (CreateTopics
    from v2 on), and gives the whole response body.
    """

    async def create_topics(self, view: View, version: int, body: bytes) -> bytes: ...
    async def delete_topics(self, view: View, version: int, body: bytes) -> bytes: ...
    async def describe_configs(self, view: View, version: int, body: bytes) -> bytes: ...
    async def alter_configs(self, view: View, version: int, body: bytes) -> bytes: ...
    async def incremental_alter_configs(self, view: View, version: int, body: bytes) -> bytes: ...


LOGGED_DENIALS: Final = 100
"""Denials logged between two collections, a second apart; all are counted and written to the
traffic log."""

MAX_FLOWS: Final = 1_000
"""Flows per connection between two collections; further topics are counted as none."""

EARLIER_FLOWS: Final = 100
"""Flows put aside per connection between two collections, when its client id changes."""

DENIED_REMEMBERED: Final = 100
"""Denied names per connection that are logged once; with more of them they are logged again."""

PRODUCED_REMEMBERED: Final = 10_000
"""Topics per connection of which it is remembered how they were called when produced to."""

SESSIONS_PER_CONNECTION: Final = 16
"""Java's client keeps one per broker connection; whoever opens more loses the oldest."""


class Listing:
    """The topics that a view lists: ``names`` in its spelling, sorted. ``version`` grows when
    they change."""

    __slots__ = ("index_version", "names", "version", "view")

    def __init__(self, view: View, index_version: int, names: list[str], version: int) -> None:
        self.view = view
        self.index_version = index_version
        self.names = names
        self.version = version


class Listings:
    """What each listener's view lists, kept until the cluster's topics or the catalog change."""

    def __init__(self) -> None:
        self._made: dict[ViewSettings, Listing] = {}

    def of(self, view: View, index: TopicIndex) -> Listing:
        """The listing as of now."""
        made = self._made.get(view.settings)
        if made is not None and made.view is view and made.index_version == index.version:
            return made
        names = sorted(
            shown.decode()
            for flat in index.names()
            if view.lists(flat) and (shown := view.spell(flat)) is not None
        )
        version = 0 if made is None else made.version + (made.names != names)
        made = self._made[view.settings] = Listing(view, index.version, names, version)
        return made


@dataclass(slots=True)
class WorkerState:
    """Shared by all connections of one worker process."""

    catalog: Catalog
    cluster: ClusterFacts
    changes: Changes
    max_request_bytes: int
    listings: Listings = field(default_factory=Listings)
    regexes: RegexSubscriptions = field(default_factory=RegexSubscriptions)
    denials: list[Denial] = field(default_factory=list)
    denials_dropped: int = 0

    def denied(self, denial: Denial) -> bool:
        """Keep a denial event for the next collection, or count it as dropped.

        Returns whether it is among the first since the last one, which may be logged.
        """
        if len(self.denials) >= MAX_DENIALS:
            self.denials_dropped += 1
            return False
        self.denials.append(denial)
        return len(self.denials) <= LOGGED_DENIALS


class FetchSession:
    """A fetch session that a broker gave this connection (KIP-227).

    ``spelled`` maps the flat names ever added to it to the client's spelling, and in a session
    ``by_id`` the broker's topic ids to those that the client uses: an incremental response names
    partitions that its own request did not.
    ``lead`` is the flat name that its requests are counted under when they name none.
    """

    __slots__ = ("by_id", "lead", "spelled")

    def __init__(self, spelled: dict[bytes, bytes], lead: bytes, by_id: bool) -> None:
        self.spelled = spelled
        self.lead = lead
        self.by_id = by_id


class ConnectionState:
    """One client connection's side of the rules. Containers are made when first needed, so that
    an idle connection stays small.

    ``fetch_sessions`` holds the sessions given to this connection, by id. ``spelled`` is how
    this client spelled the topics it subscribed to, for the assignments that come later.
    ``produced`` is how it called the topics it produced to (flat name to a name or topic id).
    ``protocol_types`` maps a group id (as on the broker) to its protocol type, for the versions
    that do not repeat it.
    """

    __slots__ = (
        "_client_id",
        "addresses",
        "denied",
        "earlier",
        "fetch_sessions",
        "flows",
        "produced",
        "protocol_types",
        "source",
        "spelled",
        "view",
        "worker",
    )

    def __init__(
        self, worker: WorkerState, view: View, addresses: ListenerAddresses, source: FlowSource
    ) -> None:
        self.worker = worker
        self.view = view
        self.addresses = addresses
        self.source = source
        self.flows: dict[tuple[int, int, bytes], Flow] | None = None
        self.earlier: list[Flow] | None = None
        self.denied: set[bytes] | None = None
        self._client_id: bytes | None = None
        self.fetch_sessions: dict[int, FetchSession] | None = None
        self.spelled: dict[bytes, bytes] | None = None
        self.protocol_types: dict[bytes, bytes] | None = None
        self.produced: dict[bytes, bytes] | None = None

    def note_client_id(self, client_id: bytes | None) -> None:
        """Count from here on under this client id (it comes with every request).

        A client that changes it all the time is counted under the last one noted.
        """
        if client_id == self._client_id or len(self.earlier or ()) >= EARLIER_FLOWS:
            return
        self._client_id = client_id
        shown = client_id.decode(errors="replace") if client_id else ""
        self._become(replace(self.source, client_id=shown))

    def note_software(self, name: str, version: str) -> None:
        """Count from here on under this client software (KIP-511)."""
        self._become(replace(self.source, software_name=name, software_version=version))

    def _become(self, source: FlowSource) -> None:
        """A flow belongs to one source, so what was counted so far is put aside."""
        self.source = source
        if self.flows:
            self.earlier = [*(self.earlier or ()), *self.flows.values()]
            self.flows = None

    def flow(self, api_key: int, version: int, flat: bytes) -> Flow:
        """The flow that counts one topic (``b""``: none) through one API; made at first use."""
        flows = self.flows
        if flows is None:
            flows = self.flows = {}
        key = (api_key, version, flat)
        found = flows.get(key)
        if found is None:
            if flat and len(flows) >= MAX_FLOWS:
                return self.flow(api_key, version, b"")
            found = flows[key] = self._new_flow(api_key, version, flat)
        return found

    def topic_of_id(
        self, start: int, stop: int, topic_id: bytes, asked: dict[bytes, bytes], edits: list[Edit]
    ) -> bytes | None:
        """The flat name behind a client's topic id at these bytes of a request.

        ``asked`` is told the broker's own id and the client's, ``edits`` to put the one for the
        other. None: the view may not see it, or it was asked for under another id before.
        """
        view, index = self.view, self.worker.cluster.index
        flat = view.flat_of_id(topic_id, index)
        own = view.id_to_broker(topic_id, index) if view.has_topic_ids else topic_id
        if flat is None or asked.setdefault(own, topic_id) != topic_id:
            return None
        if own != topic_id:
            edits.append((start, stop, own))
        return flat

    def produced_as(self, flat: bytes, called: bytes) -> bytes:
        """What the client called a topic when it first produced to it here; ``called``, if never.

        A producer numbers its batches for each name it knows (KIP-98): a broker would take those
        under a second name of the same topic for repetitions, and acknowledge without writing.
        """
        produced = self.produced
        if produced is None or len(produced) >= PRODUCED_REMEMBERED:
            produced = self.produced = {}
        return produced.setdefault(flat, called)

    def see(self, view: View) -> None:
        """Go on with another view: the catalog has changed.

        A fetch session in which a name or an id no longer leads to the topic that it led to is
        over: its id does not reach the broker again.
        """
        self.view = view
        for session_id, session in list((self.fetch_sessions or {}).items()):
            if not self.still_reaches(session.spelled, session.by_id):
                self.fetch_session_closed(session_id)

    def still_reaches(self, spelled: Mapping[bytes, bytes], by_id: bool) -> bool:
        """Whether everything that a client named still leads where it led: to these flat names,
        or ``by_id`` to these broker's topic ids."""
        view, index = self.view, self.worker.cluster.index
        for led_to, asked in spelled.items():
            if by_id:
                if view.flat_of_id(asked, index) is None:
                    return False
                if view.id_to_broker(asked, index) != led_to:
                    return False
                continue
            found = view.resolve(asked)
            if isinstance(found, Denied) or found.flat != led_to:
                return False
        return True

    def first_denial(self, resource: bytes) -> bool:
        """Whether this connection is denied this for the first time, as far as it remembers."""
        denied = self.denied
        if denied is None or len(denied) >= DENIED_REMEMBERED:
            denied = self.denied = set()
        if resource in denied:
            return False
        denied.add(resource)
        return True

    def listing(self) -> Listing:
        """The topics that a listing shows to this view."""
        return self.worker.listings.of(self.view, self.worker.cluster.index)

    def fetch_session(self, session_id: int) -> FetchSession | None:
        """A session that was given to this connection; None for any other id."""
        return None if self.fetch_sessions is None else self.fetch_sessions.get(session_id)

    def fetch_session_closed(self, session_id: int) -> None:
        """Forget a session; its id does not reach the broker again."""
        if self.fetch_sessions is not None:
            self.fetch_sessions.pop(session_id, None)

    def fetch_session_opened(
        self, session_id: int, spelled: dict[bytes, bytes], lead: bytes, *, by_id: bool
    ) -> None:
        """Note a session that a broker gave this connection (0: it gave none)."""
        sessions = self.fetch_sessions
        if not session_id or (sessions is not None and session_id in sessions):
            return
        if sessions is None:
            sessions = self.fetch_sessions = {}
        if len(sessions) >= SESSIONS_PER_CONNECTION:
            del sessions[next(iter(sessions))]
        sessions[session_id] = FetchSession(spelled, lead, by_id)

    def take_flows(self) -> Collection[Flow]:
        """The flows since the last call; the connection starts afresh."""
        flows, self.flows = self.flows, None
        earlier, self.earlier = self.earlier, None
        return [*(earlier or ()), *(flows.values() if flows else ())]

    def _new_flow(self, api_key: int, version: int, flat: bytes) -> Flow:
        if not flat:
            return Flow(self.source, api_key, version, NO_TOPIC, "", "")
        text = flat.decode(errors="replace")
        name = self.view.snapshot.owner(text)
        return Flow(self.source, api_key, version, name.namespace, str(name), text)
