"""gateway.config.errors and model_problems: how problems are ordered, placed and worded."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.config.errors import ConfigError, Problem, key_text, nearest, shown
from gateway.config.model_problems import problems_of
from tests.pace import Pace

PATH = Path("g.yaml")


def test_problems_stand_in_the_order_of_their_lines_and_once() -> None:
    later, sooner = Problem(("b",), "y", 7), Problem(("a", 0, "c"), "x", 3)
    error = ConfigError(PATH, [later, sooner, later])
    assert str(error) == "g.yaml:3: a[0].c: x\ng.yaml:7: b: y"
    assert error.problems == [sooner, later]


def test_a_problem_without_key_or_line() -> None:
    assert str(ConfigError(PATH, [Problem((), "is empty")])) == "g.yaml: is empty"


def test_keys_as_people_write_them() -> None:
    assert key_text(("listeners", 0, "port")) == "listeners[0].port"
    assert key_text(("metrics",)) == "metrics"
    assert key_text(()) == ""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("listner", "listeners"),
        ("Listeners", "listeners"),
        ("socket_request_max_bytes", "socket.request.max.bytes"),
        ("traffic-log", "traffic_log"),
        ("qqq", None),
    ],
)
def test_nearest_key(name: str, found: str | None) -> None:
    known = ["listeners", "traffic_log", "socket.request.max.bytes"]
    assert nearest(name, known) == found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        (True, "true"),
        (5, "5"),
        ("a", "'a'"),
        ((1,), "a list"),
        ({"a": 1}, "keys and values"),
        ("x" * 100, "'" + "x" * 59 + "..."),
    ],
)
def test_values_as_yaml_has_them(value: object, text: str) -> None:
    assert shown(value) == text


def test_an_error_that_has_no_words_of_its_own_still_says_what_to_do() -> None:
    class Model(BaseModel):
        model_config = ConfigDict(strict=True)
        at: bytes

    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"at": 1})
    assert problems_of(caught.value, Model) == [
        Problem(("at",), "input should be a valid bytes; correct it")
    ]


class Inner(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    color: str = ""


class Outer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    named: dict[Annotated[str, Field(max_length=3)], Inner] = Field(default_factory=dict)
    deep: dict[str, dict[str, Inner]] = Field(default_factory=dict)


def problems(value: object) -> list[Problem]:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(value)
    return problems_of(caught.value, Outer)


def test_keys_below_names_that_people_choose() -> None:
    near = "unknown key 'colour'; did you mean 'color'?"
    assert problems({"named": {"a": {"colour": "x"}}}) == [Problem(("named", "a", "colour"), near)]
    assert problems({"deep": {"a": {"b": {"colour": "x"}}}}) == [
        Problem(("deep", "a", "b", "colour"), near)
    ]
    assert problems({"color": "x"}) == [
        Problem(("color",), "unknown key 'color' here; did you mean 'named.*.color'?")
    ]


def test_a_name_that_is_rejected_itself() -> None:
    (problem,) = problems({"named": {"long": {}}})
    assert problem == Problem(("named", "long"), "has over 3 characters; shorten it")


def test_something_else_where_keys_and_values_should_be() -> None:
    (problem,) = problems({"named": 5})
    assert problem.text == "must be keys and values, not 5; indent them below it"


def test_every_line_is_one_line_and_no_longer_than_anyone_reads() -> None:
    error = ConfigError(PATH, [Problem(("a\nb",), "x\x1b[2J" + "y" * 10_000, 1)])
    (line,) = str(error).splitlines()
    assert line.startswith("g.yaml:1: a\\nb: x\\x1b[2Jyyy")
    assert len(line) < 2_100


def test_no_more_problems_are_told_than_anyone_reads() -> None:
    error = ConfigError(PATH, [Problem((f"k{line}",), "x", line) for line in range(1, 1_001)])
    lines = str(error).splitlines()
    assert lines[-1] == "g.yaml: 800 more problems; correct these first"
    assert len(lines) == 201


@pytest.mark.alone
def test_what_was_meant_is_not_looked_for_among_everything(pace: Pace) -> None:
    began = time.process_time()
    for number in range(100):
        nearest(f"team-{number}", [f"squad-{one}" for one in range(50_000)])
    nearest("x" * 1_000_000, ["y" * 1_000_000])
    assert time.process_time() - began < pace.stretched(5)
