"""gateway.commands.parser: the error for a command line that is nearly right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.running import command
from tests.config import config_samples


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("chek gateway.yaml", "check"),
        ("catalog exprt", "export"),
        ("serve --dryrun gateway.yaml", "--dry-run"),
        ("catalog export --config c.yaml --namesspaces", "--namespaces"),
        ("serve gateway.yaml --log-level debg", "debug"),
    ],
)
async def test_what_was_meant(line: str, meant: str) -> None:
    said = await command(*line.split())
    assert said.status == 2
    assert said.err.endswith(f"; did you mean {meant}?\n")


@pytest.mark.parametrize("line", ["frobnicate", "serve --frobnicate gateway.yaml"])
async def test_what_is_like_nothing(line: str) -> None:
    said = await command(*line.split())
    assert (said.status, "did you mean" in said.err) == (2, False)


@pytest.mark.parametrize("name", ["check", "serve --dry-run"])
async def test_the_file_with_a_flag_or_alone(name: str, tmp_path: Path) -> None:
    path = str(config_samples.write(tmp_path))
    words = name.split()
    first = await command(*words, "--config", path)
    assert (first.status, first.err) == (0, "")
    assert await command(*words, path) == first
    assert await command(words[0], path, *words[1:]) == first


@pytest.mark.parametrize(
    "line",
    ["explain --name x", "fleet", "tree --depth 2", "catalog status", "catalog forget --gateway g"],
)
async def test_every_operators_command_takes_both(line: str) -> None:
    """A missing file is reported alike, so both were read."""
    flagged = await command(*line.split(), "--config", "/no/such.yaml")
    alone = await command(*line.split(), "/no/such.yaml")
    assert flagged.status == alone.status == 78
    assert alone.err == flagged.err
    for words in (["a.yaml", "b.yaml"], ["--config", "a.yaml", "b.yaml"], []):
        assert (await command(*line.split(), *words)).status == 2


async def test_a_failure_is_an_object_for_programs(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("workers: many\n")
    for line in (
        ["check", "--json", str(broken)],
        ["fleet", "--json", "/no/such.yaml"],
        ["check", "--json", "--frob", str(broken)],
        ["topics", "--bootstrap-server", "127.0.0.1:1", "--list", "--json"],
    ):
        said = await command(*line)
        assert said.status != 0
        told = json.loads(said.out)
        assert told["ok"] is False
        for problem in told["problems"]:
            # On standard error the next step has its own line.
            assert all(part in said.err for part in problem.rsplit("; ", 1)), line
