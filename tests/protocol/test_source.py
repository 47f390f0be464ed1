from __future__ import annotations

from protocol.kinds import Kind
from protocol.source import Source


def test_known_distances_add_up_until_they_are_needed() -> None:
    source = Source({})
    source.advance(4)
    source.advance(2)
    assert (source.at(), source.at(3), source.ahead(1)) == ("pos + 6", "pos + 9", 7)
    assert source.lines == []
    source.settle()
    source.settle()
    assert [line.strip() for line in source.lines] == ["pos += 6"]
    assert source.at() == "pos"


def test_a_position_is_checked_once() -> None:
    source = Source({})
    source.check()
    source.check()
    assert len(source.lines) == 2
    source.advance(1)
    source.check()
    assert source.lines[2].strip() == "if pos + 1 > end:"
    source.check(8)
    assert source.lines[4].strip() == "if pos + 9 > end:"


def test_what_a_block_checks_does_not_hold_after_it_unless_it_held_before() -> None:
    source = Source({})
    with source.block("if n:"):
        source.check()
    source.check()
    assert sum("raise" in line for line in source.lines) == 2
    with source.block("if n:"):
        source.advance(1)
    source.check()
    assert sum("raise" in line for line in source.lines) == 3


def test_blocks_are_indented_and_end_settled() -> None:
    source = Source({})
    with source.block("if n:"):
        source.advance(3)
    assert source.lines == ["        if n:", "            pos += 3"]


def test_formats_are_shared() -> None:
    structs: dict[str, str] = {}
    first, second = Source(structs), Source(structs)
    assert first.unpack(">i") == second.unpack(">i") != second.unpack(">h")
    assert list(structs) == [">i", ">h"]


def test_the_function_checks_its_end_and_emits_to_its_list() -> None:
    silent = Source({})
    silent.advance(2)
    text = "\n".join(silent.function("walk"))
    assert "append" not in text
    assert text.index("pos += 2") < text.index("if pos > end:") < text.index("return pos")
    loud = Source({})
    loud.emit(Kind.HOST, "s", "pos", "v")
    head = "def walk(buf: bytes, pos: int, end: int, out: list[Span]) -> int:"
    assert loud.function("walk")[0] == head
    assert "        out.append((11, s, pos, v))" in loud.lines
