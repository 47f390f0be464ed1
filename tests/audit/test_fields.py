"""gateway.audit.fields: the tables, and docs/audit.md, which is made from them."""

from __future__ import annotations

from gateway.audit.fields import ATTRIBUTES, FIELDS, TYPES, markdown_tables
from tests.audit import audit_samples as samples
from tests.audit.cloud_events import REQUIRED, checked
from tests.docs import markdown

PAGE = markdown.read("docs/audit.md")


def test_names_are_there_once() -> None:
    for table in (ATTRIBUTES, FIELDS):
        names = [field.name for field in table]
        assert len(names) == len(set(names))
    assert {field.name for field in ATTRIBUTES} >= set(REQUIRED)


def test_every_kind_has_a_type_and_fields() -> None:
    assert {kind for field in FIELDS for kind in field.kinds} == set(TYPES)
    assert len(set(TYPES.values())) == len(TYPES)


def test_the_documentation_holds_the_tables() -> None:
    for table in markdown_tables().split("\n\n"):
        assert table in PAGE


def test_the_documentation_has_every_type() -> None:
    shown = {markdown.code(row[0]): markdown.code(row[1]) for row in markdown.table(PAGE, "event")}
    assert shown == dict(TYPES)


def test_the_documentation_shows_an_event_of_each_type() -> None:
    blocks = [block.text for block in markdown.blocks(PAGE) if block.language == "json"]
    events = [checked(text.encode()) for text in blocks]
    assert [event["type"] for event in events] == list(TYPES.values())
    for kind, event in zip(TYPES, events, strict=True):
        fields = [field.name for field in FIELDS if kind in field.kinds]
        assert list(event) == [field.name for field in ATTRIBUTES]
        assert list(event["data"]) == fields
        assert event["source"] == samples.SOURCE
