"""devkit.suite.summary: the summary that a run prints at its end."""

from __future__ import annotations

from devkit.suite.reports import Report
from devkit.suite.running import Outcome, SecondLook
from devkit.suite.summary import lines


def report(test: str, seconds: float, phase: str = "call") -> Report:
    return Report(test, phase, has_failed=False, seconds=seconds, reason="")


def text(*outcomes: Outcome, are_gate: bool = True) -> list[str]:
    return [line.strip() for line in lines(outcomes, are_gate=are_gate)]


def test_the_time_of_each_stage_and_of_all() -> None:
    printed = text(Outcome("check", 20.0), Outcome("Spark", 100.25, red="no Java"))
    assert printed[1:5] == [
        "stages:",
        "20.0 s  check",
        "100.2 s  Spark: red",
        "120.2 s  together",
    ]
    assert printed[-1] == "red: Spark: no Java"


def test_the_ten_slowest_files() -> None:
    reports = [report(f"tests/test_{n}.py::test_it", float(n)) for n in range(12)]
    reports.append(report("tests/test_0.py::test_it", 50.0, "setup"))
    printed = text(Outcome("live", 1.0, reports=reports))
    first = printed.index("slowest files:") + 1
    assert printed[first] == "50.0 s  tests/test_0.py"
    assert printed[first + 9].endswith("tests/test_3.py")
    assert not any(line.endswith("tests/test_2.py") for line in printed)


def test_tests_of_the_gate_that_took_long_are_told_their_set_up_aside() -> None:
    reports = [
        report("tests/test_a.py::test_long", 5.1),
        report("tests/test_a.py::test_short", 4.9),
        report("tests/test_a.py::test_short", 60.0, "setup"),
    ]
    outcome = Outcome("live", 1.0, reports=reports)
    assert "5.1 s  tests/test_a.py::test_long" in text(outcome)
    assert not any("test_short" in line for line in text(outcome))
    assert not any("test_long" in line for line in text(outcome, are_gate=False))


def test_second_looks_are_told_by_name_with_the_first_failure_and_both_times() -> None:
    look = SecondLook("tests/test_a.py::test_once", "call: TimeoutError", 12.0, 0.5)
    printed = text(Outcome("live", 1.0, second_looks=[look]))
    assert printed[-3:] == [
        "passed only on a second look:",
        "tests/test_a.py::test_once: 12.0 s, alone 0.5 s",
        "call: TimeoutError",
    ]
