"""Regular expressions of clients over names, in RE2's syntax as on a broker.

Brokers evaluate expressions over topics (KIP-848) and over transactional ids (KIP-1152) by RE2/J,
and over all names of the cluster; the gateway evaluates them over the client's own names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from time import thread_time
from typing import Final, TypeVar

import re2

from protocol.pausing import pause_point

T = TypeVar("T")

MAX_STEPS: Final = 500_000
"""Bytes of a text times instructions of an expression that are matched without a look at the time:
RE2 takes up to 5 ns a step (measured), so 2.5 ms."""

MAX_MATCH_SECONDS: Final = 0.0025
"""CPU seconds that matching the beginning of a longer text may take, so that ``MAX_STEPS`` more
end in a turn of 5 ms. Most expressions visit few of their instructions for a byte: hundreds of
names with ``|`` between them take microseconds."""

LEAST_INSTRUCTIONS: Final = 100
"""A smaller expression counts as so many instructions: 16 of them took 94 ns a byte."""

MAX_SECONDS: Final = 1.0
"""CPU seconds that all matches of one request may take: 100,000 names take an ordinary expression
0.2."""

MAX_COMPILED_BYTES: Final = 1 << 20
"""Bytes of a compiled expression: an expression that would take more is rejected."""

MAX_REPEATED_BYTES: Final = 1 << 18
"""Bytes of a compiled expression with repetitions, because matching a name may visit all of
them; ``MAX_STEPS`` bounds the time."""

MAX_REPETITIONS: Final = 500
"""The most ``*``, ``+``, ``?``, ``{`` and ``[`` in an expression. RE2 takes up to a second to
compile twenty times as many, and the time to match a name grows with each of them."""

MAX_UNICODE_CLASSES: Final = 6
"""The most classes like ``\\pL`` in an expression. Each stands for hundreds of ranges, which take
0.4 ms: RE2 took seconds and 300 MB to parse ten thousand of them, whatever the limit of the
compiled expression."""

MAX_WEIGHT: Final = 32_767
"""The most that an expression weighs: as much as the longest name that a request can hold. RE2
takes 0.15 microseconds to compile a unit of weight, a byte of a name, so all of them take 5 ms."""

MAX_DEPTH: Final = 250
"""The most groups within each other: the time to compile grows with the square of their number."""

CHARACTER_WEIGHTS: Final = {".": 16, "[": 32, "(": 1, "|": 1, "{": 150}
ESCAPE_WEIGHTS: Final = (
    dict.fromkeys("wds", 8) | dict.fromkeys("WDS", 24) | dict.fromkeys("pP", 2_000)
)
"""Weights, besides their bytes, of classes, of alternatives, of counted repetitions, and of groups,
which are counted below."""

MAX_OPTIONAL: Final = 1_500
"""The optional copies that counted repetitions like ``{0,9}`` make, from which on the compiled
expression has to be small. RE2 joins repetitions of the same beside each other and looks from each
copy at all that follow, so its time grows with their square: 1.1 ms for 1,000, and 62 ms
for 8,000, which fit in ``MAX_REPEATED_BYTES``."""

MAX_OPTIONAL_BYTES: Final = 3 << 14
"""Bytes, then, of the compiled expression, in which 2,000 optional copies fit: 4.4 ms."""

OPTIONAL_SQUARE: Final = 136
"""The square of the number of optional copies that weighs one: 0.15 microseconds."""

FOLDED_WEIGHT: Final = 3
"""Times that an expression weighs more if it ignores case, anywhere in it."""

FOLDED_FURTHER: Final = dict.fromkeys("kKsS", 24)
"""Weights, then, of the letters that stand for a character beyond ASCII, too: the Kelvin sign, the
long s."""


class InvalidRegex(Exception):
    """RE2 cannot parse the expression, or the expression costs too much; the text says why."""


class CostsTooMuch(InvalidRegex):
    """Matching the texts of a request would take too long; the text says why."""


class NameRegex:
    """A compiled expression over topic names or ids. Matching takes time linear in the name and in
    the expression. Neither matching nor compiling can be interrupted, so an expression that would
    take long is rejected, and so is a text that it would take long to match. Raises InvalidRegex.
    """

    __slots__ = ("_compiled", "longest")

    def __init__(self, pattern: str) -> None:
        optional = _optional_copies(pattern)
        repetitions = _check_cost(pattern, optional)
        options = re2.Options()
        options.log_errors = False
        options.max_mem = MAX_REPEATED_BYTES if repetitions else MAX_COMPILED_BYTES
        if optional > MAX_OPTIONAL:
            options.max_mem = MAX_OPTIONAL_BYTES
        # Groups are not used, and capturing them would slow down each step of a match.
        options.never_capture = True
        try:
            self._compiled = re2.compile(pattern, options=options)
        except (re2.error, UnicodeError) as error:
            raise InvalidRegex(_text(error)) from error
        self.longest = MAX_STEPS // max(self.instructions, LEAST_INSTRUCTIONS)
        """Bytes of the longest text that is matched without a look at the time."""

    @property
    def instructions(self) -> int:
        """The instructions of the compiled expression: matching may visit all of them for each byte
        of a name."""
        return int(self._compiled.programsize)

    def matches(self, text: bytes) -> bool:
        """Whether the whole expression matches a text in UTF-8 of ``longest`` bytes at most. Raises
        CostsTooMuch for a longer one."""
        if len(text) > self.longest:
            raise CostsTooMuch(f"matching {len(text):,} bytes takes too long")
        return self._compiled.fullmatch(text) is not None

    def matching(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names that the whole expression matches, in their order. Raises CostsTooMuch."""
        return tuple(self.keys_of((name, name.encode(errors="replace")) for name in names))

    def keys_of(
        self, texts: Iterable[tuple[T, bytes]], clock: Callable[[], float] = thread_time
    ) -> list[T]:
        """The keys of the texts that the whole expression matches, in their order. ``clock``
        returns CPU seconds since any fixed point. Raises CostsTooMuch. May take several slices."""
        fullmatch, longest = self._compiled.fullmatch, self.longest
        left, found = MAX_SECONDS, []
        for key, text in texts:
            matched = None
            for part in (text,) if len(text) <= longest else _beginnings(text, longest):
                pause_point()
                began = clock()
                matched = fullmatch(part)
                taken = clock() - began
                if taken > MAX_MATCH_SECONDS and part is not text:
                    raise CostsTooMuch(f"matching {len(text):,} bytes takes too long")
                left -= taken
                if left < 0:
                    raise CostsTooMuch(f"matching takes more than {MAX_SECONDS:g} s")
            if matched is not None:
                found.append(key)
        return found


def _beginnings(text: bytes, longer: int) -> Iterator[bytes]:
    """Beginnings of a text, each ``longer`` than the one before, and then the text itself: RE2
    takes for each as long as for the one before, and the time for the further bytes."""
    for end in range(longer, len(text), longer):
        yield text[:end]
    yield text


def _check_cost(pattern: str, optional: int) -> int:
    """The number of repetitions and classes in an expression, including escaped ones, which has at
    most so many ``optional`` copies. Raises InvalidRegex if there are so many, or so many Unicode
    classes, that RE2 would take long."""
    of_groups = pattern.count("(?") - pattern.count(r"\(?")
    repetitions = sum(map(pattern.count, "*+?{[")) - of_groups
    if repetitions > MAX_REPETITIONS:
        raise InvalidRegex(f"it has more than {MAX_REPETITIONS} repetitions and classes")
    if pattern.count(r"\p") + pattern.count(r"\P") > MAX_UNICODE_CLASSES:
        raise InvalidRegex(rf"it has more than {MAX_UNICODE_CLASSES} classes like \pL")
    if _weight(pattern) + min(optional, MAX_OPTIONAL) ** 2 // OPTIONAL_SQUARE > MAX_WEIGHT:
        raise InvalidRegex("it is too long for the classes, dots and flags in it")
    return repetitions


def _optional_copies(pattern: str) -> int:
    """At least the number of optional copies that counted repetitions make: their sum, or the
    product of all bounds where one of them may repeat others, of which no more are counted than
    ``MAX_OPTIONAL`` and one."""
    bounds = [(int(least), int(most or least)) for least, most in _COUNTED.findall(pattern)]
    copies = sum(max(0, most - least) for least, most in bounds)
    if copies and _COUNTED_AGAIN.search(pattern):
        copies = 1
        for bound in bounds:
            copies = min(copies * max(1, *bound), MAX_OPTIONAL + 1)
    return copies


def _weight(pattern: str) -> int:
    """About the time to compile an expression without its repetitions, as bytes of a plain name
    would take it. Raises InvalidRegex if groups are nested too deep."""
    weight = len(pattern.encode(errors="surrogatepass"))
    plain = _ESCAPED.sub("", pattern) if "\\" in pattern else pattern
    weight += sum(more * plain.count(char) for char, more in CHARACTER_WEIGHTS.items())
    weight += sum(more * pattern.count("\\" + char) for char, more in ESCAPE_WEIGHTS.items())
    if weight <= MAX_WEIGHT:
        _check_depth(pattern)
    if not _IGNORES_CASE.search(pattern):
        return weight
    further = sum(more * pattern.count(char) for char, more in FOLDED_FURTHER.items())
    return weight * FOLDED_WEIGHT + further


_COUNTED: Final = re.compile(r"\{([0-9]{1,4})(?:,([0-9]{0,4}))?\}")
"""RE2 rejects bounds above 1,000, and reads others, or with leading zeros, as plain characters."""

_COUNTED_AGAIN: Final = re.compile(r"[)}E*+?]\{")
"""The end of a group or of another repetition, or ``\\E``, before a counted repetition."""

_IGNORES_CASE: Final = re.compile(r"\(\?[a-zA-Z]*i")
_ESCAPED: Final = re.compile(r"\\[^wdsWDSpP]")
_GROUPS: Final = re.compile(r"[()]")


def _check_depth(pattern: str) -> None:
    """Raise InvalidRegex if too many groups are open at once; escaped brackets count, too."""
    depth = 0
    for bracket in _GROUPS.finditer(pattern):
        depth += 1 if bracket[0] == "(" else -1
        if depth > MAX_DEPTH:
            raise InvalidRegex(f"more than {MAX_DEPTH} groups are within each other")


def _text(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
