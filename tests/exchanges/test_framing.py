"""gateway.exchanges.framing: bytes that wait for more, and long frames in pieces."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gateway.exchanges import framing
from gateway.exchanges.framing import ALL, LONG, SMALL, Held, pieces_of, write_frame
from protocol.splice import splice


@pytest.mark.parametrize("wanted", [100, LONG + 100, ALL])
def test_what_is_held_comes_whole(wanted: int) -> None:
    """Of any length, and in any pieces."""
    held = Held()
    held.keep(b"first ", wanted)
    seen = b"first "
    size = min(wanted, LONG + 100)
    while len(seen) < size:
        assert len(held) == len(seen)
        piece = bytes([len(seen) & 255]) * min(33_333, size - len(seen))
        seen += piece
        joined = held.join(piece)
        assert joined == (seen if len(seen) >= wanted else None)
    if wanted == ALL:
        assert held.take() == seen
    assert (len(held), held.take(), held.join(b"next")) == (0, b"", b"next")


def test_pieces_are_what_a_splice_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long parts are views of the bytes that came, short parts are joined."""
    monkeypatch.setattr(framing, "JOINED", 64)
    buf = bytes(range(256)) * 300
    edits = [(at, at + 3, b"new" * (at % 5)) for at in (4, 10, 13, 300, 40_000, 40_050, 76_000)]
    pieces = pieces_of(buf, 2, len(buf) - 2, edits)
    assert b"".join(pieces) == splice(buf, 2, len(buf) - 2, edits)
    assert sum(isinstance(piece, memoryview) for piece in pieces) == 2
    assert b"".join(pieces_of(buf, 0, len(buf), [])) == buf


def test_long_parts_between_edits_are_not_copied() -> None:
    buf = bytes(4) + bytes(100_000)
    out: list[framing.Buffer] = []
    edits = [(50_000, 50_001, b"xy"), (90_000, 90_001, b"")]
    assert write_frame(out, buf, 0, len(buf), len(buf), edits) == 0
    assert b"".join(out)[4:] == splice(buf, 4, len(buf), edits)
    assert sum(isinstance(piece, memoryview) for piece in out) == 2


@pytest.mark.parametrize(
    ("wanted", "counted"), [(SMALL, False), (SMALL + 1, True), (LONG + 100, True)]
)
def test_what_is_held_of_a_long_frame_is_told(wanted: int, counted: bool) -> None:
    held = Held()
    changes: list[int] = []
    held.watcher = SimpleNamespace(holds_more=changes.append)
    held.keep(b"first", wanted)
    held.join(b"second")
    assert changes == ([5, 6] if counted else [])
    held.take()
    assert sum(changes) == 0
    held.keep(b"again", wanted)
    held.join(bytes(LONG + 100))
    held.take()
    assert sum(changes) == 0
    assert changes == ([5, 6, -11, 5, -5] if counted else [])


@pytest.mark.parametrize("first", [b"first", bytes(SMALL + 1)])
def test_what_waits_to_be_decided_is_told_once_it_is_long(first: bytes) -> None:
    held = Held()
    changes: list[int] = []
    held.watcher = SimpleNamespace(holds_more=changes.append)
    held.keep(first, ALL)
    assert sum(changes) == (0 if len(first) <= SMALL else len(first))
    held.join(b"second")
    assert sum(changes) == (0 if len(held) <= SMALL else len(held))
    held.join(bytes(SMALL))
    assert sum(changes) == len(held) == len(first) + 6 + SMALL
    held.join(b"third")
    assert sum(changes) == len(held)
    held.take()
    assert sum(changes) == 0
