from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.layout import without_unknown_tags
from protocol.schema import message_spec
from tests.protocol.oracle import encode
from tests.protocol.strategies import CASES, PROFILE, Case, messages_of

FLEXIBLE = [case for case in CASES if message_spec(*case).flexible]


@pytest.mark.parametrize("case", FLEXIBLE, ids=lambda case: f"{case[0]}-{case[1]}")
@PROFILE
@given(data=st.data())
def test_leaves_what_the_schema_knows(case: Case, data: st.DataObject) -> None:
    entity = data.draw(messages_of(case))
    body = messages.write(entity)
    spec = message_spec(*case).body
    assert without_unknown_tags(body, spec) == body
    assert without_unknown_tags(encode(entity, [(99, b""), (300, b"x" * 200)]), spec) == body


def test_a_size_around_a_cut_is_made_right() -> None:
    """Tag 0 of a ProduceResponse holds structs that have tagged fields themselves."""
    endpoint = b"\0\0\0\1" + b"\2h" + b"\0\0\0\2" + b"\0"
    known = b"\1" + bytes(4) + b"\1\0" + bytes([len(endpoint) + 2]) + b"\2" + endpoint + b"\0"
    with_more = endpoint + b"\1\x63\1!"
    longer = b"\1" + bytes(4) + b"\1\0" + bytes([len(with_more) + 1]) + b"\2" + with_more
    assert without_unknown_tags(longer, message_spec("ProduceResponse", 10).body) == known
    assert messages.parse("ProduceResponse", 10, longer) == messages.parse(
        "ProduceResponse", 10, known
    )
