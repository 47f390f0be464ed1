"""Decisions about the catalog's signatures: signing all of it, signing none of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gateway.catalog.entities import Change, Signing
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Decide

SIGNING_FORMAT: Final = 2
"""The format that a catalog needs before it can be signed."""


def signed(snapshot: Snapshot, key_id: str) -> list[Change]:
    """All that there is, written once more and signed with this key.

    The key is announced first, so that a gateway that lacks it stops there. What makes the rest
    count for nothing comes last: should part of it be lost, nothing has changed.
    """
    entities = [one for one in snapshot.entities() if not isinstance(one, Signing)]
    return [Signing(key_id), *entities, Signing(key_id, whole=True)]


def sign_all(key_id: str) -> Decide:
    """From now on nothing counts that is not signed; all that there is is signed with this key."""

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        return signed(snapshot, key_id)

    return decide


def sign_nothing(snapshot: Snapshot) -> Sequence[Change]:
    """From now on records need not be signed; nothing to write if they need not be already."""
    return [Signing("")] if snapshot.signing else []
