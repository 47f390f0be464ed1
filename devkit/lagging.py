"""Brokers that learn late of what their controller has committed, as on a busy machine.

A controller answers a change as soon as it is committed, and each broker applies it when it has
read it, a moment later: whoever asks a broker in between is told what was before. With the
environment variable ``KAFKA_LAG_MS`` every broker of the devkit applies each change so many
milliseconds late (Byteman injects the pause), so that this moment is met each time and not once in
a thousand runs. ``make live-lagging`` runs the live tests so.
"""

from __future__ import annotations

import os

from devkit.maven import jars
from devkit.paths import cache_dir

VARIABLE = "KAFKA_LAG_MS"
"""The environment variable with the milliseconds."""

_MOST = 400
"""Milliseconds: a controller writes a record each 500 (``metadata.max.idle.interval.ms``), and a
broker that takes longer for each never catches up, so it does not start."""

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
    """The options of a broker's Java; none without the variable. Raises ValueError if that is no
    number up to 400, and MavenError."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return ()
    milliseconds = int(text)
    if not 0 < milliseconds <= _MOST:
        raise ValueError(f"{VARIABLE}={text}: give 1 to {_MOST}, with more brokers do not start")
    (agent,) = jars("byteman")
    script = cache_dir() / f"lag-{milliseconds}.btm"
    if not script.exists():  # whole, since brokers of other processes may be reading it
        unfinished = script.with_suffix(f".{os.getpid()}")
        unfinished.write_text(_RULE.format(milliseconds=milliseconds))
        unfinished.rename(script)
    return (f"-javaagent:{agent}=script:{script}",)
