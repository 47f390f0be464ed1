"""Errors of bytes that are not as Kafka's protocol has them."""

from __future__ import annotations


class ProtocolError(Exception):
    """The bytes are not what their API and version say."""


class TruncatedError(ProtocolError):
    """The bytes end too early; with more of them the same call may succeed."""


class NotUtf8(ProtocolError):
    """A text is not UTF-8. In a request it is read as a broker reads it: see ``protocol.text``."""
