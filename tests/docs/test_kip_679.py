"""docs/kip-679.md: every row names a test that exists."""

from __future__ import annotations

import pytest

from gateway.flows import weak_key
from tests.docs import kip_rows, markdown

PAGE = markdown.read("docs/kip-679.md")

# The KIP's own headings, with the least number of rows of each.
SECTIONS = {
    "Motivation": 4,
    "Public interfaces": 8,
    "Proposed changes": 5,
    "Compatibility, deprecation, and migration plan": 9,
    "Rejected alternatives": 1,
}


ROWS = [row for row in kip_rows.rows(PAGE, "KIP-679") if row[0] in SECTIONS]


@pytest.mark.parametrize(("section", "cells"), ROWS, ids=[row[1][0][:40] for row in ROWS])
def test_every_row_names_a_test_that_is_there(section: str, cells: list[str]) -> None:
    assert kip_rows.missing(cells) == "", section


def test_every_section_of_the_kip_has_its_rows() -> None:
    counts = {section: sum(found == section for found, _ in ROWS) for section in SECTIONS}
    assert {s: n for s, n in counts.items() if n < SECTIONS[s]} == {}


def test_old_clients_and_old_brokers_have_rows_of_their_own() -> None:
    said = [cells[0] for _, cells in ROWS]
    assert sum("magic 0 or 1" in text for text in said) == 3
    assert any("before 2.8" in text for text in said)


def test_the_keys_of_the_traffic_log() -> None:
    assert weak_key("acks1", "upgraded") == "acks1_upgraded"
    assert "acks1" in markdown.read("docs/operations.md")
