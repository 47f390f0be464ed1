"""Volumes behind other gateways, for one client connection: its requests become questions of peers.

A lane (``lanes``) decides a part of a request here, in a volume of this gateway. A volume of
another one is decided there, with the client's principal as that gateway takes it, at the listener
that it has for the volume of the client's own. What the answers tell of brokers and topics is
remembered, for when that gateway does not answer.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Protocol
from uuid import UUID

from gateway.config.models import Listener
from gateway.connections.lane_frames import request_payload, response_body
from gateway.connections.lane_seconds import changes, seconds_for
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import NotReferred, TreeBroker, VolumeUnreachable
from gateway.names import DELIMITER, LogicalName
from gateway.referrals.far import NOT_REQUESTED, FarBroker, FarVolume
from gateway.referrals.far_file import FarVolumes
from gateway.referrals.questions import Answer, Kind, Outcome, Question
from gateway.views.far_names import FarNames
from protocol import messages
from protocol.schema import api_key_of

METADATA: Final = api_key_of("MetadataRequest")
METADATA_VERSION: Final = 12
"""The version in which the gateway itself asks: the first with topic ids that brokers serve."""

API_VERSIONS: Final = api_key_of("ApiVersionsRequest")
_API_VERSIONS_VERSION: Final = 3

SHOWN_SECONDS: Final = 30.0
"""Seconds after which the brokers that a client is shown are asked for anew."""

_NO_ERROR: Final = 0
_UNKNOWN_TOPIC: Final = frozenset({3, 100})
"""UNKNOWN_TOPIC_OR_PARTITION and UNKNOWN_TOPIC_ID."""


class Asks(Protocol):
    """The way to other gateways (:class:`gateway.referrals.lookups.Lookups`)."""

    async def ask(
        self, question: Question, *, came_from: str | None = None, changes: bool = False
    ) -> Answer: ...


class Runs(Protocol):
    """Runs work that no client waits for (:class:`gateway.connections.tasks.Tasks`)."""

    def run(self, work: Coroutine[Any, Any, None]) -> object: ...


@dataclass(frozen=True, slots=True)
class OtherGateways:
    """The other gateways of a tree as one worker reaches them. ``known`` is what it has learned of
    their volumes, ``paths`` are all that this gateway's file names; ``tasks`` run in the
    background."""

    lookups: Asks
    known: FarVolumes
    paths: Sequence[str]
    max_hops: int
    tasks: Runs


class FarLanes:
    """The volumes of other gateways that a listener reaches, for one of its clients. ``own`` is the
    mount path of the listener's volume."""

    __slots__ = ("_client", "_names", "_others", "_own", "paths")

    def __init__(
        self, others: OtherGateways | None, listener: Listener, own: str, client: ConnectionState
    ) -> None:
        """``others`` None: the tree is this gateway's own."""
        self._others = others
        self._own = own
        self._client = client
        self._names: dict[str, FarNames] = {}
        reach = () if others is None else listener.reach or ()
        self.paths = [] if others is None else [path for path in reach if path in others.paths]

    def volume(self, path: str) -> FarVolume:
        """What is known of the volume at one of ``paths``."""
        assert self._others is not None
        return self._others.known.of(self._own, path)

    def volumes(self) -> Iterator[FarVolume]:
        """All volumes that the listener reaches."""
        return map(self.volume, self.paths)

    def names(self, path: str) -> FarNames:
        """The names of the volume at one of ``paths``, as the client writes them."""
        found = self._names.get(path)
        if found is None:
            found = self._names[path] = FarNames(self._client.view.settings, path)
        return found

    @property
    def principal(self) -> str:
        """The client's principal, by which is remembered what it has seen."""
        return self._client.identity.principal

    # -- what is known -----------------------------------------------------------------------------

    def brokers(self) -> list[TreeBroker]:
        """The brokers that the client is shown, as last known; they are asked for anew if that is
        long ago, without waiting."""
        self._renew()
        shown = (volume for volume in self.volumes() if volume.shows(self.principal))
        return [TreeBroker(*broker) for volume in shown for broker in volume.brokers]

    def served(self) -> list[Any]:
        """The ApiVersionsResponses of the volumes' clusters, as far as they are known."""
        self._renew()
        return [volume.served for volume in self.volumes() if volume.served is not None]

    def path_of_id(self, topic_id: bytes) -> str | None:
        """The path of the volume in which the client has seen a topic of this id."""
        for volume in self.volumes():
            name = volume.name_of(topic_id)
            if name is not None and volume.topic(self.principal, name) is not None:
                return volume.path
        return None

    def remembered(
        self, path: str, names: Iterable[str] | None, ids: Iterable[bytes]
    ) -> Mapping[str, tuple[bytes | None, int]]:
        """Of these topics, those that the client has seen in a volume: topic id and partition
        count, by the client's name. ``names`` None: all."""
        volume, spelling = self.volume(path), self.names(path)
        if names is None:
            mine = (name for principal, name, _ in volume.topics() if principal == self.principal)
            names = filter(None, map(spelling.spell, list(mine)))
        by_id = (volume.name_of(topic_id) for topic_id in ids)
        more = (spelling.spell(name) for name in by_id if name is not None)
        found = {}
        for spelled in (*names, *(each for each in more if each is not None)):
            name = spelling.parse(spelled)
            topic = None if name is None else volume.topic(self.principal, name)
            if topic is not None and topic.partitions:
                found[spelled] = (topic.topic_id, topic.partitions)
        return found

    # -- asking ------------------------------------------------------------------------------------

    async def ask(self, path: str, api_key: int, version: int, body: bytes) -> bytes:
        """The response body to a part of a request, from the volume at ``path``. Raises
        VolumeUnreachable."""
        others = self._others
        assert others is not None
        client_id = self._client.client_id
        question = Question(
            Kind.REQUEST,
            self._own,
            path,
            (),
            others.max_hops,
            seconds_for(api_key, near=False),
            self.principal,
            self._client.host,
            request_payload(api_key, version, client_id, body),
        )
        answer = await others.lookups.ask(question, changes=changes(api_key))
        volume = self.volume(path)
        if answer.outcome is not Outcome.UNREACHABLE:
            volume.reachable = True
        if answer.outcome is Outcome.ANSWERED:
            volume.number = answer.number
            found = response_body(api_key, version, answer.response)
            if api_key == METADATA:
                self._learn(volume, version, found)
            return found
        if answer.outcome is Outcome.DENIED:
            volume.note_shown(self.principal, shown=False)
        elif answer.outcome is Outcome.UNREACHABLE:
            volume.reachable = False
            raise VolumeUnreachable(answer.text or _silent(path))
        raise NotReferred(answer.text or _silent(path), answer.outcome)

    async def look_up(self, path: str, names: Iterable[str], ids: Iterable[bytes] = ()) -> None:
        """Ask for topics of a volume, by the client's names or by their ids, and what the client
        may do with them; what is answered is remembered. Raises VolumeUnreachable."""
        topics: list[dict[str, object]] = [{"name": name} for name in names]
        topics += [{"name": None, "topic_id": UUID(bytes=topic_id)} for topic_id in ids]
        await self.ask(path, METADATA, METADATA_VERSION, _metadata_request(topics))

    def learn_id(self, volume: FarVolume, topic_id: bytes) -> None:
        """Have the topic of an id looked up, without waiting, unless that was done lately."""
        assert self._others is not None
        if volume.is_due(topic_id):
            self._others.tasks.run(self._learn_id(volume, topic_id))

    async def _learn_id(self, volume: FarVolume, topic_id: bytes) -> None:
        with suppress(VolumeUnreachable):
            await self.look_up(volume.path, (), [topic_id])

    def _renew(self) -> None:
        """Have the brokers of volumes asked for that the client was not shown, or long ago."""
        if self._others is None:
            return
        for volume in self.volumes():
            asked_at = volume.asked_at(self.principal)
            if asked_at is None or monotonic() - asked_at > SHOWN_SECONDS:
                volume.note_shown(self.principal, shown=volume.shows(self.principal))
                self._others.tasks.run(self._meet(volume))

    async def _meet(self, volume: FarVolume) -> None:
        """Learn the brokers and the versions of a volume."""
        try:
            await self.look_up(volume.path, ())
            body = messages.made("ApiVersionsRequest", _API_VERSIONS_VERSION, _SOFTWARE)
            found = await self.ask(volume.path, API_VERSIONS, _API_VERSIONS_VERSION, body)
            volume.served = messages.parse("ApiVersionsResponse", _API_VERSIONS_VERSION, found)
        except VolumeUnreachable:
            return  # the next client's request tries again

    def _learn(self, volume: FarVolume, version: int, body: bytes) -> None:
        """Remember what a Metadata response tells."""
        response = messages.parse("MetadataResponse", version, body)
        brokers = tuple(
            FarBroker(
                int(each.node_id), str(each.host), int(each.port), getattr(each, "rack", None)
            )
            for each in response.brokers
        )
        cluster_id = getattr(response, "cluster_id", None)
        controller_id = int(getattr(response, "controller_id", -1))
        volume.note_cluster(self.principal, volume.number, brokers, cluster_id, controller_id)
        names = self.names(volume.path)
        for topic in response.topics:
            topic_id = getattr(topic, "topic_id", None)
            by_id = None if topic_id is None else volume.name_of(topic_id.bytes)
            name = by_id if not topic.name else names.parse(topic.name)
            if name is not None:
                self._learn_topic(volume, name, topic)

    def _learn_topic(self, volume: FarVolume, name: LogicalName, topic: Any) -> None:
        if topic.error_code in _UNKNOWN_TOPIC:
            volume.forget_topic(self.principal, name)
        elif topic.error_code == _NO_ERROR:
            topic_id = getattr(topic, "topic_id", None)
            operations = int(getattr(topic, "topic_authorized_operations", NOT_REQUESTED))
            volume.note_topic(
                self.principal,
                name,
                None if topic_id is None else topic_id.bytes,
                len(topic.partitions),
                None if operations == NOT_REQUESTED else operations,
            )


_SOFTWARE: Final = {
    "client_software_name": "kafka-namespace-gateway",
    "client_software_version": "unknown",
}


def _metadata_request(topics: list[dict[str, object]]) -> bytes:
    values = {
        "topics": topics,
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": True,
    }
    return messages.made("MetadataRequest", METADATA_VERSION, values)


def _broker(entry: Any) -> FarBroker:
    rack = getattr(entry, "rack", None)
    return FarBroker(int(entry.node_id), str(entry.host), int(entry.port), rack)


def _silent(path: str) -> str:
    return f"The gateway of volume '{DELIMITER}{path}' does not answer; try again when it does."
