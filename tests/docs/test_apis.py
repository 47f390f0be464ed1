"""docs/apis.md is made from the declarations of APIs; this tests its required content."""

from __future__ import annotations

from gateway.apis.table import APIS
from gateway.exchanges.api import Api
from gateway.rules.declaration import Do
from protocol.schema import API_NAMES
from tests.docs import markdown

PAGE = markdown.read("docs/apis.md")


def versions(api: Api) -> str:
    return str(api.first) if api.first == api.last else f"{api.first}-{api.last}"


def word(decision: Do) -> str:
    return "" if decision is Do.ABSENT else decision.name.lower()


def row(api: Api) -> list[str]:
    decisions = [word(do) for do in (api.named, api.by_id, api.null)]
    return [str(api.key), api.name, versions(api), *decisions, api.why]


def test_every_decided_api() -> None:
    assert markdown.table(PAGE, "key") == [row(api) for _, api in sorted(APIS.items())]


def test_every_decision_is_explained() -> None:
    used = {do for api in APIS.values() for do in (api.named, api.by_id, api.null)}
    explained = {cells[0]: cells[1] for cells in markdown.table(PAGE, "decision")}
    assert explained == {word(do): do.value for do in Do if do in used and do is not Do.ABSENT}


def test_every_other_api_has_its_row_with_a_reason() -> None:
    """Keys by Kafka's own list of APIs; Kafka 4 has removed four."""
    removed, *rows = markdown.table(PAGE, "not served")
    others = [[name, str(key)] for key, name in API_NAMES.items() if key not in APIS]
    assert [row[:2] for row in rows] == others
    assert removed[1] == "4-7"
    assert sorted({*API_NAMES, *range(4, 8)}) == list(range(max(API_NAMES) + 1))
    assert all(len(why) > len("as key 1") for _, _, why in rows)


def test_a_reason_that_refers_to_another_row_refers_to_one() -> None:
    reasons = {row[1]: row[2] for row in markdown.table(PAGE, "not served")}
    for why in reasons.values():
        if why.startswith("as key "):
            assert not reasons[why.split()[2].rstrip(":")].startswith("as key ")
