"""Error text: a broker's messages with logical names in place of flat ones.

A message may quote the name that the client requested, and other names ("collides with existing
topics: ..."). The gateway spells every flat name of a namespace as the view spells it, or withholds
it, and removes a home's prefix from group and transactional ids. It does so even if the topic does
not exist, because a client chooses much of the text that a broker quotes.
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

MAX_STRING = 32_767
"""Bytes of a string on the wire (int16 length; Java's generated writers check it for compact
strings, too)."""

_TOKEN = re.compile(rb"[a-zA-Z0-9._-]+")
_WITHHELD = b"(another topic)"
# Matched only where a word begins: a client chooses the quoted text and its length. Java writes
# an address as "host/10.0.0.1:9092", "/[::1]:9092" or "host/<unresolved>:9092".
_ADDRESS = re.compile(
    rb"(?<![a-zA-Z0-9._/-])"
    rb"(?:[a-zA-Z0-9._-]*/)?"
    rb"(?:[a-zA-Z0-9._-]*[a-zA-Z0-9_-]|<unresolved>|\[[0-9a-fA-F:.%a-z]+\]|(?<=/)[0-9a-fA-F]*:[0-9a-fA-F:.]*)"
    rb":\d{2,5}\b"
)
_NO_ADDRESS = b"(a broker)"
_PATH = re.compile(rb"(?<![a-zA-Z0-9._/:-])(?:/[a-zA-Z0-9._@+-]+){2,}/?")
_NO_PATH = b"(a path)"


_QUOTES = (b"'", b'"', b"`")
# "Topic 'a_b' collides with existing topic: a.b" (ReplicationControlManager)
_LISTED = re.compile(rb"\btopics?: ([^:]*)\Z")


@dataclass(frozen=True, slots=True)
class TextFacts:
    """The facts for the names in a text: ``shown`` returns the spelling of a flat name, or None if
    the client may not see it; ``asked`` holds the flat names of the request."""

    shown: Callable[[bytes], bytes | None]
    view: View
    asked: Container[bytes] = ()


def text_edits(spans: Sequence[Span], flexible: bool, facts: TextFacts) -> list[Edit]:
    """Edits for the error texts among ``spans``."""
    edits: list[Edit] = []
    for kind, start, stop, text in eased(spans):
        if kind == ERROR_TEXT and text:
            new = cut(restored(text, facts))
            if new != text:
                edits.append((start, stop, compact_string(new) if flexible else legacy_string(new)))
    return edits


def cut(text: bytes) -> bytes:
    """The text, or as much of it as Kafka's strings hold: names may be longer than flat names."""
    if len(text) <= MAX_STRING:
        return text
    return text[:MAX_STRING].decode(errors="ignore").encode()


def restored(text: bytes, facts: TextFacts) -> bytes:
    """The text with logical names in place of flat names. Addresses of brokers and paths of their
    files are withheld. It may be longer than Kafka's strings, see :func:`cut`."""
    pause_point()
    text = _PATH.sub(_NO_PATH, _ADDRESS.sub(_NO_ADDRESS, text))
    listed = _LISTED.search(text)
    names_from = len(text) if listed is None else listed.start(1)

    def one(match: re.Match[bytes]) -> bytes:
        token = match[0]
        # A name at the end of a sentence has the full stop in its token.
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
    """The replacement of a word; None if the word is no topic's name or does not change."""
    text = name.decode()
    entry = facts.view.snapshot.topics.get(text)
    # Hidden even if there is no such topic: the client may have written the name to find out.
    is_hidden = bool(decode(text).namespace) or is_listed
    # Any other word may be a topic's name by chance, so it has to be quoted like a name.
    is_moved = entry is not None and str(entry.name) != text
    if not (is_hidden or is_moved or (name in facts.asked and _is_quoted(match))):
        return None
    shown = facts.shown(name)
    return _WITHHELD if shown is None and is_hidden else shown


def _is_quoted(match: re.Match[bytes]) -> bool:
    text, start, stop = match.string, match.start(), match.end()
    quote = text[start - 1 : start]
    return quote in _QUOTES and text[stop : stop + 1] == quote
