"""``make map``: modules with the first sentence of their docstrings."""

from __future__ import annotations

import pytest

from devkit import file_map
from devkit.paths import PROJECT_ROOT


def test_a_folder_comes_before_its_modules() -> None:
    lines = list(file_map.lines_of(PROJECT_ROOT / "gateway" / "sinks"))
    names = [line.split()[0] for line in lines]
    assert names[0] == "gateway/sinks/"
    assert set(names[1:]) == {
        path.relative_to(PROJECT_ROOT).as_posix()
        for path in (PROJECT_ROOT / "gateway" / "sinks").glob("*.py")
        if path.name != "__init__.py"
    }


@pytest.mark.parametrize("folder", file_map.FOLDERS)
def test_every_module_says_what_it_is_for(folder: str) -> None:
    paths = sorted((PROJECT_ROOT / folder).rglob("*.py"))
    assert [path for path in paths if not file_map.purpose_of(path)] == []


def test_an_unknown_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert file_map.main(["gateway/nowhere"]) == 2
    assert capsys.readouterr().err == (
        "file_map: no folder gateway/nowhere; give one such as gateway/rules\n"
    )
