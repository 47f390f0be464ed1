"""docs/kip-37.md and docs/namespaces.md: tests show their statements, and these tests exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.apis.table import APIS
from gateway.config_file.loading import load_config
from tests.docs import guide, kip_rows, markdown

TABLE = markdown.read("docs/kip-37.md")
GUIDE = markdown.read(guide.PAGE)

# KIP-37's own headings, except status and the table of contents, with the least number of rows of
# each: a row for every sentence that requires something.
SECTIONS = {
    "Motivation": 5,
    "Public interfaces": 8,
    "Possible delimiters": 4,
    "Create": 3,
    "List": 1,
    "Delete": 4,
    "Move": 1,
    "Storage layout": 5,
    "Namespace ACLs": 2,
    "Namespace configs": 3,
    "Backwards compatibility": 4,
    "Rolling upgrade": 1,
    "Regexes": 3,
    "Compatibility, deprecation, and migration": 3,
    "Rejected alternatives": 5,
}


ROWS = kip_rows.rows(TABLE, "KIP-37")


@pytest.mark.parametrize(("section", "cells"), ROWS, ids=[row[1][0][:40] for row in ROWS])
def test_every_row_names_a_test_that_is_there(section: str, cells: list[str]) -> None:
    assert kip_rows.missing(cells) == "", section


def test_every_section_of_the_kip_has_its_rows() -> None:
    counts = {section: sum(found == section for found, _ in ROWS) for section in SECTIONS}
    assert {section for section, _ in ROWS} - {*SECTIONS} == {"Proposed changes"}
    assert {s: n for s, n in counts.items() if n < SECTIONS[s]} == {}


def test_access_rules_are_served() -> None:
    """Every row with a statement of the KIP about ACLs has a test."""
    acls = [row for _, row in ROWS if re.search(r"\bACLs?\b|kafka-acls|kafka_acls", row[0])]
    assert len(acls) >= 5
    assert {"DescribeAcls", "CreateAcls", "DeleteAcls"} <= {row.name for row in APIS.values()}


# -- the guide --------------------------------------------------------------------------------


def test_every_command_of_the_guide_is_run() -> None:
    """``guide.steps()`` finds every line that reads as a command:
    tests/live/namespaces/test_namespaces_cli.py::test_the_guide runs them."""
    steps = guide.steps()
    assert {step.words[0] for step in steps} >= {"kafka-gateway", "kafka-topics", "kafka-configs"}
    assert {step.words[0] for step in steps} <= guide.PROGRAMS
    addresses = {step.words[step.words.index("--bootstrap-server") + 1] for step in steps}
    assert addresses == {guide.ADMIN, guide.ADMIN_LEGAL}
    # No test would run a command anywhere else.
    others = [b.text for b in markdown.blocks(GUIDE) if b.language != guide.LANGUAGE]
    lines = [*markdown.spans(GUIDE), *(line for text in others for line in text.splitlines())]
    programs = tuple(f"{program} " for program in guide.PROGRAMS)
    assert [line for line in lines if line.lstrip().startswith(programs)] == []
    live = "tests/live/namespaces/test_namespaces_cli.py"
    assert "test_the_guide" in kip_rows.functions(live)
    assert "guide.steps()" in markdown.read(live)


def test_the_guide_s_listeners_load(tmp_path: Path) -> None:
    (block,) = (block for block in markdown.blocks(GUIDE) if block.language == "yaml")
    path = tmp_path / "gateway.yaml"
    path.write_text(block.text)
    listeners = {listener.name: listener for listener in load_config(path).listeners}
    assert f"127.0.0.1:{listeners['admin'].port}" == guide.ADMIN
    assert f"127.0.0.1:{listeners['admin-legal'].port}" == guide.ADMIN_LEGAL
    assert listeners["admin-legal"].spelling == "legal"
    assert {listener.list_namespaces for listener in listeners.values()} == {True}
