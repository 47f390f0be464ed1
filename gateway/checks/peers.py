"""``kafka-gateway check --peers``: queries every gateway in ``tree`` for its description.

A query of kind DESCRIBE that may pass no further gateways (``hops`` is 0) is answered by the
gateway that gets it, whatever its target. Mounts that no peer has itself are looked up as a
client's names would be. Nothing is changed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

from gateway.checks.peer_agreement import (
    Described,
    child_problems,
    identity_problems,
    listener_problems,
    number_problems,
    parent_problems,
)
from gateway.checks.peer_findings import AskedPeer, FoundMount, PeerFindings
from gateway.commands.asking import MakesLink, peer_link
from gateway.config.errors import Key, Problem
from gateway.config.models import Config
from gateway.config.reach import far_paths
from gateway.config.tree import Child, Peer, TreeSettings
from gateway.foreign_text import shown_text
from gateway.identity import ANONYMOUS
from gateway.names import DELIMITER
from gateway.referrals.description import GatewayDescription, UnreadableDescription
from gateway.referrals.locations import Locations
from gateway.referrals.lookups import Lookups
from gateway.referrals.numbers import Numbers
from gateway.referrals.peer_link import PeerLink, PeerUnreachable
from gateway.referrals.questions import MAX_TEXT, Answer, Kind, Outcome, Question
from gateway.referrals.routing import Routes
from gateway.tls.contexts import TlsError, read_certificates
from gateway.tls.distinguished_name import UnreadableName, subject_name

SECONDS: Final = 5.0
"""Seconds for a gateway's response, also by way of other gateways."""


async def ask_peers(config: Config, link: MakesLink = peer_link) -> PeerFindings:
    """Query every peer at each of its addresses, and compare the responses with the file."""
    # Failures are reported as problems, and not in the log as well.
    logging.getLogger().addHandler(logging.NullHandler())
    found = PeerFindings()
    tree = config.tree
    if tree is None:
        text = "is missing, and --peers asks the gateways in it; add it, or leave out --peers"
        found.problems.append(Problem(("tree",), text))
        return found
    asked = await asyncio.gather(*(_ask(found, tree, link, one) for one in _addresses(tree)))
    found.asked += asked
    described = [
        Described(one.name, one.key[:-2], one.description)
        for one in asked
        if one.description is not None
    ]
    _compare(config, tree, found, described)
    await _look_elsewhere(config, tree, link, found, described)
    found.problems = list(dict.fromkeys(found.problems))
    return found


def _addresses(tree: TreeSettings) -> list[AskedPeer]:
    entries: dict[str, list[tuple[Key, Peer]]] = {}
    for side, peers in (("parents", tree.parents), ("children", tree.children)):
        for index, peer in enumerate(peers):
            entries.setdefault(peer.name, []).append((("tree", side, index), peer))
    return [
        AskedPeer(tuple(same), address, (*same[0][0], "addresses", index))
        for same in entries.values()
        for index, address in enumerate(same[0][1].addresses)
    ]


async def _ask(
    found: PeerFindings, tree: TreeSettings, link: MakesLink, one: AskedPeer
) -> AskedPeer:
    """The peer with its description. Problems in its response are added to the findings."""
    alone = one.entries[0][1].model_copy(update={"addresses": (one.address,)})
    to_peer = link(alone, tree)
    began = time.monotonic()
    try:
        answer = await to_peer.ask(_question(Kind.DESCRIBE, "", hops=0))
    except PeerUnreachable as error:
        text = shown_text(error.reason or error, MAX_TEXT)
        reason, _, step = text.partition("; ")
        if not step or step.startswith("does it speak TLS"):
            step = (
                f"see that gateway '{one.name}' runs, that its tree.listener is there, and that it "
                f"has this gateway ('{_own_subject(tree)}') among its peers"
            )
        found.problems.append(Problem(one.key, f"{reason}; {step}"))
        return one
    finally:
        to_peer.close()
    seconds = time.monotonic() - began
    description = _read(found, one.name, one.key, answer)
    return AskedPeer(one.entries, one.address, one.key, seconds, description)


def _read(found: PeerFindings, name: str, key: Key, answer: Answer) -> GatewayDescription | None:
    if answer.outcome is not Outcome.ANSWERED:
        reason = shown_text(answer.text, MAX_TEXT).removesuffix(".") or answer.outcome.name
        text = f"gateway '{name}' responds, but does not describe itself: {reason}"
        found.warnings.append(Problem(key, f"{text}; look into its log, and check from there"))
        return None
    try:
        return GatewayDescription.from_json(answer.response)
    except UnreadableDescription as error:
        text = f"the description that gateway '{name}' gives of itself {error}; see that it and"
        found.problems.append(Problem(key, f"{text} this gateway are of one version"))
        return None


def _question(kind: Kind, target: str, hops: int) -> Question:
    return Question(kind, "", target, (), hops, SECONDS, ANONYMOUS.principal)


def _compare(
    config: Config, tree: TreeSettings, found: PeerFindings, described: list[Described]
) -> None:
    subject = _own_subject(tree)
    found.problems += identity_problems(config, described)
    found.problems += number_problems(config, described)
    for asked in found.asked:
        if asked.description is None:
            continue
        one = Described(asked.name, asked.key[:-2], asked.description)
        if asked.role == "parent":
            found.problems += parent_problems(config, one, subject)
        else:
            mounts = [(key, peer.mount) for key, peer in asked.entries if isinstance(peer, Child)]
            found.problems += child_problems(one, mounts, subject)
        found.problems += listener_problems(config, one)


def _own_subject(tree: TreeSettings) -> str:
    """The subject of this gateway's certificate; empty if it cannot be read."""
    from cryptography.hazmat.primitives.serialization import Encoding

    assert tree.tls.certificate is not None
    try:
        certificate = read_certificates("certificate", tree.tls.certificate)[0]
        return subject_name(certificate.public_bytes(Encoding.DER))
    except (TlsError, UnreadableName):  # reported when the file was loaded, and when peers connect
        return ""


async def _look_elsewhere(
    config: Config,
    tree: TreeSettings,
    link: MakesLink,
    found: PeerFindings,
    described: list[Described],
) -> None:
    """Look up the mounts that the file names and that no peer has itself."""
    at_peers = {mount for one in described for mount in one.description.numbers}
    # If a child that has described itself lacks its mount, that was reported already.
    names = {one.name for one in described}
    at_peers |= {child.mount for child in tree.children if child.name in names}
    paths = [path for path in far_paths(config) if path not in at_peers]
    if not paths:
        return
    own = GatewayDescription.of_config(config).numbers
    with ExitStack() as links:
        ways: dict[str, PeerLink] = {}
        for peer in tree.peers:
            if peer.name not in ways:
                ways[peer.name] = link(peer, tree)
                links.callback(ways[peer.name].close)
        lookups = Lookups(
            config.gateway_id,
            Routes.of_config(config),
            ways,
            locations=Locations(
                expiry_seconds=tree.expiry_seconds, unknown_seconds=tree.unknown_seconds
            ),
            numbers=Numbers(own, settled=tree.numbers),
            max_hops=tree.max_hops,
        )
        questions = (_question(Kind.DESCRIBE, path, hops=tree.max_hops) for path in paths)
        answers = await asyncio.gather(*map(lookups.ask, questions))
    keys = _keys_of_paths(config)
    for path, answer in zip(paths, answers, strict=True):
        _note_elsewhere(config, found, path, keys.get(path, ("tree",)), answer)


def _keys_of_paths(config: Config) -> Mapping[str, Key]:
    """By path, the key where the file first names it."""
    keys: dict[str, Key] = {}
    for index, listener in enumerate(config.listeners):
        if listener.volume is not None:
            keys.setdefault(listener.volume, ("listeners", index, "volume"))
        for place, path in enumerate(listener.reach or ()):
            keys.setdefault(path, ("listeners", index, "reach", place))
    for index, child in enumerate(config.tree.children if config.tree is not None else ()):
        keys.setdefault(child.mount, ("tree", "children", index, "mount"))
    return keys


def _note_elsewhere(
    config: Config, found: PeerFindings, path: str, key: Key, answer: Answer
) -> None:
    shown = f"'{DELIMITER}{path}'"
    if answer.outcome is Outcome.NO_SUCH_MOUNT or (
        answer.outcome is Outcome.ANSWERED and answer.mount != path
    ):
        text = f"no gateway has a cluster at {shown}"
        if answer.outcome is Outcome.ANSWERED:
            text += f", which is a path in the one at '{DELIMITER}{shown_text(answer.mount, 249)}'"
        found.problems.append(Problem(key, f"{text}; correct it, or mount one there"))
        return
    if answer.outcome is not Outcome.ANSWERED:
        reason = shown_text(answer.text, MAX_TEXT).removesuffix(".") or answer.outcome.name
        text = f"what is at {shown} is not known: {reason}"
        found.warnings.append(Problem(key, f"{text}; check from a gateway that is nearer to it"))
        return
    way = tuple(shown_text(hop.gateway_id, 64) for hop in answer.hops)
    name = way[-1] if way else shown
    description = _read(found, name, key, answer)
    if description is not None:
        found.elsewhere.append(FoundMount(path, way, description))
        found.problems += listener_problems(config, Described(name, key, description))
