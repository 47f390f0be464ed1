"""Volumes behind other gateways, for a client connection: its requests become questions to peers.

A lane (``lanes``) decides a part of a request here, for a volume of this gateway. If a volume
belongs to another gateway, that gateway decides the part: for the client's principal as it maps it,
at the listener that it has for the volume of the client's own listener. The brokers and topics in
its answers are remembered (``far_metadata``), for when that gateway does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

from gateway.acl_model import ResourceType, code_of
from gateway.apis.table import APIS
from gateway.config.models import Listener
from gateway.connections.tenants import line_of
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import VolumeUnreachable
from gateway.names import DELIMITER, LogicalName
from gateway.referrals.far import FarVolume
from gateway.referrals.far_file import FarVolumes
from gateway.referrals.lookups import Lookups
from gateway.referrals.questions import Answer, Kind, Outcome, Question
from gateway.rules.acl_spellings import volume_of_pattern
from gateway.rules.declaration import Effect
from gateway.rules.division import Requested
from gateway.rules.far_answers import NotBelieved, believed
from gateway.rules.tree_brokers import Broker
from gateway.slices import InSlices, Slices, Turns, all_in_slices, in_slices
from gateway.tree.far_metadata import METADATA, METADATA_VERSION, learn, metadata_request
from gateway.tree.far_names import FarNames
from gateway.tree.lane_frames import request_payload, response_body
from gateway.tree.lane_seconds import seconds_for
from gateway.tree.volume_down import NotReferred
from protocol import messages
from protocol.errors import ProtocolError
from protocol.pausing import in_order, paced
from protocol.schema import api_key_of, api_name

API_VERSIONS: Final = api_key_of("ApiVersionsRequest")
_API_VERSIONS_VERSION: Final = 3

MAX_AWAITED: Final = 10_000
"""Topics for which a connection, at most, is answered again once its rights may be known."""

SHOWN_SECONDS: Final = 30.0
"""Seconds after which the brokers that a client is shown are looked up again."""


@dataclass(frozen=True, slots=True)
class OtherGateways:
    """The other gateways of a tree, as a worker reaches them."""

    # Sends questions to the peers.
    lookups: Lookups
    # What this worker has learned of the other gateways' volumes.
    known: FarVolumes
    # The mount paths of all volumes of other gateways that this gateway's configuration names.
    paths: Sequence[str]
    max_hops: int
    # Runs work that no client waits for.
    run: Callable[[Coroutine[Any, Any, None]], object]
    # Reports a response that is not believed: the mount path, and why.
    disbelieve: Callable[[str, str], None]


class FarLanes:
    """The volumes of other gateways that a listener reaches, for a client. ``own`` is the mount
    path of the listener's volume."""

    __slots__ = (
        "_awaited",
        "_client",
        "_has_id",
        "_names",
        "_others",
        "_own",
        "_sought",
        "_turns",
        "paths",
    )

    def __init__(
        self,
        others: OtherGateways | None,
        listener: Listener,
        own: str,
        client: ConnectionState,
        turns: Turns,
        has_id: Callable[[bytes], bool] = lambda _: False,
    ) -> None:
        """``others`` is None if all of the tree is this gateway's own. Long answers are read in
        ``turns``, in the client's line. ``has_id`` returns whether a volume of this gateway has a
        topic with a given id."""
        self._others = others
        self._turns = turns
        self._has_id = has_id
        self._own = own
        self._client = client
        self._names: dict[str, FarNames] = {}
        self._sought: dict[str, tuple[set[str], set[bytes]]] = {}
        self._awaited: set[bytes] = set()
        reach = () if others is None else listener.reach or ()
        self.paths = [] if others is None else [path for path in reach if path in others.paths]

    def volume(self, path: str) -> FarVolume:
        """The last known state of the volume at ``path``, which is among ``paths``."""
        assert self._others is not None
        return self._others.known.of(self._own, path)

    def volumes(self) -> Iterator[FarVolume]:
        """All volumes that the listener reaches."""
        return map(self.volume, self.paths)

    def names(self, path: str) -> FarNames:
        """The spelling of the volume's names for this client; ``path`` is among ``paths``."""
        found = self._names.get(path)
        if found is None:
            found = self._names[path] = FarNames(self._client.view.settings, path)
        return found

    @property
    def principal(self) -> str:
        """The client's principal; brokers and topics are remembered by the principal that has seen
        them."""
        return self._client.identity.principal

    @property
    def host(self) -> str:
        """The client's IP address; rights are remembered by it and the principal."""
        return self._client.host

    @property
    def _own_turns(self) -> Turns:
        """The turns of the client's tenant."""
        return self._turns.of(line_of(self._client))

    # -- what is known -----------------------------------------------------------------------------

    def brokers(self) -> list[Broker]:
        """The brokers that the client is shown, as last known. Old ones are looked up again in the
        background."""
        self._renew()
        shown = (volume for volume in self.volumes() if volume.shows(self.principal))
        return [Broker(*broker) for volume in shown for broker in volume.brokers]

    def cluster(self, path: str) -> tuple[str | None, int]:
        """The cluster id of a volume and the virtual id of its controller, as last known, or None
        and -1 if the client is not shown the volume's brokers."""
        volume = self.volume(path)
        shown = volume.shows(self.principal)
        return (volume.cluster_id, volume.controller_id) if shown else (None, -1)

    def served(self) -> list[Any]:
        """The ApiVersionsResponses of the volumes' clusters that are known."""
        self._renew()
        return [volume.served for volume in self.volumes() if volume.served is not None]

    def path_of_id(self, topic_id: bytes) -> str | None:
        """The path of the volume in which the client has seen a topic of this id."""
        for volume in self.volumes():
            name = volume.name_of(topic_id, self.principal)
            if name is not None and volume.topic(self.principal, name) is not None:
                return volume.path
        return None

    def remembered(
        self, path: str, names: Iterable[str] | None, ids: Iterable[bytes]
    ) -> Mapping[str, tuple[bytes | None, int]]:
        """The given topics that the client has seen in a volume, and may describe as far as is
        known: topic id and partition count, by the client's name. All topics if ``names`` is
        None."""
        volume, spelling = self.volume(path), self.names(path)
        principal, host = self.principal, self.host
        wanted: list[tuple[str | None, LogicalName | None]]
        if names is None:
            every = list(volume.topics())  # which may change during a pause
            mine = [name for seen_by, name, _ in paced(every) if seen_by == principal]
            wanted = [(spelling.spell(name), name) for name in paced(mine)]
        else:
            wanted = [(spelled, spelling.parse(spelled)) for spelled in paced(names)]
        for name in (volume.name_of(topic_id, principal) for topic_id in ids):
            wanted.append((None if name is None else spelling.spell(name), name))
        found = {}
        for spelled, name in paced(wanted):
            topic = None if name is None else volume.describes(principal, host, name)
            if spelled is not None and topic is not None and topic.partitions:
                found[spelled] = (topic.topic_id, topic.partitions)
        return found

    # -- asking ------------------------------------------------------------------------------------

    async def ask(self, path: str, api_key: int, version: int, body: bytes) -> bytes:
        """Request a part of a request from the volume at ``path``, and return the response body.
        Raises VolumeUnreachable, or its subclass NotReferred if that gateway rejects or denies
        it."""
        others = self._others
        assert others is not None
        effect = APIS[api_key].effect
        principal, host, client_id = self.principal, self.host, self._client.client_id
        question = Question(
            Kind.REQUEST,
            self._own,
            path,
            (),
            others.max_hops,
            seconds_for(effect, near=False),
            principal,
            host,
            request_payload(api_key, version, client_id, body),
        )
        answer = await others.lookups.ask(question, changes=effect is Effect.CHANGE)
        volume = self.volume(path)
        volume.reachable = answer.outcome is not Outcome.UNREACHABLE
        if answer.outcome is Outcome.ANSWERED:
            read = partial(self._read, volume, principal, host, api_key, version, body, answer)
            try:
                return await in_slices(self._own_turns, Slices(read))
            except ProtocolError as error:  # only this volume's gateway is at fault
                volume.reachable = False
                raise VolumeUnreachable(_unreadable(path, error)) from error
            except NotBelieved as error:
                volume.reachable = False
                text = _not_believed(path, error)
                others.disbelieve(path, text)
                raise VolumeUnreachable(text) from error
        if answer.outcome is Outcome.UNREACHABLE:
            raise VolumeUnreachable(answer.text or _silent(path))
        if answer.outcome is Outcome.DENIED:
            volume.note_denied(principal)
        raise NotReferred(answer.text or _silent(path), answer.outcome)

    def _read(
        self,
        volume: FarVolume,
        principal: str,
        host: str,
        api_key: int,
        version: int,
        body: bytes,
        answer: Answer,
    ) -> bytes:
        """The body of a response to a request's ``body``; its brokers and topics are remembered.
        Raises ProtocolError and NotBelieved."""
        found = response_body(api_key, version, answer.response)
        read = messages.parse(f"{api_name(api_key)}Response", version, found)
        response = believed(APIS[api_key], version, body, read, self._wanted(volume.path))
        if response is not read:
            found = messages.write(response)
        volume.number = answer.number
        volume.note_accepted(principal)
        if api_key == METADATA:
            learn(volume, self.names(volume.path), principal, host, version, response)
        return found

    def _wanted(self, path: str) -> Requested:
        view = self._client.view

        def of_pattern(resource_type: int, pattern_type: int, name: str | None) -> str:
            return volume_of_pattern(view, code_of(ResourceType, resource_type), name)

        return Requested(path, view.volume_of_topic, of_pattern, self._has_id)

    async def look_up(self, path: str, names: Iterable[str], ids: Iterable[bytes] = ()) -> None:
        """Look up topics of a volume, by the client's names or by their ids, and the operations
        that the client is authorized to. The answer is remembered. Raises VolumeUnreachable."""
        topics: list[dict[str, object]] = [{"name": name} for name in paced(names)]
        topics += [{"name": None, "topic_id": UUID(bytes=topic_id)} for topic_id in paced(ids)]
        await self.ask(path, METADATA, METADATA_VERSION, metadata_request(topics))

    def learn_id(self, volume: FarVolume, topic_id: bytes) -> None:
        """Look up the topic of an id in the background, unless that was done recently. All topics
        of a response are looked up by the same question."""
        if volume.is_due(self.principal, topic_id):
            self._to_learn(volume)[1].add(topic_id)

    def learn_name(self, volume: FarVolume, spelled: str) -> None:
        """Look up a topic by the client's name in the background, as :meth:`learn_id`."""
        if volume.is_due(self.principal, spelled.encode()):
            self._to_learn(volume)[0].add(spelled)

    def waits_for(self, shadow: bytes) -> bool:
        """Whether this connection is to be answered again once the client's rights on a topic may
        be known. Only the first response that leaves out the topic is."""
        if shadow in self._awaited or len(self._awaited) >= MAX_AWAITED:
            return False
        self._awaited.add(shadow)
        return True

    def _to_learn(self, volume: FarVolume) -> tuple[set[str], set[bytes]]:
        assert self._others is not None
        sought = self._sought.get(volume.path)
        if sought is None:
            sought = self._sought[volume.path] = (set(), set())
            self._others.run(self._learn(volume))
        return sought

    async def _learn(self, volume: FarVolume) -> None:
        with suppress(VolumeUnreachable):
            names, ids = self._sought.pop(volume.path)
            await InSlices(self._own_turns, self.look_up(volume.path, in_order(names), sorted(ids)))

    async def at_once(self, works: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Run coroutines together; long ones let other connections be served."""
        await all_in_slices(self._own_turns, works)

    def _renew(self) -> None:
        """Look up, in the background, the brokers of volumes whose brokers the client was not shown
        yet, or too long ago."""
        if self._others is None:
            return
        for volume in self.volumes():
            age = volume.shown_age(self.principal)
            if age is None or age > SHOWN_SECONDS:
                volume.note_shown(self.principal, shown=volume.shows(self.principal))
                self._others.run(self._meet(volume))

    async def _meet(self, volume: FarVolume) -> None:
        """Look up the brokers and the API versions of a volume."""
        try:
            await self.look_up(volume.path, ())
            body = messages.made("ApiVersionsRequest", _API_VERSIONS_VERSION, _SOFTWARE)
            found = await self.ask(volume.path, API_VERSIONS, _API_VERSIONS_VERSION, body)
            volume.served = messages.parse("ApiVersionsResponse", _API_VERSIONS_VERSION, found)
        except VolumeUnreachable:
            return  # the next client's request tries again


_SOFTWARE: Final = {
    "client_software_name": "kafka-namespace-gateway",
    "client_software_version": "unknown",
}


def _silent(path: str) -> str:
    return f"The gateway of volume '{DELIMITER}{path}' does not answer; try again when it does."


def _not_believed(path: str, error: NotBelieved) -> str:
    return f"The response of volume '{DELIMITER}{path}' is not believed: it {error}."


def _unreadable(path: str, error: ProtocolError) -> str:
    return f"The response of volume '{DELIMITER}{path}' cannot be read: {error}"
