"""docs/upgrade.md: formats of the catalog as the code has them, and the tests that it names."""

from __future__ import annotations

import re

import pytest

from gateway.catalog.log.records import FORMAT, PLACED_FORMAT
from gateway.catalog.members import SIGNING_FORMAT, VOLUME_FORMAT
from gateway.catalog.schema.table import FREEZE_FORMAT, LINK_FORMAT, MEMBER_FORMAT, METRICS_FORMAT
from tests.docs import markdown

PAGE = markdown.read("docs/upgrade.md")

NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def test_every_format_and_what_needs_it() -> None:
    rows = markdown.table(PAGE, "format")
    _, signed, links, mount, members, freezes, metrics = rows
    assert "signed" in signed[1]
    assert "links" in links[1]
    assert "mount" in mount[1]
    assert "list each other" in members[1]
    assert "wait for what is under way" in freezes[1]
    assert "client metrics" in metrics[1]
    levels = [int(row[0]) for row in rows]
    needed = [SIGNING_FORMAT, LINK_FORMAT, VOLUME_FORMAT, MEMBER_FORMAT]
    needed += [FREEZE_FORMAT, METRICS_FORMAT]
    assert levels == [1, *needed]
    assert {*range(1, FORMAT + 1)} == {*levels}
    assert PLACED_FORMAT == SIGNING_FORMAT
    assert f"(this software reads up to {FORMAT})" in PAGE


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_what_was_tested_is_there(path: str, name: str) -> None:
    assert f"def {name}(" in markdown.read(path)


def test_tests_are_named() -> None:
    assert len(NAMED) > 4


def test_the_changelog_has_upgrade_notes_for_each_release() -> None:
    releases = re.split(r"^## ", markdown.read("CHANGELOG.md"), flags=re.MULTILINE)[1:]
    assert releases
    assert [one.splitlines()[0] for one in releases if "\nUpgrade notes" not in one] == []
