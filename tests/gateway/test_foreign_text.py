"""gateway.foreign_text: any text of other code is safe to show."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.foreign_text import MAX_SHOWN, one_line, raised_text, shown_text

ANY_TEXT = st.text(st.characters(codec=None), max_size=50)
"""With control characters, and with surrogates."""


class Overriding(str):
    """Text that differs from the results of its methods."""

    def __getitem__(self, _: Any) -> str:
        return "\x1b"

    def __str__(self) -> str:
        return self


class Raising:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __str__(self) -> str:
        raise self.error


class Unnoted(Exception):
    """An error whose parts for a traceback raise errors."""

    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        raise RuntimeError("no notes")


class NameMeta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name")


class Nameless(Unnoted, metaclass=NameMeta):
    pass


@given(ANY_TEXT, st.integers(0, 80))
@example("\x1b[2J\r\n\x00\x7f\x85\u2028\u202e\ud800", 80)
def test_shown_text_has_nothing_that_hides(text: str, most: int) -> None:
    shown = shown_text(text, most)
    assert len(shown) <= most
    assert len(shown.encode()) <= 4 * most  # no surrogates: it can be written to the wire
    for character in shown:
        assert character.isprintable() or character.isspace() or ord(character) > 0xA0
    assert not set(shown) & {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))}
    assert not set(shown) & set("\u2028\u2029\u202a\u202b\u202d\u202e\u2066\u2067\u200b\ufeff")


@given(st.text(st.sampled_from("aZ 0é✓漢🎉\u00a0'\"\\"), max_size=50))
def test_other_text_stays_as_it_is(text: str) -> None:
    assert shown_text(text, 50) == text


@given(ANY_TEXT)
def test_it_is_shown_once(text: str) -> None:
    shown = shown_text(text, 1_000)
    assert shown_text(shown, 1_000) == shown
    assert one_line(shown) == shown


def test_a_subclass_of_text_is_text() -> None:
    shown = shown_text(Overriding("a\nb"), 10)
    assert shown == r"a\nb"
    assert type(shown) is str


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_what_has_no_text_is_empty(error: BaseException) -> None:
    assert shown_text(Raising(error), 10) == ""


def test_what_was_raised() -> None:
    assert raised_text(ValueError("a\nb\x1b[0m")) == r"ValueError: a\nb\x1b[0m"
    assert raised_text(KeyError("x")) == "KeyError: 'x'"
    assert len(raised_text(ValueError("x" * 5_000))) == MAX_SHOWN
    assert raised_text(Unnoted("x")).endswith("Unnoted")
    assert raised_text(Nameless("x")) == "Nameless"


def test_control_characters() -> None:
    assert one_line("a\x00\x7f\x85é✓") == r"a\x00\x7f\x85é✓"
