"""Responses to AlterConfigs and IncrementalAlterConfigs."""

from __future__ import annotations

import pytest

from gateway.changes.configs.alter_configs import response
from gateway.decision import Denied
from gateway.rules.nested import element_class, make
from protocol import messages


@pytest.mark.parametrize(
    ("api", "version"),
    [("AlterConfigs", 0), ("AlterConfigs", 2), ("IncrementalAlterConfigs", 1)],
)
def test_every_resource_is_answered_in_its_order(api: str, version: int) -> None:
    cls = element_class(messages.message_class(f"{api}Request", version), "resources")
    asked = [make(cls, {"resource_type": 2, "resource_name": name}) for name in ("b", "a")]
    body = response(f"{api}Response", version, asked, [Denied(44, "No.", "policies"), None])
    told = messages.parse(f"{api}Response", version, body).responses
    assert [
        (t.resource_type, t.resource_name, int(t.error_code), t.error_message) for t in told
    ] == [
        (2, "b", 44, "No."),
        (2, "a", 0, None),
    ]
