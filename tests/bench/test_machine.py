"""bench.machine."""

from __future__ import annotations

import os
import re

from bench.machine import provenance


def test_it_says_what_was_measured_where() -> None:
    found = provenance()
    assert re.fullmatch(r"([0-9a-f]{7,}|none)\+?", found.commit)
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.memory_gib > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.date)
    # The place of the measurement is private: no names of hosts, users or directories.
    assert os.uname().nodename not in found.line.split(", ")
