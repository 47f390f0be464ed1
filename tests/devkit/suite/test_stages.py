"""devkit.suite.stages and tests.marks: every test runs in a single stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest

from devkit.paths import PROJECT_ROOT
from devkit.suite.stages import GATE, JOBS, LIVE, UNIT, Stage, long_stages
from tests.conftest import LONGEST, TOGETHER
from tests.marks import LONG, check_marks


@pytest.mark.parametrize(
    ("marks", "path", "stage"),
    [
        (set(), "tests/apis/test_a.py", UNIT),
        (set(), "tests/devkit/test_a.py", UNIT),
        ({"parametrize"}, "tests/spark/test_schema.py", UNIT),
        ({"spark"}, "tests/spark/test_a.py", JOBS),
        ({"live"}, "tests/live/fleet/test_a.py", LIVE),
        ({"live", "spark"}, "tests/live/operations/test_a.py", LIVE),
    ],
)
def test_a_test_of_the_gate_is_in_one_of_its_stages(
    marks: set[str], path: str, stage: Stage
) -> None:
    assert [one for one in GATE if one.selects(marks, path)] == [stage]


@pytest.mark.parametrize(
    ("marks", "path"),
    [
        ({"live"}, "tests/apis/test_a.py"),
        ({"live", "spark"}, "tests/spark/test_a.py"),
        ({"spark"}, "tests/devkit/test_a.py"),
        ({"long"}, "tests/apis/test_a.py"),
        ({"live", "alone"}, "tests/live/test_a.py"),
    ],
)
def test_a_test_elsewhere_is_in_none(marks: set[str], path: str) -> None:
    assert not any(stage.selects(marks, path) for stage in GATE)


def test_the_folder_is_meant_and_no_other_that_begins_like_it() -> None:
    assert not LIVE.selects({"live"}, "tests/live_more/test_a.py")
    assert Stage("one", (), (), ("tests/test_a.py",)).selects(set(), "tests/test_a.py")


def test_what_is_long_is_found_by_its_mark(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name, text in (
        ("test_l.py", '@pytest.mark.long("kills")'),
        ("test_a.py", "pytestmark = pytest.mark.alone"),
        ("test_n.py", "pass"),
    ):
        (tmp_path / "tests" / name).write_text(text)
    long, alone = long_stages(tmp_path)
    assert (long.paths, alone.paths) == (("tests/test_l.py",), ("tests/test_a.py",))
    assert long.selects({"long", "live"}, "tests/test_l.py")
    assert not long.selects({"long", "alone"}, "tests/test_l.py")
    assert alone.selects({"long", "alone"}, "tests/test_a.py")


class Item:
    """A collected test, as far as marks are concerned."""

    def __init__(self, path: Path, *marks: pytest.Mark) -> None:
        self.path = path
        self.nodeid = f"{path.name}::test_it"
        self._marks = marks

    def iter_markers(self, name: str | None = None) -> Iterator[pytest.Mark]:
        """Its marks, or its marks of one name."""
        return (mark for mark in self._marks if name in {None, mark.name})


@pytest.mark.parametrize(
    ("mark", "is_known"),
    [
        (pytest.mark.long("kills"), True),
        (pytest.mark.alone, True),
        (pytest.mark.long("because"), False),
        (pytest.mark.long, False),
        (pytest.mark.long("kills", "builds"), False),
        (pytest.mark.live, False),  # in a folder whose live tests no stage runs
    ],
)
def test_a_mark_without_its_reason_or_stage_is_a_usage_error(
    mark: pytest.MarkDecorator, is_known: bool, tmp_path: Path
) -> None:
    path = tmp_path / "tests" / "apis" / "test_a.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"@pytest.mark.{mark.name}(")
    items = cast(list[pytest.Item], [Item(path, mark.mark)])
    with nullcontext() if is_known else pytest.raises(pytest.UsageError, match="test_it"):
        check_marks(items, tmp_path)


def test_each_reason_is_explained() -> None:
    assert all(text.startswith("it ") for text in LONG.values())


def test_files_whose_order_or_process_is_chosen_exist() -> None:
    together = [f"tests/live/{name}.py" for names in TOGETHER for name in names]
    assert len(set(together)) == len(together)
    assert [path for path in (*LONGEST, *together) if not (PROJECT_ROOT / path).is_file()] == []
