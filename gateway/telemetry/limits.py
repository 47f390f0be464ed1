"""The bounds of pushed metrics: bytes and counts that a client cannot exceed."""

from __future__ import annotations

from typing import Final

MAX_BYTES: Final = 256 * 1024
"""Bytes of a push, compressed and unpacked; the response to GetTelemetrySubscriptions has it as
TelemetryMaxBytes. Java's client pushes some 10 KiB."""

MAX_MESSAGES: Final = 32 * 1024
"""Messages of OTLP in a push, which protobuf reads in one go, in some 5 ms. Java's client takes 14
bytes for each, so 256 KiB of its metrics have 19,000."""

MAX_KEPT_BYTES: Final = 256 * 1024
"""Bytes that are kept of a push, with the names of its metrics. In JSON, as a line for the
supervisor, they take three times as many at most."""

UNIT_BYTES: Final = 64 * 1024
"""Bytes for which a client counts once against ``client_telemetry.max_clients``; a client of which
more is kept counts several times, so that the setting bounds memory, too. The objects and labels of
the client itself, 5 KB at most, are not counted: each client counts once at least."""

FAMILY_BYTES: Final = 176
"""Bytes that the objects of a family take besides its name and its text, in CPython: two headers of
objects and an entry of a dictionary that is not full."""

MAX_ATTRIBUTES: Final = 32
"""Attributes of a data point that become labels; further ones are left out."""

MAX_LABEL: Final = 128
"""Characters of a label's name, and of a value."""

MAX_NAME: Final = 256
"""Characters of the name of a metric; a metric with a longer name is dropped."""
