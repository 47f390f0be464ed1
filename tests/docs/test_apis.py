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


def test_every_other_api() -> None:
    others = [name for key, name in API_NAMES.items() if key not in APIS]
    (shown,) = (block.text for block in markdown.blocks(PAGE) if "ElectLeaders" in block.text)
    assert [name.strip() for name in shown.replace("\n", " ").split(",")] == others
