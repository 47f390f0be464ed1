"""gateway.error_codes: the numbers are Kafka's."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from gateway import error_codes


def test_every_code_is_kafkas_of_that_name() -> None:
    """By kio's list, which is generated from Kafka's Errors.java."""
    ours = {name: value for name, value in vars(error_codes).items() if name.isupper()}
    assert len(ours) > 30
    assert ours == {name: ErrorCode[name.lower()].value for name in ours}
