"""Splice: a body with some of its fields replaced and every enclosing size made right.

Replacing a string changes no other length in a Kafka body, except the sizes of the tagged
fields around it; frames are the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.primitives import write_uvarint

Edit = tuple[int, int, bytes]
"""(start, stop, new): ``new`` in place of ``buf[start:stop]``."""


def splice(
    buf: bytes,
    start: int,
    end: int,
    edits: Sequence[Edit],
    sized: Sequence[tuple[int, int, int]] = (),
) -> bytes:
    """``buf[start:end]`` with ``edits`` made, which are sorted by position and do not overlap.

    ``sized`` are the SIZED spans of the same walk: (start of a tagged field's size, start of its
    content, end of its content). A size is written anew where the content's length changed.
    """
    if sized:
        edits = sorted([*edits, *_size_edits(edits, sized)])
    parts: list[bytes] = []
    pos = start
    for at, stop, new in edits:
        parts.append(buf[pos:at])
        parts.append(new)
        pos = stop
    parts.append(buf[pos:end])
    return b"".join(parts)


def _size_edits(edits: Sequence[Edit], sized: Sequence[tuple[int, int, int]]) -> list[Edit]:
    """The edits of the sizes themselves. Innermost fields come first, since a size that grows by
    a byte makes the fields around it grow too."""
    found: list[Edit] = []
    for size_at, content, content_end in sorted(sized, reverse=True):
        change = sum(
            len(new) - (stop - at)
            for at, stop, new in [*edits, *found]
            if content <= at and stop <= content_end
        )
        if change:
            found.append((size_at, content, write_uvarint(content_end - content + change)))
    return found
