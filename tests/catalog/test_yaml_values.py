"""gateway.catalog.schema.yaml_values: values that know their line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.catalog.schema.yaml_values import BadValue, Value, parse, read_file, write
from gateway.config.errors import ConfigError, key_text


def rejected(read: Callable[[], object]) -> str:
    with pytest.raises(BadValue) as caught:
        read()
    problem = caught.value.problem
    return f"{problem.line} {key_text(problem.key)}: {problem.text}"


def one(text: str) -> Value:
    return parse(f"k: {text}").fields("k")["k"]


def test_scalars() -> None:
    assert one("text").text() == "text"
    assert one("'1'").text() == "1"
    assert one("1").number() == 1
    assert one("2147483647").number() == 2**31 - 1
    assert one("true").flag() is True
    assert one("false").flag() is False
    assert one("2026-12-01").plain() == "2026-12-01"


@pytest.mark.parametrize("text", ["1", "1.5", "yes", "null", "~", "2026-12-01", "[a]", "{a: b}"])
def test_what_is_no_text(text: str) -> None:
    assert rejected(one(text).text) == "1 k: must be text; put it in quotes"


@pytest.mark.parametrize("text", ["1.5", "0x1F", "1_000", "'1'", "yes"])
def test_what_is_no_number(text: str) -> None:
    assert rejected(one(text).number).startswith("1 k: must be a whole number")


@pytest.mark.parametrize("text", ["yes", "on", "1", "'true'", "[true]"])
def test_what_is_no_flag(text: str) -> None:
    assert rejected(one(text).flag).startswith("1 k: must be true or false")


def test_lists_and_mappings() -> None:
    value = parse("a:\n  b: [1, 2]\n  c:\n")
    fields = value.fields("a")["a"].fields("b", "c")
    assert [item.number() for item in fields["b"].items()] == [1, 2]
    assert list(fields["c"].items()) == []
    assert fields["c"].fields() == {}
    assert rejected(lambda: list(fields["b"].entries())).startswith("2 a.b: must hold keys")
    assert rejected(lambda: list(value.items())).startswith("1 : must be a list")
    assert rejected(lambda: one("[1]").plain()).startswith("1 k: must be one value")
    (item,) = list(one("[x]").items())
    assert rejected(item.number) == "1 k[0]: must be a whole number; write it without quotes"


def test_keys() -> None:
    assert rejected(lambda: parse("a: 1\na: 2").fields("a")) == (
        "2 a: is there a second time; keep one of the two"
    )
    assert rejected(lambda: parse("1: 2").fields()) == (
        "1 : has a key that is no text; put it in quotes"
    )
    assert rejected(lambda: parse("zzz: 2").fields("a", "b")) == (
        "1 zzz: unknown key 'zzz'; the keys are a, b"
    )


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "\x00", "a: *b", "--- a\n--- b"])
def test_what_is_no_yaml(text: str) -> None:
    assert "is not YAML" in rejected(lambda: parse(text))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_file(path).fields("a")["a"].number() == 1
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ConfigError, match=r"file.yaml:2: is not UTF-8 text; save it as UTF-8"):
        read_file(path)
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory; give the path"):
        read_file(tmp_path)


def test_what_is_written_is_read_back() -> None:
    content = {"a": ["no", "1", "2026-12-01", "", "x: y # z", "ä\n\t"], "b": {"1:30": True}}
    value = parse(write(content)).fields("a", "b")
    assert [item.text() for item in value["a"].items()] == content["a"]
    assert value["b"].fields("1:30")["1:30"].flag() is True


def test_times_are_read_as_people_write_them() -> None:
    texts = ("2026-12-01", "2026-12-01T00:00:00Z", "2026-12-01T01:00:00+01:00", "1796083200000")
    for text in texts:
        assert parse(text).time() == 1_796_083_200_000


@pytest.mark.parametrize("text", ["-1", "2147483648", "1" * 19, "1" * 5_000, "-" + "9" * 5_000])
def test_numbers_that_no_request_has_are_rejected(text: str) -> None:
    assert rejected(one(text).number) == "1 k: must be 0 to 2,147,483,647; correct it"


@pytest.mark.parametrize(
    "text",
    ["-1", "1" + "0" * 15, "9" * 5_000, "1969-12-31T23:59:59.999Z", "0001-01-01T00:00:00+23:00"],
)
def test_times_that_no_request_can_set_are_rejected(text: str) -> None:
    assert one("9" * 15).time() == 10**15 - 1
    told = "1 k: is a time before 1970 or after the year 33,000; correct it"
    assert rejected(one(text).time) == told


@pytest.mark.parametrize("text", ["²", "١٢", "--1", "1-", "-", "1.5", ".nan", "nan", "1e3"])
def test_what_only_looks_like_a_number_is_no_time(text: str) -> None:
    assert rejected(one(f"'{text}'").time).startswith("1 k: is no time")
