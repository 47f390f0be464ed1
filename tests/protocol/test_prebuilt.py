"""protocol.prebuilt: walkers compiled ahead of time equal the generated walkers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devkit.compiled_walkers import prebuilt_source
from gateway.apis.table import APIS
from gateway.exchanges.formats import REQUEST_KINDS, response_kinds
from protocol.errors import ProtocolError
from protocol.prebuilt import PREBUILT
from protocol.walkers import Span, digest, run_source, segments_source, walker_source
from tests.protocol.oracle import encode
from tests.protocol.strategies import PROFILE, Case, messages_of
from tests.rules.apis import api_named

Functions = Mapping[str, Any]

RECORD_APIS = [api for api in APIS.values() if api.name in ("Produce", "Fetch")]
CASES = [
    (api.name + what, version)
    for api in RECORD_APIS
    for what in ("Request", "Response")
    for version in range(api.first, api.last + 1)
]


def sources_of(case: Case) -> list[str]:
    """The sources that the plans need."""
    message, version = case
    is_request = message.endswith("Request")
    api = api_named(message.removesuffix("Request").removesuffix("Response"))
    kinds = REQUEST_KINDS if is_request else response_kinds(api)
    sources = [walker_source(message, version, kinds, whole=is_request)]
    if message in ("ProduceRequest", "FetchResponse"):
        sources.append(segments_source(message, version, kinds))
    return sources


@cache
def prebuilt() -> Mapping[str, Functions]:
    """The compiled functions or, if there are none in the source tree, the functions of the module
    that would be compiled."""
    if PREBUILT:
        return PREBUILT
    namespace: dict[str, Any] = {}
    exec(prebuilt_source(), namespace)  # noqa: S102
    found: Mapping[str, Functions] = namespace["PREBUILT"]
    return found


def outcome(function: Any, body: bytes, pos: int, end: int) -> tuple[object, list[Span]]:
    """The whole outcome of a walker: its result or error, and its spans."""
    out: list[Span] = []
    try:
        return function(body, pos, end, out), out
    except ProtocolError as error:
        return (type(error).__name__, str(error)), out


def assert_same(case: Case, body: bytes, pos: int, end: int) -> None:
    for source in sources_of(case):
        functions, reference = prebuilt()[digest(source)], run_source(source, "reference")
        for name, function in functions.items():
            assert outcome(function, body, pos, end) == outcome(reference[name], body, pos, end)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
@PROFILE
@given(data=st.data())
def test_it_walks_as_the_generated_source_does(case: Case, data: st.DataObject) -> None:
    body = encode(data.draw(messages_of(case)), data.draw(st.sampled_from([[], [(100, b"new")]])))
    assert_same(case, body, 0, len(body))
    at = data.draw(st.integers(0, len(body)))
    assert_same(case, body, 0, at)
    assert_same(case, body, at, len(body))
    wrong = bytearray(body)
    if wrong:
        wrong[at % len(wrong)] = data.draw(st.integers(0, 255))
        assert_same(case, bytes(wrong), 0, len(wrong))


def test_a_number_of_elements_is_not_confused_with_what_is_inside() -> None:
    """A compiled range() looks at its end again each time, so the elements must not change it."""
    (source,) = sources_of(("ProduceResponse", 9))
    partition = bytes(4 + 2 + 8 + 8 + 8) + b"\x01\x00\x00"
    body = b"\x03" + (b"\x02a\x04" + 3 * partition + b"\x00") * 2 + bytes(4) + b"\x00"
    result, spans = outcome(prebuilt()[digest(source)]["walk"], body, 0, len(body))
    assert result == len(body)
    assert [span[3] for span in spans if span[3] is not None] == [b"a", b"a"]
