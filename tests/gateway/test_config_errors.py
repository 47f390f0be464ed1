"""gateway.config_errors: how problems are ordered, placed and worded."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from gateway.config_errors import ConfigError, Problem, key_text, nearest, problems_of, shown

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
