"""docs/tree.md: its configuration, its commands, and the tests that its rows name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.checks import check
from gateway.commands.output import table
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from tests.docs import guide, kip_rows, markdown

NAME = "docs/tree.md"
PAGE = markdown.read(NAME)
ROWS = kip_rows.rows(PAGE.partition("## The proposal, row by row")[2], "the proposal")

# The proposal's headings, with the least number of rows of each: a row for every statement.
SECTIONS = {"Motivation": 6, "Proposal": 5, "Notes": 9}


def loaded(directory: Path) -> Config:
    """The page's configuration."""
    (block,) = (block for block in markdown.blocks(PAGE) if block.language == "yaml")
    path = directory / "gateway.yaml"
    path.write_text(block.text)
    return load_config(path)


def test_the_configuration_gives_the_table_shown(tmp_path: Path) -> None:
    lines = table(check.plan_rows(check.plan(loaded(tmp_path)))).splitlines()[:3]
    assert "\n".join(lines) in [block.text.rstrip() for block in markdown.blocks(PAGE)]


def test_the_commands_ask_its_listeners(tmp_path: Path) -> None:
    """``tests/live/tree/test_guide.py`` runs them."""
    addresses = {f"127.0.0.1:{listener.port}" for listener in loaded(tmp_path).listeners}
    steps = guide.steps(NAME)
    asked = {step.words[step.words.index("--bootstrap-server") + 1] for step in steps}
    assert asked == addresses
    assert "test_the_guide" in kip_rows.functions("tests/live/tree/test_guide.py")
    # No test would run a command anywhere else.
    programs = tuple(f"{program} " for program in guide.PROGRAMS - {"kafka-gateway"})
    others = [b.text for b in markdown.blocks(PAGE) if b.language != guide.LANGUAGE]
    lines = [line.strip() for text in others for line in text.splitlines()]
    assert [line for line in lines if line.startswith(programs)] == []


@pytest.mark.parametrize(("section", "cells"), ROWS, ids=[row[1][0][:40] for row in ROWS])
def test_every_row_names_a_test_that_is_there(section: str, cells: list[str]) -> None:
    assert kip_rows.missing(cells) == "", section


def test_every_section_of_the_proposal_has_its_rows() -> None:
    counts = {section: sum(found == section for found, _ in ROWS) for section in SECTIONS}
    assert {section for section, _ in ROWS} == {*SECTIONS}
    assert {s: n for s, n in counts.items() if n < SECTIONS[s]} == {}
