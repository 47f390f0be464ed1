"""docs/kip-108.md: tests show its statements, and these tests exist."""

from __future__ import annotations

import pytest

from tests.docs import kip_rows, markdown

ROWS = kip_rows.rows(markdown.read("docs/kip-108.md"), "KIP-108")

# The KIP's own headings, and the parts of its interface, with the least number of rows of each: a
# row for every sentence that requires something.
SECTIONS = {
    "Public interfaces": 7,
    "RequestMetadata": 9,
    "validate": 4,
    "Protocol": 4,
    "Proposed changes": 7,
}


@pytest.mark.parametrize(("section", "cells"), ROWS, ids=[row[1][0][:40] for row in ROWS])
def test_every_row_names_a_test_that_is_there(section: str, cells: list[str]) -> None:
    assert kip_rows.missing(cells) == "", section


def test_every_section_of_the_kip_has_its_rows() -> None:
    counts = {section: sum(found == section for found, _ in ROWS) for section in SECTIONS}
    assert {section for section, _ in ROWS} == {*SECTIONS}
    assert {s: n for s, n in counts.items() if n < SECTIONS[s]} == {}
