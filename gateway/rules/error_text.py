"""Error text: what a broker says of a flat name is said to the client of its logical name.

A broker's message may hold the name the client asked for, and others besides ("collides with
existing topics: ..."). Whatever in it spells a topic of a namespace is spelled as this view
spells it, or withheld; a home's prefix is taken off group and transactional ids. It makes no
difference which topics exist: a client chooses much of what a broker quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.names import decode
from gateway.views.view import View
from protocol.entities import Kind
from protocol.pausing import eased, pause_point
from protocol.primitives import compact_string, legacy_string
from protocol.splice import Edit
from protocol.walkers import Span

ERROR_TEXT = int(Kind.ERROR_TEXT)
_TOKEN = re.compile(rb"[a-zA-Z0-9._-]+")
_WITHHELD = b"(another topic)"
# Tried where a word begins and nowhere in it: a client chooses what a broker quotes, and how long.
_ADDRESS = re.compile(rb"(?<![a-zA-Z0-9._-])[a-zA-Z0-9._-]*[a-zA-Z0-9_-]:\d{2,5}\b")
_NO_ADDRESS = b"(a broker)"


@dataclass(frozen=True, slots=True)
class TextFacts:
    """What a text is read by: ``shown`` spells a flat name, None hides it."""

    shown: Callable[[bytes], bytes | None]
    view: View


def text_edits(spans: Sequence[Span], flexible: bool, facts: TextFacts) -> list[Edit]:
    """Edits for the error texts among ``spans``."""
    edits: list[Edit] = []
    for kind, start, stop, text in eased(spans):
        if kind == ERROR_TEXT and text:
            new = restored(text, facts)
            if new != text:
                edits.append((start, stop, compact_string(new) if flexible else legacy_string(new)))
    return edits


def restored(text: bytes, facts: TextFacts) -> bytes:
    """The text in logical names. Addresses in it are withheld."""
    pause_point()
    shown, prefix = facts.shown, facts.view.id_prefix

    def one(match: re.Match[bytes]) -> bytes:
        token = match[0]
        # A name at a sentence's end has the full stop in its token.
        for name, rest in ((token, b""), (token.rstrip(b"."), b"." * token.endswith(b"."))):
            found = shown(name)
            if found not in (None, name):
                return found + rest
            # Whether or not there is such a topic: the client may have written it to find out.
            if found is None and decode(name.decode()).namespace:
                return _WITHHELD + rest
        if prefix and token.startswith(prefix):
            return token[len(prefix) :]
        return token

    return _TOKEN.sub(one, _ADDRESS.sub(_NO_ADDRESS, text))
