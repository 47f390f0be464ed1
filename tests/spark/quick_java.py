"""Options of Java for programs that live for minutes: the C1 compiler starts fastest."""

from __future__ import annotations

from typing import Final

OPTIONS: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

DRIVER: Final = "spark.driver.defaultJavaOptions"
EXECUTOR: Final = "spark.executor.defaultJavaOptions"
"""These two settings do not replace the jobs' own."""
