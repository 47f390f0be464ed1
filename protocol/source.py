"""The text of one generated function: lines, indentation, and where in the bytes it stands.

The position in generated code is ``pos`` plus a distance known while generating, so that a run of
fixed-size fields costs one addition, which the next length's own addition often takes in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from protocol.kinds import Kind

PAUSE_MASK: Final = 127
"""A paced loop pauses at each index that has none of these bits."""


class Source:
    """``end`` names the variable that holds where the bytes end: the body's end, or that of the
    tagged field whose content is being walked. ``structs`` collects the ``struct`` formats used:
    format -> name of its ``unpack_from``; functions of one module share it. The loops of one that
    is ``paced`` have pause points (``protocol.pausing``)."""

    def __init__(self, structs: dict[str, str], paced: bool = False) -> None:
        self.lines: list[str] = []
        self.end = "end"
        self._structs = structs
        self._paced = paced
        self._indent = 2
        self._ahead = 0
        self._checked = False

    def line(self, text: str) -> None:
        """Add a line at the present indentation."""
        self.lines.append("    " * self._indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add ``head``; the lines inside are indented under it. The position at its end must
        stand in ``pos``; what has been checked before holds no longer after it."""
        self.line(head)
        self._indent += 1
        checked = self._checked
        yield
        self.settle()
        self._indent -= 1
        self._checked = checked and self._checked

    @contextmanager
    def loop(self) -> Iterator[None]:
        """A block that is done ``n`` times. The number gets a name of its own, since the lines
        inside change ``n`` and compiled code looks at the end of a range again each time."""
        times, turn = f"n_{self._indent}", f"i_{self._indent}" if self._paced else "_"
        self.line(f"{times} = n")
        with self.block(f"for {turn} in range({times}):"):
            if self._paced:
                self.line(f"if not {turn} & {PAUSE_MASK}:")
                self.line("    pause_point()")
            yield

    def at(self, distance: int = 0) -> str:
        """The expression for the present position, or for one ``distance`` bytes further."""
        ahead = self.ahead(distance)
        return f"pos + {ahead}" if ahead else "pos"

    def ahead(self, distance: int = 0) -> int:
        """What must be added to ``pos`` to stand ``distance`` bytes further than now."""
        return self._ahead + distance

    def advance(self, distance: int) -> None:
        """Pass bytes whose number is known now."""
        if distance:
            self._ahead += distance
            self._checked = False

    def landed(self) -> None:
        """``pos`` alone is the present position, and it may be past the end."""
        self._ahead = 0
        self._checked = False

    def settle(self) -> None:
        """Make ``pos`` alone the present position."""
        if self._ahead:
            self.line(f"pos += {self._ahead}")
            self._ahead = 0

    def check(self, distance: int = 0) -> None:
        """Refuse a position, or one ``distance`` bytes further, that is past the end."""
        if distance or not self._checked:
            self.line(f"if {self.at(distance)} > {self.end}:")
            self.line("    raise TruncatedError(EARLY)")
        if not distance:
            self._checked = True

    def assume_checked(self, checked: bool = True) -> None:
        """Say that what was just generated keeps the position before the end, or does not."""
        self._checked = checked

    def emit(self, kind: Kind, start: str, stop: str, value: str) -> None:
        """Append a span."""
        self.line(f"out.append(({int(kind)}, {start}, {stop}, {value}))")

    def unpack(self, fmt: str) -> str:
        """The name of ``unpack_from`` for a format."""
        return self._structs.setdefault(fmt, f"unpack_{len(self._structs)}")

    def function(self, name: str) -> list[str]:
        """The whole function's lines."""
        self.settle()
        self.check()
        self.line("return pos")
        return [
            f"def {name}(buf: bytes, pos: int, end: int, out: list[Span]) -> int:",
            "    n: int",  # what struct unpacks is of no type that a compiler could use
            "    try:",
            *self.lines,
            "    except (IndexError, StructError):",
            "        raise TruncatedError(EARLY) from None",
        ]
