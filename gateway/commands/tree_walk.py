"""The mounts of other gateways, for ``kafka-gateway tree --all``.

The configuration names peers and mounts. Each peer describes itself, and names further mounts;
each of these is looked up once, and its gateway describes itself in turn, until no new mount is
named. If a gateway describes a mount to which it is not the way, the description is not trusted;
the mount is looked up as well.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from gateway.commands.asking import Asker
from gateway.commands.output import Progress, counted
from gateway.config.models import Config
from gateway.config.reach import far_paths
from gateway.config.tree import Peer
from gateway.foreign_text import shown_text
from gateway.mounts import MAX_NUMBER
from gateway.names import DELIMITER, MAX_FLAT_LENGTH, InvalidName, check_namespace
from gateway.referrals.description import GatewayDescription, UnreadableDescription
from gateway.referrals.peer_link import PeerUnreachable
from gateway.referrals.questions import MAX_TEXT, Answer, Kind, Outcome
from gateway.referrals.routing import Ways

SECONDS: Final = 60.0
"""Seconds for the whole walk."""

MOST: Final = MAX_NUMBER
"""Maximum number of paths that are looked up; a tree has no more mounts."""

AT_ONCE: Final = 16
"""Maximum number of queries in flight."""

MAX_WARNINGS: Final = 100
"""Further warnings are left out, because gateways may report anything."""

_MAX_ID: Final = 64


@dataclass(frozen=True, slots=True)
class FarMount:
    """A mount of another gateway, or a path that should be a mount."""

    path: str
    gateway: str = ""
    """The id of the gateway that has the mount."""
    cluster: str = ""
    number: int | None = None
    way: tuple[str, ...] = ()
    """The ids of the gateways that the query passed, the mount's own gateway last."""
    failure: str = ""
    """The reason why nothing is known of the mount; empty if the mount is known."""

    @property
    def counted(self) -> bool:
        """False, because only the mount's own gateway reports topics and sizes."""
        return False

    def text(self) -> str:
        """The state in a few words."""
        return self.failure or f"gateway {self.gateway}: cluster {self.cluster}"

    def as_json(self) -> dict[str, object]:
        """The state as JSON."""
        return {
            "cluster": self.cluster or None,
            "mount": DELIMITER + self.path,
            "number": self.number,
            "reachable": not self.failure,
            "failure": self.failure or None,
            "gateway": self.gateway or None,
            "way": list(self.way),
        }


class Walked(NamedTuple):
    """The result of a walk: mounts of other gateways, and warnings about the
    gateways on the way."""

    mounts: Sequence[FarMount]
    warnings: Sequence[str]


async def walk(
    config: Config, asker: Asker, progress: Progress, seconds: float = SECONDS
) -> Walked:
    """Find the mounts of all other gateways of a tree, within ``seconds``."""
    walker = _Walker(config, asker, progress)
    try:
        async with asyncio.timeout(seconds):
            await walker.run()
    except TimeoutError:
        return walker.walked(f"not known: the walk ended after {seconds:g} s")
    return walker.walked()


class _Walker:
    """A walk through the gateways of a tree."""

    def __init__(self, config: Config, asker: Asker, progress: Progress) -> None:
        self._config = config
        self._asker = asker
        self._progress = progress
        self._own = GatewayDescription.of_config(config).numbers
        self._mounts: dict[str, FarMount] = {}
        self._numbers = {number: mount for mount, number in self._own.items()}
        self._named: dict[str, str] = {}  # path -> the source that names it as a mount
        self._seen: set[str] = set()  # paths that were queued
        self._queue: deque[str] = deque()
        self._left_out = 0
        self._failures: dict[str, str] = {}
        self._unanswered: dict[str, str] = {}
        self._warnings: dict[str, None] = {}

    async def run(self) -> None:
        """Query until no new mount is named."""
        for path in far_paths(self._config):
            self._name(path, "the configuration")
        await asyncio.gather(*map(self._describe, self._asker.peers))
        while batch := self._next():
            self._report()
            await asyncio.gather(*map(self._look_up, batch))

    def walked(self, ended: str = "") -> Walked:
        """The mounts found so far. ``ended`` is the state of mounts that were not looked up."""
        missing = [path for path in self._named if path not in self._mounts]
        failed = [FarMount(path, failure=self._failures.get(path, ended)) for path in missing]
        for path, failure in self._unanswered.items():
            if path not in self._named and path not in self._mounts:
                self._warn(f"what is at '{_at(path)}' is {failure}")
        if self._left_out:
            self._warn(f"{self._left_out:,} more names of mounts were left out")
        return Walked([*self._mounts.values(), *failed], list(self._warnings))

    # -- queries -----------------------------------------------------------------------------------

    async def _describe(self, peer: Peer) -> None:
        try:
            answer = await self._asker.describe(peer)
        except PeerUnreachable as error:
            reason = shown_text(error.reason or error, MAX_TEXT)
            self._warn(f"gateway '{peer.name}' does not describe itself: {reason}")
            return
        found = self._read(answer)
        if isinstance(found, str):
            self._warn(f"gateway '{peer.name}' does not describe itself: {found}")
            return
        self._learn(found, frozenset({peer.name}), (found.gateway,))

    def _next(self) -> list[str]:
        """The next paths that still have to be looked up, taken from the queue."""
        batch: list[str] = []
        while self._queue and len(batch) < AT_ONCE:
            path = self._queue.popleft()
            if path not in self._mounts:
                batch.append(path)
        return batch

    async def _look_up(self, path: str) -> None:
        answer = await self._asker.ask(Kind.DESCRIBE, path)
        found = self._read(answer)
        if isinstance(found, str):
            if answer.outcome is Outcome.NO_SUCH_MOUNT:
                self._failures[path] = f"no cluster is mounted here{self._by(path)}"
            else:
                self._failures[path] = self._unanswered[path] = f"not known: {found}"
            return
        way = tuple(shown_text(hop.gateway_id, _MAX_ID) for hop in answer.hops[1:])
        self._learn(found, self._peers(path), way or (found.gateway,))
        if path not in self._mounts:
            text = f"no cluster is mounted here{self._by(path)}: it is in '{_at(answer.mount)}'"
            self._failures[path] = f"{text} of gateway {found.gateway}"

    def _read(self, answer: Answer) -> GatewayDescription | str:
        """The description in an answer, or the reason why there is no description."""
        if answer.outcome is not Outcome.ANSWERED:
            return shown_text(answer.text, MAX_TEXT).removesuffix(".") or answer.outcome.name
        try:
            return GatewayDescription.from_json(answer.response)
        except UnreadableDescription as error:
            return f"its description {error}"

    # -- descriptions by gateways ------------------------------------------------------------------

    def _learn(self, said: GatewayDescription, peers: frozenset[str], way: tuple[str, ...]) -> None:
        """Record a gateway's description of itself, which came by way of any of these peers."""
        who = f"gateway '{said.gateway}'"
        for one in said.mounts:
            if one.mount in self._own:
                if said.gateway != self._config.gateway_id:
                    self._warn(f"{who} has '{_at(one.mount)}', too, which is this gateway's own")
            elif not _is_path(one.mount) or not peers & self._peers(one.mount):
                self._name(one.mount, who)
            elif one.mount not in self._mounts:
                self._mounts[one.mount] = FarMount(
                    one.mount, said.gateway, one.cluster, one.number, way
                )
                other = self._numbers.setdefault(one.number, one.mount)
                if other != one.mount:
                    self._warn(
                        f"'{_at(one.mount)}' of {who} has the number {one.number}, as "
                        f"'{_at(other)}' has: clients find one of them; give each its own"
                    )
            if said.parents and one.mount:
                self._want(one.mount.rpartition(DELIMITER)[0])  # perhaps no gateway names this path
        for child in said.children:
            self._name(child.mount or "", who)
        for listener in said.listeners:
            for path in (listener.volume, *listener.reach):
                self._name(path, who)
        self._report()

    def _peers(self, path: str) -> frozenset[str]:
        """The peers that are the way to a path; empty if the path is this gateway's own."""
        way = self._asker.routes.of(path)
        return frozenset(way.peers if isinstance(way, Ways) else ())

    def _name(self, path: str, by: str) -> None:
        """Record that ``by`` names a path as a mount."""
        if path in self._own:
            return
        if not _is_path(path):
            self._warn(f"{by} names a mount that is no path: '{shown_text(path, MAX_TEXT)}'")
        elif self._want(path):
            self._named.setdefault(path, by)

    def _by(self, path: str) -> str:
        return f", though {self._named[path]} names it" if path in self._named else ""

    def _want(self, path: str) -> bool:
        """Queue a path, unless it was queued before; returns False if there are too many paths."""
        if path in self._own or path in self._seen:
            return True
        if len(self._seen) >= MOST:
            self._left_out += 1
            return False
        self._seen.add(path)
        self._queue.append(path)
        return True

    def _warn(self, text: str) -> None:
        if len(self._warnings) < MAX_WARNINGS:
            self._warnings[text] = None

    def _report(self) -> None:
        found = counted(len(self._mounts), "mount")
        waiting = len(self._queue)
        self._progress.text = f"{found} of other gateways found, {waiting:,} to look up"


def _is_path(path: str) -> bool:
    """Whether a mount can be at a path; the root is such a path."""
    if len(path) > MAX_FLAT_LENGTH:
        return False
    try:
        if path:
            check_namespace(path)
    except InvalidName:
        return False
    return True


def _at(path: str) -> str:
    return DELIMITER + path
