"""gateway.config_file.yaml_lines: values, and the lines that they stand on."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config.yaml_nodes import MAX_DEPTH, UnreadableError
from gateway.config_file.yaml_lines import MAX_VALUES, Document, parse_document, read_document


def problems(document: Document) -> list[tuple[int, str]]:
    return [(problem.line, f"{problem.key}: {problem.text}") for problem in document.problems]


def test_values_and_lines() -> None:
    document = parse_document("a: 1\nb:\n  - x\n  -\n    c: [true,\n        2.5]\n")
    assert document.value == {"a": 1, "b": ("x", {"c": (True, 2.5)})}
    assert document.lines == {
        ("a",): 1,
        ("b",): 2,
        ("b", 0): 3,
        ("b", 1): 5,
        ("b", 1, "c"): 5,
        ("b", 1, "c", 0): 5,
        ("b", 1, "c", 1): 6,
    }
    assert document.problems == []


def test_what_is_missing_has_the_line_of_what_is_around_it() -> None:
    document = parse_document("a: 1\nb:\n  - x: 1\n")
    assert document.line_of(("b", 0, "y", 3)) == 3
    assert document.line_of(("z",)) == 1


def test_duplicate_keys_are_all_told() -> None:
    document = parse_document("a: 1\nb: {c: 1, c: 2}\na: 3\na: 4\n")
    assert problems(document) == [
        (3, "('a',): is set a second time, first on line 1; keep one of the two"),
        (4, "('a',): is set a second time, first on line 1; keep one of the two"),
        (2, "('b', 'c'): is set a second time, first on line 2; keep one of the two"),
    ]


def test_aliases_and_merged_keys() -> None:
    document = parse_document("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\nc: *x\n")
    assert document.problems == []
    assert document.value["b"] == {"p": 1, "q": 3}
    assert document.value["c"] == {"p": 1, "q": 2}


def test_what_contains_itself() -> None:
    with pytest.raises(UnreadableError) as caught:
        parse_document("a: 1\nb: &x [1, *x]")
    assert (caught.value.problem.key, caught.value.problem.line) == (("b", 1), 2)
    assert caught.value.problem.text == "contains itself; write it out without the alias"


def test_aliases_cannot_fill_the_memory() -> None:
    rows = ["a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]"]
    for level in range(1, 9):
        rows.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
    with pytest.raises(UnreadableError, match=f"more than {MAX_VALUES} values"):
        parse_document("\n".join(rows))


def test_keys_that_are_no_text() -> None:
    document = parse_document("1: a\nb: {[c]: 1}\nd: 2\n")
    assert document.value == {"b": {}, "d": 2}
    assert problems(document) == [
        (1, "(): has a key that is no text; put it in quotes"),
        (2, "('b',): has a key that is no text; put it in quotes"),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("d: 2024-13-45", "cannot be read as timestamp; put it in quotes"),
        ("d: !!python/object:os.system x", "cannot be read as python/object:os.system"),
        ("d: !!int x", "cannot be read as int; put it in quotes"),
    ],
)
def test_values_that_yaml_cannot_read(text: str, told: str) -> None:
    document = parse_document(f"{text}\ne: 1\n")
    ((line, problem),) = problems(document)
    assert line == 1
    assert told in problem
    assert document.value == {"d": None, "e": 1}


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("", 1, "is empty; config/quickstart.yaml is an example"),
        ("# nothing\n", 1, "is empty"),
        ("\n- a\n", 2, "holds no settings; write them as `key: value` lines"),
        ("a: 1\nb: [\n", 3, "is not YAML: "),
        ("a: 1\nb: c: d\n", 2, "is not YAML: mapping values are not allowed"),
        ("a: 1\n\tb: 2\n", 2, "is not YAML: found "),
        ("a: 1\nb: \x01\n", 2, "is not YAML: "),
        ("a: *b", 1, "is not YAML: found undefined alias 'b'"),
        ("a: 1\n---\nb: 2\n", 2, "is not YAML: but found another document"),
    ],
)
def test_what_is_no_configuration(text: str, line: int, told: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        parse_document(text)
    assert caught.value.problem.line == line
    assert caught.value.problem.text.startswith(told)
    assert "\n" not in caught.value.problem.text


def _aliases(levels: int) -> str:
    """Each level holds the level before, so that no line is deep."""
    rows = [f"a{level}: &a{level} [*a{level - 1}]\n" for level in range(1, levels)]
    return "a0: &a0 []\n" + "".join(rows)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n" + "b: " + "[" * 3000, 2),
        ("[" * 3000, 1),
        ("a:\n  " + "{b: " * 3000, 2),
        ("a: 1\nb: " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), 2),
        ("".join(f"{' ' * level}a:\n" for level in range(MAX_DEPTH + 1)), MAX_DEPTH + 1),
        (_aliases(3000), MAX_DEPTH + 1),
    ],
)
def test_what_is_too_deep(text: str, line: int) -> None:
    with pytest.raises(UnreadableError, match=r"^is nested too deeply; write at most") as caught:
        parse_document(text)
    assert caught.value.problem.line == line


def test_what_is_just_not_too_deep() -> None:
    value = parse_document("a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH).value["a"]
    for _ in range(MAX_DEPTH - 1):
        (value,) = value
    assert value == ()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="cannot be read: No such file or directory; give"):
        read_document(tmp_path / "nothing.yaml")
    with pytest.raises(UnreadableError, match="cannot be read: Is a directory; give"):
        read_document(tmp_path)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: 1\nb: caf\xe9\n")
    with pytest.raises(UnreadableError, match="is not UTF-8 text; save it as UTF-8") as caught:
        read_document(latin)
    assert caught.value.problem.line == 2


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_document(path).value == {"a": 1}
