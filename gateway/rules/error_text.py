"""Error text: a broker's messages with logical names in place of flat ones.

A message may hold the name that the client requested, and others ("collides with existing topics:
..."). Every word that is a flat name of a namespace is spelled as this view spells it, or withheld;
a home's prefix is taken off group and transactional ids. Whether a topic exists makes no
difference: a client chooses much of what a broker quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
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


_QUOTES = (b"'", b'"', b"`")
# "Topic 'a_b' collides with existing topic: a.b" (ReplicationControlManager)
_LISTED = re.compile(rb"\btopics?: ([^:]*)\Z")


@dataclass(frozen=True, slots=True)
class TextFacts:
    """The facts to read a text by: ``shown`` spells a flat name, None hides it; ``asked`` are the
    flat names of the request."""

    shown: Callable[[bytes], bytes | None]
    view: View
    asked: Container[bytes] = ()


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
    text = _ADDRESS.sub(_NO_ADDRESS, text)
    listed = _LISTED.search(text)
    names_from = len(text) if listed is None else listed.start(1)

    def one(match: re.Match[bytes]) -> bytes:
        token = match[0]
        # A name at a sentence's end has the full stop in its token.
        for name, rest in ((token, b""), (token.rstrip(b"."), b"." * token.endswith(b"."))):
            new = _restored_name(name, match, facts, is_listed=match.start() >= names_from)
            if new is not None:
                return new + rest
        prefix = facts.view.id_prefix
        return token[len(prefix) :] if prefix and token.startswith(prefix) else token

    return _TOKEN.sub(one, text)


def _restored_name(
    name: bytes, match: re.Match[bytes], facts: TextFacts, *, is_listed: bool
) -> bytes | None:
    """The replacement of a word; None if it is no topic's name, or stays as it is."""
    text = name.decode()
    entry = facts.view.snapshot.topics.get(text)
    # Whether or not there is such a topic: the client may have written it to find out.
    is_hidden = bool(decode(text).namespace) or is_listed
    # Any other word could be a topic's name as well, so it has to stand like one.
    is_moved = entry is not None and str(entry.name) != text
    if not (is_hidden or is_moved or (name in facts.asked and _is_quoted(match))):
        return None
    shown = facts.shown(name)
    return _WITHHELD if shown is None and is_hidden else shown


def _is_quoted(match: re.Match[bytes]) -> bool:
    text, start, stop = match.string, match.start(), match.end()
    quote = text[start - 1 : start]
    return quote in _QUOTES and text[stop : stop + 1] == quote
