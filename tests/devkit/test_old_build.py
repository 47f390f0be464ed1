"""devkit.old_build."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from devkit.old_build import PACKAGES, OldBuildError, old_build


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two revisions: ``old``, and the present revision."""
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "repository"

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)

    root.mkdir()
    git("init")
    for text, then in (("old", ["tag", "old"]), ("new", ["status"])):
        for name in PACKAGES:
            (root / name).mkdir(exist_ok=True)
            (root / name / "__init__.py").write_text(f"which = {text!r}\n")
        git("add", ".")
        git("commit", "-m", text)
        git(*then)
    return root


def test_a_revision_is_unpacked_once(repository: Path) -> None:
    home = old_build("old", repository)
    for name in PACKAGES:
        assert (home / name / "__init__.py").read_text() == "which = 'old'\n"
    (home / "mark").touch()
    assert (old_build("old", repository) / "mark").exists()
    assert old_build("HEAD", repository) != home


def test_a_revision_that_is_not_there_is_an_error(repository: Path) -> None:
    with pytest.raises(OldBuildError, match="there is no such revision; a shallow clone"):
        old_build("v9.9.9", repository)
