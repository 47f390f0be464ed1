"""Errors for bytes that Kafka's protocol does not allow."""

from __future__ import annotations


class ProtocolError(Exception):
    """The bytes do not have the layout of their API and version."""


class TruncatedError(ProtocolError):
    """The bytes end too early; with more bytes the same call may succeed."""


class NotUtf8(ProtocolError):
    """A text is not UTF-8. In a request it is read like a broker reads it: see
    ``protocol.text``."""
