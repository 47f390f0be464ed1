"""Brokers that learn late of records that their controller has committed, as on a busy machine.

A controller responds to a change as soon as it is committed, and each broker applies it when it has
read it, a moment later: a broker that is queried in between returns the former state. If the
environment variable ``KAFKA_LAG_MS`` is set, every broker of the devkit applies each change so many
milliseconds late (Byteman injects the pause), so that tests meet this moment each time and not once
in a thousand runs. ``make live-lagging`` runs the live tests with it.
"""

from __future__ import annotations

import os

from devkit.maven import jars
from devkit.paths import cache_dir

VARIABLE = "KAFKA_LAG_MS"
"""The environment variable with the milliseconds."""

_MOST = 400
"""Milliseconds at most: a controller writes a record each 500 ms
(``metadata.max.idle.interval.ms``), and a broker that takes longer for each record never catches
up, so it does not start."""

_RULE = """\
RULE apply changes late
CLASS org.apache.kafka.image.loader.MetadataLoader
METHOD maybePublishMetadata
AT ENTRY
IF TRUE
DO java.lang.Thread.sleep({milliseconds}L)
ENDRULE
"""


def lag_options() -> tuple[str, ...]:
    """The options of a broker's Java; empty if the variable is not set. Raises ValueError if it is
    no number up to 400, and MavenError."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return ()
    milliseconds = int(text)
    if not 0 < milliseconds <= _MOST:
        raise ValueError(f"{VARIABLE}={text}: give 1 to {_MOST}, with more brokers do not start")
    (agent,) = jars("byteman")
    script = cache_dir() / f"lag-{milliseconds}.btm"
    if not script.exists():  # renamed when complete: another broker may be reading it
        unfinished = script.with_suffix(f".{os.getpid()}")
        unfinished.write_text(_RULE.format(milliseconds=milliseconds))
        unfinished.rename(script)
    return (f"-javaagent:{agent}=script:{script}",)
