"""Two tenants of one worker, one catalog and one broker in memory: each does requests, in turn or
one within the other, and whatever one is told is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final
from uuid import UUID

from gateway.acls.standard import StandardAuthorizer
from gateway.apis.table import APIS
from gateway.catalog.entities import CatalogFormat
from gateway.node_ids import NodeIdRanges
from gateway.telemetry.telemetry import Telemetry
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View, ViewSettings
from gateway.virtual_brokers import ListenerAddresses
from protocol import messages
from protocol.errors import ProtocolError
from protocol.headers import read_request_header
from protocol.primitives import compact_string, legacy_string
from protocol.schema import api_name
from tests.changes.acl_requests import entities
from tests.changes.fake_broker import FakeTopic
from tests.session.isolation_answers import answer
from tests.session.isolation_broker import Memory
from tests.session.isolation_ids import IDS
from tests.session.isolation_requests import Names, Requests
from tests.session.pair import BASE_PORT, HOST, Pair, frames, raw_frame

SECRETS: Final = {"a": "qzsecret", "b": "xvsecret"}
"""A word of each tenant's names that the other never says."""

BY_HAND: Final = frozenset({"SaslHandshake", "SaslAuthenticate"})
"""The APIs of a login, of which a listener without SASL knows nothing."""

CASES: Final = tuple(
    (api.name, version)
    for api in APIS.values()
    if api.name not in BY_HAND
    for version in api.versions
)
"""Every API and version that a tenant can request."""

HARMLESS: Final = {
    "DescribeLogDirs": "topics that the client may not describe are taken out of the response",
}
"""The APIs of which a broker gets another tenant's names, and why that shows nothing."""

NAMED: Final = frozenset({2, 32})
"""The types of config resources that are topics and groups."""

KEYS: Final = {api.name: api.key for api in APIS.values()}


@dataclass(frozen=True)
class Setting:
    """The listeners' settings of tenants ``a`` and ``b``, and whether ACLs are checked."""

    title: str
    a: Mapping[str, Any]
    b: Mapping[str, Any]
    acls: bool


SETTINGS: Final = (
    Setting("homes", {"home": "team-a"}, {"home": "team-b"}, False),
    Setting("homes and ACLs", {"home": "team-a"}, {"home": "team-b"}, True),
    Setting("namespaces and ACLs", {}, {}, True),
    Setting("a legal listener", {"home": "team-a"}, {"spelling": "legal"}, True),
    Setting("namespaces are listed", {}, {"list_namespaces": True}, True),
    Setting(
        "a home that may be left",
        {"home": "team-a", "spelling": "legal"},
        {"home": "team-b", "escape": True},
        True,
    ),
)


@dataclass(frozen=True)
class Operation:
    """One request of tenant ``who``, made at random from ``seed``; before the broker answers,
    tenant ``b`` does ``within``."""

    who: str
    api: str
    version: int
    seed: int
    within: tuple[Operation, ...] = ()

    @property
    def names_foreign_ids(self) -> bool:
        """Whether ids of the other tenant's topics are among the request's. An id is no secret: who
        names one is told whether it exists, as in Kafka."""
        return self.who == "b" and self.seed % 4 == 0


@dataclass
class Told:
    """What a tenant got for an operation: the bytes, and how the connection ended, or ""; whether
    a broker was asked; and what others were told ``within``."""

    data: bytes
    end: str = ""
    forwarded: bool = False
    within: list[Told] = field(default_factory=list)


class Tenant(Pair):
    """The connection of a tenant to a worker that others share."""

    def __init__(self, first: Pair, who: str, settings: Mapping[str, Any]) -> None:
        self.__dict__.update(first.__dict__)
        self.who = who
        self.principal = {"a": "User:alice", "b": "User:bob"}[who]
        subtree = not settings.get("home")
        chosen: dict[str, Any] = {
            "spelling": "colon",
            "list_subtree": subtree,
            "escape": False,
            "home": "",
        }
        chosen |= {"list_namespaces": False, **settings}
        self.view = View(ViewSettings(f"listener-{who}", **chosen), self.catalog.snapshot)
        self.session = self.connect()

    def connect(self) -> Any:
        """A new connection, in the place of the one before."""
        self._work = self._question = None
        self.reset = False
        self.session = self.another_session(
            ListenerAddresses(HOST, BASE_PORT, NodeIdRanges.parse(["1-3"]))
        )
        return self.session

    def access(self) -> Access:
        """The tenant's access."""
        if self.authorizer is None:
            return Access(self.view, self.principal, "127.0.0.1")
        self.authorizer.see(self.catalog.snapshot)
        return AuthorizedAccess(self.view, self.principal, "127.0.0.1", self.authorizer)

    @property
    def session_id(self) -> int:
        """The fetch session that the broker gives this tenant."""
        return {"a": 71, "b": 72}[self.who]


def parsed(payload: bytes) -> Any:
    """The request of a frame."""
    key, version, _, _, at = read_request_header(payload, 0, len(payload))
    return messages.parse(f"{api_name(key)}Request", version, payload[at:])


class World:
    """A worker with two tenants, with a ``setting``."""

    def __init__(self, setting: Setting) -> None:
        IDS.random.seed(0)
        namespaces = ("team-a", "team-a:sub", "team-b", "team-b:sub")
        topics = [
            f"{namespace}..{topic}"
            for namespace, who in (("team-a", "a"), ("team-b", "b"), ("team-a.sub", "a"))
            for topic in ("orders", SECRETS[who])
        ]
        first = Pair(
            namespaces=namespaces,
            authorizer=StandardAuthorizer() if setting.acls else None,
        )
        first.broker.new_id = IDS
        first.worker.telemetry = Telemetry(now=lambda: 0.0)  # the same time in both worlds
        for topic in topics:
            first.broker.topics[topic] = FakeTopic(IDS().bytes, {})
        self._foreign_ids = [
            UUID(bytes=each.topic_id)
            for name, each in first.broker.topics.items()
            if name.startswith("team-a.")
        ]
        self.broker = Memory(first.broker, (topics[1], topics[3]))
        for tenant, who in (("team-a", "a"), ("team-b", "b")):
            for group in ("app", f"g-{SECRETS[who]}"):
                self.broker.groups[f"{tenant}..{group}"] = {f"{tenant}..orders"}
                self.broker.ids[f"{tenant}..{group}"] = {f"{tenant}..orders"}
        rights = [
            f"ALLOW ALL User:{user} {kind}:PREFIXED:{namespace}:"
            for user, namespace in (("alice", "team-a"), ("bob", "team-b"))
            for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID")
        ]
        first.log.append([CatalogFormat(5), *(entities(rights) if setting.acls else ())])
        self.first = first
        self.tenants = {
            who: Tenant(first, who, settings)
            for who, settings in (("a", setting.a), ("b", setting.b))
        }
        self._seen = first.log.newest
        self._list()

    def do(self, operation: Operation) -> Told:
        """Let a tenant do a request, and others what they do within; returns what it is told."""
        tenant = self.tenants[operation.who]
        IDS.random.seed(f"{operation.who} {operation.seed}")
        request = Requests(Random(operation.seed), self._names(tenant, operation))
        frame = raw_frame(
            KEYS[operation.api],
            operation.version,
            request.body(operation.api, operation.version),
        )
        told = Told(b"")
        try:
            tenant.send(frame)
            sent = tenant.to_broker()
            for each in operation.within:
                told.within.append(self.do(each))
            IDS.random.seed(f"{operation.who} {operation.seed} answered")
            while sent:
                told.forwarded = True
                for payload in frames(sent):
                    self._check_forwarded(tenant, payload)
                    tenant.answered(answer(self.broker, payload, tenant.session_id))
                    self._changed()
                sent = tenant.to_broker()
        except ProtocolError as error:
            told.end = str(error)
        self._changed()
        told.data = tenant.to_client()
        if tenant.reset:
            told.end += "; ended by a change"
        if told.end:
            tenant.connect()
        return told

    def _changed(self) -> None:
        """Let the worker list the topics, and go by the newest catalog."""
        self._list()
        if self.first.log.newest is not self._seen:
            self._seen = self.first.log.newest
            for tenant in self.tenants.values():
                tenant.catalog_changed()

    def _list(self) -> None:
        topics = self.first.broker.topics.items()
        self.first.facts.index.replace([(name.encode(), each.topic_id) for name, each in topics])

    def _check_forwarded(self, tenant: Tenant, payload: bytes) -> None:
        """Fail if a request of a tenant to a broker has exactly a name, or the id, of a thing of
        the other tenant's."""
        api = api_name(int.from_bytes(payload[:2], "big"))
        if api in HARMLESS:
            return
        if api == "Fetch":
            fetch = parsed(payload)
            session = getattr(fetch, "session_id", 0)
            assert session in (0, tenant.session_id), f"{tenant.who} sends another's fetch session"
        other = f"team-{'b' if tenant.who == 'a' else 'a'}."
        topics = self.first.broker.topics
        ids = [each.topic_id for name, each in topics.items() if name.startswith(other)]
        known: Iterable[str] = (*topics, *self.broker.groups, *self.broker.ids)
        if api.endswith("Configs"):  # brokers and loggers have names of another kind
            configured = [each for each in parsed(payload).resources if each.resource_type in NAMED]
            known = {each.resource_name for each in configured} & {*known}
        for name in dict.fromkeys(each for each in known if each.startswith(other)):
            text = name.encode()
            for spelled in (legacy_string(text), compact_string(text)):
                assert spelled not in payload, f"{tenant.who} sends {name} to a broker: {payload!r}"
        for topic_id in ids:
            assert topic_id not in payload, f"{tenant.who} sends the id of another's topic"

    def _names(self, tenant: Tenant, operation: Operation) -> Names:
        """The names that a tenant uses: its own, and, of ``b``, those that it knows of ``a``'s."""
        random = Random(operation.seed)
        own, other = ("team-a", "team-b") if tenant.who == "a" else ("team-b", "team-a")
        home = tenant.view.settings.home
        secret = SECRETS[tenant.who]
        spelled = (f"{own}:", f"{own}..") + (("", "") if home else ())
        topics = [f"{begin}{name}" for begin in spelled for name in ("orders", "new", secret)]
        groups = [f"{begin}{name}" for begin in spelled for name in ("app", "new", f"g-{secret}")]
        topics += [f"{own}:sub:new", f"{own}:sub:", f"{own}:{secret}ns:", "", f"{own}:"]
        if tenant.who == "b" and random.random() < 0.6:
            topics = [f"{begin}{other}{end}" for begin in ("", ":", "..") for end in _THINGS]
            groups = [f"{begin}{other}{end}" for begin in ("", ":", "..") for end in _GROUPS]
            topics += [f"..{other}..orders", f"{other}..orders", f"{other}:orders"] * 4
            topics += ["plain", ":", "", f"{other}.new", f"{other}:", "team-", "team_a..orders"]
        known = self.first.broker.topics.items()
        ids = [UUID(bytes=each.topic_id) for name, each in known if name.startswith(f"{own}.")]
        if operation.names_foreign_ids:
            ids += self._foreign_ids
        return Names(topics, groups, [*ids, UUID(int=0x99)], (0, 0, tenant.session_id, 71))


_THINGS: Final = (":orders", "..orders", ":", "..", ":new", ".sub..orders", ":sub:new", ":sub:")
_GROUPS: Final = (":app", "..app", ":", "..", "..new")
