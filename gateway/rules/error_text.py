"""Error text: what a broker says of a flat name is said to the client of its logical name.

A broker's message may hold the name the client asked for, and others besides ("collides with
existing topics: ..."). Whatever in it is a topic of the cluster is spelled as this view spells
it, or withheld; a home's prefix is taken off group and transactional ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gateway.topic_ids import TopicIndex
from gateway.view import View
from protocol.entities import Kind
from protocol.primitives import compact_string, legacy_string
from protocol.splice import Edit
from protocol.walkers import Span

ERROR_TEXT = int(Kind.ERROR_TEXT)
_TOKEN = re.compile(rb"[a-zA-Z0-9._-]+")
_WITHHELD = b"(another topic)"
_ADDRESS = re.compile(rb"[a-zA-Z0-9._-]*[a-zA-Z0-9_-]:\d{2,5}\b")
_NO_ADDRESS = b"(a broker)"


def text_edits(
    spans: Sequence[Span],
    shown: Callable[[bytes], bytes | None],
    view: View,
    index: TopicIndex,
    flexible: bool,
) -> list[Edit]:
    """Edits for the error texts among ``spans``; ``shown`` spells a flat name, None hides it."""
    edits: list[Edit] = []
    for kind, start, stop, text in spans:
        if kind == ERROR_TEXT and text:
            new = restored(text, shown, view, index)
            if new != text:
                edits.append((start, stop, compact_string(new) if flexible else legacy_string(new)))
    return edits


def restored(
    text: bytes, shown: Callable[[bytes], bytes | None], view: View, index: TopicIndex
) -> bytes:
    """The text in logical names. Addresses in it are withheld."""

    def one(match: re.Match[bytes]) -> bytes:
        token = match[0]
        # A name at a sentence's end has the full stop in its token.
        for name, rest in ((token, b""), (token.rstrip(b"."), b"." * token.endswith(b"."))):
            if index.exists(name) or shown(name) not in (None, name):
                found = shown(name)
                return (_WITHHELD if found is None else found) + rest
        if view.id_prefix and token.startswith(view.id_prefix):
            return token[len(view.id_prefix) :]
        return token

    return _TOKEN.sub(one, _ADDRESS.sub(_NO_ADDRESS, text))
