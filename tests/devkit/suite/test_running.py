"""devkit.suite.running: planted tests that always fail, fail once, fail in numbers, or kill their
runner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devkit.suite.reports import read_reports
from devkit.suite.running import MOST_SECOND_LOOKS, Outcome, run_stage
from devkit.suite.stages import Stage

Run = Callable[..., Outcome]

GREEN = "def test_green() -> None:\n    pass\n"
ONCE = """
def test_once({arguments}) -> None:
    if not pathlib.Path("was-here{number}").exists():
        pathlib.Path("was-here{number}").touch()
        raise AssertionError("the first time")
"""
KILL_OWN = "def test_kill() -> None:\n    os.kill(os.getpid(), signal.SIGKILL)\n"


both_ways = pytest.mark.parametrize("processes", [1, 2])


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs planted tests as a stage."""

    def planted(*tests: str, processes: int = 1) -> Outcome:
        root = tmp_path / "planted"
        root.mkdir()
        (root / "pytest.ini").write_text("[pytest]\n")
        code = "import os, pathlib, signal\nimport pytest\n\n"
        (root / "test_planted.py").write_text(code + GREEN + "".join(tests))
        stage = Stage("planted", (), ("long",), ("test_planted.py",), processes)
        return run_stage(stage, tmp_path / "scratch", root=root)

    return planted


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Make the planted tests importable: they stand outside the project, and their pytest loads a
    plugin of it, and otherwise only xdist, because that halves the time."""
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin,xdist.looponfail")


def test_what_passes_is_green(run: Run) -> None:
    outcome = run()
    assert (outcome.red, outcome.second_looks) == ("", [])
    assert {report.test for report in outcome.reports} == {"test_planted.py::test_green"}


@both_ways
def test_what_always_fails_is_red(run: Run, processes: int) -> None:
    never = "def test_never() -> None:\n    assert 1 == 2\n"
    outcome = run(never, processes=processes)
    assert outcome.red == "failed twice: test_planted.py::test_never"
    assert outcome.second_looks == []


@both_ways
def test_what_fails_once_is_green_and_named(run: Run, processes: int) -> None:
    outcome = run(ONCE.format(arguments="", number=""), processes=processes)
    assert outcome.red == ""
    (look,) = outcome.second_looks
    assert look.test == "test_planted.py::test_once"
    assert look.reason == "call: AssertionError: the first time"


def test_a_fixture_that_fails_once_is_looked_at_again(run: Run) -> None:
    fixture = ONCE.format(arguments="", number="").replace("def test_once", "def once")
    test = "def test_of_it(once) -> None:\n    pass\n"
    outcome = run(f"@pytest.fixture\n{fixture.strip()}\n\n", test)
    assert outcome.red == ""
    assert [look.reason.partition(":")[0] for look in outcome.second_looks] == ["setup"]


def test_a_fixture_that_many_share_is_one(run: Run) -> None:
    """If a cluster did not start, that is no dozen of failures."""
    fixture = ONCE.format(arguments="", number="").replace("def test_once", "def once")
    test = (
        f'@pytest.mark.parametrize("number", range({MOST_SECOND_LOOKS + 1}))\n'
        "def test_of_it(once, number) -> None:\n    pass\n"
    )
    outcome = run(f'@pytest.fixture(scope="module")\n{fixture.strip()}\n\n', test)
    assert outcome.red == ""
    assert len(outcome.second_looks) == MOST_SECOND_LOOKS + 1


def test_as_many_as_are_looked_at_again(run: Run) -> None:
    outcome = run(*_once(MOST_SECOND_LOOKS))
    assert outcome.red == ""
    assert len(outcome.second_looks) == MOST_SECOND_LOOKS


def test_one_more_is_red(run: Run) -> None:
    outcome = run(*_once(MOST_SECOND_LOOKS + 1))
    assert outcome.red.startswith(f"{MOST_SECOND_LOOKS + 1} tests failed")
    assert outcome.second_looks == []


@both_ways
def test_a_process_that_is_killed_is_red(run: Run, processes: int) -> None:
    """With two processes it is a process of xdist, otherwise pytest itself; a second look repairs
    neither."""
    outcome = run(KILL_OWN, processes=processes)
    assert outcome.red
    assert outcome.second_looks == []


def test_a_file_that_cannot_be_collected_is_red(run: Run) -> None:
    outcome = run("import no_such_module\n")
    assert outcome.red
    assert outcome.second_looks == []


def test_no_tests_are_green(tmp_path: Path, run: Run) -> None:
    outcome = run()
    assert outcome.red == ""
    stage = Stage("none", (), ("a_mark",), ("test_none.py",))
    (tmp_path / "planted" / "test_none.py").write_text("")
    assert run_stage(stage, tmp_path / "scratch", root=tmp_path / "planted").red == ""


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl"
    line = '{"test": "a", "phase": "call", "has_failed": false, "seconds": 1.0, "reason": ""}\n'
    path.write_text(line + line[:20])
    assert [report.test for report in read_reports(path)] == ["a"]


def _once(count: int) -> list[str]:
    text = ONCE.format(arguments="number", number="{number}")
    text = text.replace('"was-here{number}"', 'f"was-here{number}"')
    return [f'\n\n@pytest.mark.parametrize("number", range({count}))', text]
