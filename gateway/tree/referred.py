"""Answers to the questions of peers: this gateway owns the mount, or is on the way to its owner.

The owner decides a peer's request like a request of a client of its own listener for the asking
gateway's volume: in a lane, by that listener's view, with the rights of the principal that the peer
may speak for, and with that listener's virtual brokers in the response. The owner of a path, and a
gateway's description of itself, are the same for every principal.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from time import monotonic
from typing import Final

from gateway.apis.table import APIS, DIVIDED
from gateway.config.models import Config, Listener
from gateway.config.tree import ALL, Peer
from gateway.connections.tenants import tenant_of
from gateway.connections.volumes import Volume, passes_through
from gateway.exchanges.tree import VolumeUnreachable
from gateway.flows import Flow
from gateway.foreign_text import one_line
from gateway.identity import ANONYMOUS
from gateway.names import DELIMITER
from gateway.referrals.description import GatewayDescription
from gateway.referrals.lookups import Lookups
from gateway.referrals.questions import Answer, Hop, Kind, Outcome, Question
from gateway.referrals.routing import Here, Routes
from gateway.rotation import Line
from gateway.rules import api_versions
from gateway.rules.api_versions import API_VERSIONS, OWN_VERSIONS
from gateway.rules.declaration import Declaration, Effect
from gateway.slices import InSlices
from gateway.tree.lane_frames import response_payload
from gateway.tree.lanes import LaneHub
from gateway.tree.referred_clients import ReferredClient, ReferredClients
from protocol.errors import ProtocolError
from protocol.headers import read_request_header
from protocol.schema import api_name

ASKED_KEYS: Final = DIVIDED | {API_VERSIONS}
"""The APIs that gateways send each other: requests that are not for a certain node, and
ApiVersions."""

MAX_SECONDS: Final = 30.0
"""Seconds that a question may take here at most, even if it allows more: admin clients wait no
longer."""

_API_KEY_BYTES: Final = 2
_NO_CONTROLLER: Final = -1


class Referred:
    """Answers questions of peers in a worker. ``hub`` has the worker's volumes, and ``lookups``
    sends questions to other peers."""

    def __init__(self, hub: LaneHub, config: Config, routes: Routes, lookups: Lookups) -> None:
        self._hub = hub
        self._routes = routes
        self._lookups = lookups
        self._gateway_id = config.gateway_id
        self._first = config.clusters[0].mount or ""
        self._listeners = [each for each in config.listeners if not passes_through(each)]
        self._numbers = {each.mount or "": each.number or 0 for each in config.clusters}
        self._description = GatewayDescription.of_config(config).to_json()
        self._clients = ReferredClients(hub)

    async def answer(self, peer: Peer, question: Question) -> Answer:
        """Answer a peer's question here, or pass it on to a gateway farther on. A long question
        lets others be served, and a peer counts as an address. Raises nothing for any contents of
        the question."""
        answer = self._answer(peer, question)
        if question.kind is not Kind.REQUEST:
            return await answer  # it is the same for every principal
        tenant = peer.name, *tenant_of(question.principal, question.host)
        return await InSlices(self._hub.turns.of(Line(tenant, peer.name)), answer)

    async def _answer(self, peer: Peer, question: Question) -> Answer:
        began = monotonic()
        answer = self._objection(peer, question)
        if answer is None:
            way = self._routes.of(question.target, came_from=peer.name)
            principal = _mapped(peer, question.principal) or ANONYMOUS.principal
            seconds = min(question.seconds, MAX_SECONDS)
            question = replace(question, principal=principal, seconds=seconds)
            if isinstance(way, Here):
                answer = await self._answer_here(peer, question, way.mount)
            elif question.kind is Kind.DESCRIBE and not question.hops:
                # It may pass no further gateway, so it is for this gateway.
                answer = self._described(self._first)
            else:
                return await self._lookups.ask(
                    question, came_from=peer.name, changes=_changes(question)
                )
        micros = int((monotonic() - began) * 1e6)
        return answer.by_way_of(Hop(self._gateway_id, micros))

    def take_flows(self) -> list[Flow]:
        """The flows of clients behind peers since the last call."""
        return self._clients.take_flows()

    # -- what is not answered ----------------------------------------------------------------------

    def _objection(self, peer: Peer, question: Question) -> Answer | None:
        """The reason why a question is neither answered here nor passed on, as an answer, or None
        if it is."""
        here = self._gateway_id
        if here in question.path:
            passed = " > ".join((*question.path, here))
            return _rejected(f"The question for '{_at(question.target)}' went in a loop: {passed}.")
        if question.kind is not Kind.REQUEST:
            return None  # its answer is the same for all principals, so it needs no principal
        if _mapped(peer, question.principal) is None:
            text = (
                f"Gateway '{here}' does not let gateway '{peer.name}' speak for principal "
                f"'{one_line(question.principal)}'; its operator can add the principal to "
                f"'principals' of peer '{peer.name}' there."
            )
            self._clients.denied(peer.name, question, text)
            return Answer(Outcome.DENIED, text)
        if _api_key(question) not in ASKED_KEYS:
            name = api_name(_api_key(question))
            return _rejected(f"Gateways do not ask each other for {name}; '{here}' rejects it.")
        return None

    # -- the owner's side --------------------------------------------------------------------------

    async def _answer_here(self, peer: Peer, question: Question, mount: str) -> Answer:
        number = self._numbers[mount]
        if question.kind is Kind.LOCATE:
            return Answer(Outcome.ANSWERED, mount=mount, number=number)
        if question.kind is Kind.DESCRIBE:
            return self._described(mount)
        if mount != question.target:
            return Answer(
                Outcome.NO_SUCH_MOUNT,
                f"No cluster is mounted at '{_at(question.target)}'; gateway '{self._gateway_id}' "
                f"has '{_at(mount)}' above it.",
            )
        listener = self._listener_for(question)
        if listener is None:
            return _rejected(
                f"Gateway '{self._gateway_id}' has no listener of volume "
                f"'{_at(question.volume)}' that reaches '{_at(mount)}'; its operator can give one "
                f"volume: '{question.volume}' and '{mount}' in its reach."
            )
        outcome, text = Outcome.UNREACHABLE, ""
        try:
            async with asyncio.timeout(question.seconds):
                response = await self._response(peer, question, listener)
                return Answer(Outcome.ANSWERED, mount=mount, number=number, response=response)
        except TimeoutError:
            text = f"Volume '{_at(mount)}' does not answer within {question.seconds:g} s."
        except VolumeUnreachable as error:
            text = str(error)
        except ProtocolError as error:
            outcome = Outcome.REJECTED
            text = f"Gateway '{self._gateway_id}' cannot answer the request: {error}"
        return Answer(outcome, text, mount, number)

    def _described(self, mount: str) -> Answer:
        number, text = self._numbers[mount], self._description
        return Answer(Outcome.ANSWERED, mount=mount, number=number, response=text)

    def _listener_for(self, question: Question) -> Listener | None:
        """The listener on which clients of the asking gateway's volume reach the target, or
        None."""
        for each in self._listeners:
            volume = self._first if each.volume is None else each.volume
            reaches = each.reach is None or question.target in each.reach
            if volume == question.volume and reaches:
                return each
        return None

    async def _response(self, peer: Peer, question: Question, listener: Listener) -> bytes:
        """The Kafka response, header and body, to a request for a volume of this gateway. Raises
        VolumeUnreachable, and ProtocolError for a request that is not served."""
        request = question.request
        found = read_request_header(request, 0, len(request))
        api_key, version, correlation_id, client_id, start = found
        volume = self._hub.volumes[question.target]
        if api_key == API_VERSIONS:
            body = _versions(volume, version)
        else:
            api = APIS[api_key]
            if version not in api.versions:
                first, last = api.span
                raise ProtocolError(f"{api.name} is served in {first} to {last}, not in {version}")
            client = ReferredClient(peer.name, listener, volume, question.principal, question.host)
            body = await self._clients.ask(client, client_id, api_key, version, request[start:])
            if not self._clients.shows(client, own=question.volume):
                body = _without_brokers(api, version, body)
        correlation_bytes = correlation_id.to_bytes(4, "big", signed=True)
        return response_payload(api_key, version, correlation_bytes, body)


def _rejected(text: str) -> Answer:
    return Answer(Outcome.REJECTED, text)


def _at(path: str) -> str:
    return f"{DELIMITER}{path}"


def _mapped(peer: Peer, principal: str) -> str | None:
    """The principal here for a principal that a peer names, or None if the peer may not speak for
    it."""
    return principal if peer.principals == ALL else peer.principals.get(principal)


def _api_key(question: Question) -> int:
    """The API key of the request in a question, or -1 if the request is too short for an API
    key."""
    head = question.request[:_API_KEY_BYTES]
    return int.from_bytes(head, "big", signed=True) if len(head) == _API_KEY_BYTES else -1


def _changes(question: Question) -> bool:
    """Whether a question may change something, so that it is sent only once."""
    api = APIS.get(_api_key(question))
    return question.kind is Kind.REQUEST and (api is None or api.effect is Effect.CHANGE)


def _versions(volume: Volume, version: int) -> bytes:
    """The body of the ApiVersions response of a volume's cluster; for an unknown version, the
    response that KIP-511 defines. Raises VolumeUnreachable if the cluster was never reached."""
    first, last = OWN_VERSIONS
    if not first <= version <= last:
        return api_versions.unsupported_version()
    served = volume.cluster.served
    if served is None:
        raise VolumeUnreachable(
            f"The cluster of volume '{volume.mount}' was not reached yet; try again when it is."
        )
    return api_versions.between_gateways(version, served, APIS, DIVIDED)


def _without_brokers(api: Declaration, version: int, body: bytes) -> bytes:
    """A response body without anything about the cluster."""
    if api.brokers is None:
        return body
    return api.brokers.replaced(version, body, (), None, _NO_CONTROLLER)
