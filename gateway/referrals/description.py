"""A gateway's place in the tree as JSON: the answer to a question of kind DESCRIBE.

It names no address and no principal. The reader ignores unknown keys, so that later gateways may
add keys. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from gateway.config.models import Config, Listener
from gateway.config.reach import reached_clusters
from gateway.foreign_text import shown_text

MAX_ITEMS: Final = 100_000
"""Items of a list in a description; no gateway has as many."""

_MOUNT: Final[tuple[tuple[str, type[Any]], ...]] = (
    ("mount", str),
    ("number", int),
    ("cluster", str),
)
_PEER: Final = ("name", "certificate")

MAX_CHARACTERS: Final = 4_096
"""Characters of a text in a description; the subjects of certificates are the longest."""


class UnreadableDescription(Exception):
    """The bytes are no description. The text is the reason and fits after ``the description ``."""


@dataclass(frozen=True, slots=True)
class DescribedListener:
    """A listener: ``volume`` and ``reach`` are mount paths, ``mechanisms`` its SASL mechanisms."""

    name: str
    volume: str
    reach: tuple[str, ...]
    spelling: str
    security_protocol: str
    mechanisms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribedMount:
    """A mount of the gateway's own: its number, and the name of the cluster."""

    mount: str
    number: int
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class DescribedPeer:
    """A parent, or with a ``mount`` a child. ``name`` is the gateway's name for the peer,
    ``certificate`` the subject of the peer's certificate."""

    name: str
    certificate: str
    mount: str | None = None


@dataclass(frozen=True, slots=True)
class GatewayDescription:
    """A gateway: its id, its own mounts, its neighbours, and the listeners to which clients of
    other gateways may be led, in the configuration's order."""

    gateway: str
    mounts: tuple[DescribedMount, ...]
    parents: tuple[DescribedPeer, ...] = ()
    children: tuple[DescribedPeer, ...] = ()
    listeners: tuple[DescribedListener, ...] = ()

    @property
    def numbers(self) -> dict[str, int]:
        """The path of each of the gateway's own mounts -> its number."""
        return {one.mount: one.number for one in self.mounts}

    @classmethod
    def of_config(cls, config: Config) -> GatewayDescription:
        """The description of the gateway with this configuration."""
        tree = config.tree
        children = () if tree is None else tree.children
        return cls(
            config.gateway_id,
            tuple(
                DescribedMount(cluster.mount, cluster.number, cluster.name)
                for cluster in config.clusters
                if cluster.mount is not None and cluster.number is not None
            ),
            tuple(
                DescribedPeer(parent.name, parent.subject)
                for parent in (() if tree is None else tree.parents)
            ),
            tuple(DescribedPeer(child.name, child.subject, child.mount) for child in children),
            tuple(_listener(config, one) for one in config.listeners if not _passes_through(one)),
        )

    def to_json(self) -> bytes:
        """The description as a peer reads it."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> GatewayDescription:
        """The description in these bytes. Raises UnreadableDescription."""
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            raise UnreadableDescription("is no JSON") from None
        return cls(
            _value(content, "gateway", str),
            tuple(
                DescribedMount(*(_value(one, key, kind) for key, kind in _MOUNT))
                for one in _items(content, "mounts")
            ),
            tuple(
                DescribedPeer(*(_value(one, key, str) for key in _PEER))
                for one in _items(content, "parents")
            ),
            tuple(
                DescribedPeer(*(_value(one, key, str) for key in (*_PEER, "mount")))
                for one in _items(content, "children")
            ),
            tuple(
                DescribedListener(
                    _value(one, "name", str),
                    _value(one, "volume", str),
                    _texts(one, "reach"),
                    _value(one, "spelling", str),
                    _value(one, "security_protocol", str),
                    _texts(one, "mechanisms"),
                )
                for one in _items(content, "listeners")
            ),
        )


def _passes_through(listener: Listener) -> bool:
    """Whether brokers authenticate the clients, so that this gateway does not know their rights."""
    return listener.sasl is not None and listener.sasl.pass_through


def _listener(config: Config, listener: Listener) -> DescribedListener:
    first = config.clusters[0].mount or ""
    volume = first if listener.volume is None else listener.volume
    near = (one.mount or "" for one in reached_clusters(config, listener))
    mechanisms: Sequence[str] = () if listener.sasl is None else listener.sasl.mechanisms
    return DescribedListener(
        listener.name,
        volume,
        tuple(dict.fromkeys((volume, *(near if listener.reach is None else listener.reach)))),
        listener.spelling,
        listener.security_protocol,
        tuple(mechanisms),
    )


def _value(content: object, key: str, kind: type[Any]) -> Any:
    value = content.get(key) if isinstance(content, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UnreadableDescription(f"lacks {key}, or has something else there")
    return _showable(value, key) if isinstance(value, str) else value


def _items(content: object, key: str) -> Iterator[object]:
    items = _value(content, key, list)
    if len(items) > MAX_ITEMS:
        raise UnreadableDescription(f"has over {MAX_ITEMS:,} {key}")
    return iter(items)


def _texts(content: object, key: str) -> tuple[str, ...]:
    texts = tuple(_items(content, key))
    if not all(isinstance(text, str) for text in texts):
        raise UnreadableDescription(f"has something else than text in {key}")
    return tuple(_showable(str(text), key) for text in texts)


def _showable(text: str, key: str) -> str:
    if shown_text(text, MAX_CHARACTERS) != text:
        text = f"has over {MAX_CHARACTERS:,} characters in {key}, or some that cannot be shown"
        raise UnreadableDescription(text)
    return text
