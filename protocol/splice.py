"""Splice: a body with some of its fields replaced and every enclosing size corrected.

Replacing a string changes no other length in a Kafka body, except the sizes of the tagged fields
around it; the caller makes the frame.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from protocol.pausing import FEW, LONG, joined, paced
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
    content, end of its content). A size is written anew if the content's length has changed.
    """
    if sized:
        edits = sorted([*edits, *_size_edits(edits, sized)])
    many = len(edits) > FEW
    long = end - start > LONG
    source = memoryview(buf) if long else buf
    parts: list[bytes | memoryview] = []
    pos = start
    for at, stop, new in paced(edits) if many else edits:
        parts.append(source[pos:at])
        parts.append(new)
        pos = stop
    parts.append(source[pos:end])
    return joined(parts) if many or long else b"".join(parts)


def _size_edits(edits: Sequence[Edit], sized: Sequence[tuple[int, int, int]]) -> list[Edit]:
    """The edits of the sizes themselves. Innermost fields come first, because a size that grows by
    a byte makes the fields around it grow too."""
    at = [start for start, _, _ in edits]
    longer = list(accumulate((len(new) - (stop - start) for start, stop, new in edits), initial=0))
    found: list[Edit] = []
    # (position of a size, growth of it and of the sizes in its field); inner fields come first.
    inner: list[tuple[int, int]] = []
    for size_at, content, content_end in paced(sorted(sized, reverse=True)):
        grown = 0
        while inner and inner[-1][0] < content_end:
            grown += inner.pop()[1]
        change = longer[bisect_left(at, content_end)] - longer[bisect_left(at, content)] + grown
        if change:
            new = write_uvarint(content_end - content + change)
            found.append((size_at, content, new))
            grown += len(new) - (content - size_at)
        inner.append((size_at, grown))
    return found
