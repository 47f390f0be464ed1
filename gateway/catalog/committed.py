"""What a writer has committed, entity by entity, and on whose behalf: for whoever keeps account."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, TypeAlias

from gateway.catalog.entities import Change, Entity, Key, Removal, key_of
from gateway.catalog.schema import kind_of
from gateway.catalog.snapshot import Snapshot
from protocol.pausing import paced


@dataclass(frozen=True, slots=True)
class Committed:
    """One entity that a decision of this process has changed, made or removed.

    ``before`` and ``after`` are its states, None where it did not exist. ``version`` is the
    catalog's after it. ``certain``: it is known to be written; False: the cluster was lost before
    it said so, and nobody was there to wait until it could be asked.
    """

    actor: Actor
    key: Key
    before: Entity | None
    after: Entity | None
    version: int
    certain: bool = True


Observer: TypeAlias = Callable[[Sequence[Committed]], None]
"""Told of each transaction once. Belongs to the writer's event loop, and must not wait."""


def committed(actor: Actor, state: Snapshot, changes: Sequence[Change]) -> Iterator[Committed]:
    """What a decision on ``state`` changes; what it writes as it was before is left out."""
    seen: dict[Key, Entity | None] = {}
    for version, change in paced(enumerate(changes, state.version + 1)):
        key = key_of(change)
        before = seen[key] if key in seen else state.entity(key)
        after = seen[key] = None if isinstance(change, Removal) else kind_of(change).lasting(change)
        if before != after:
            yield Committed(actor, key, before, after, version)


@dataclass(frozen=True, slots=True)
class Actor:
    """A client whose request is served, or the gateway itself.

    ``principal`` is ``User:alice``; the gateway's own are ``gateway``, ``gateway:`` and the kind of
    a background task, and ``operator:`` and the login of who runs a command. ``address`` is
    ``host:port`` of the client; ``api`` Kafka's name of the request, or the command. All but
    ``principal`` may be empty.
    """

    principal: str
    address: str = ""
    listener: str = ""
    client_id: str = ""
    api: str = ""


GATEWAY: Final = Actor("gateway")
"""What nobody asked for, such as a gateway that registers when it starts."""

ACTOR: Final[ContextVar[Actor]] = ContextVar("ACTOR", default=GATEWAY)
