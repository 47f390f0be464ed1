"""Runs ``kafka-gateway`` so that it writes its metrics to a file, :data:`FILE`, when it ends.

``python -m devkit.final_metrics serve --config FILE`` is ``kafka-gateway serve --config FILE``. A
gateway's /metrics ends before its workers do, so it never has the counts of their drain.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from unittest.mock import patch

from prometheus_client import generate_latest

from devkit.sums import FILE
from gateway import cli
from gateway.processes import supervisor
from gateway.processes.supervisor import Supervisor


class _Keeping(Supervisor):
    """A supervisor that writes its metrics once all workers have ended."""

    async def run(self) -> int:
        try:
            return await super().run()
        finally:
            Path(os.environ[FILE]).write_bytes(generate_latest(self.metrics))


def main() -> int:
    """Run the command; returns its exit status."""
    with patch.object(supervisor, "Supervisor", _Keeping):
        return cli.main()


if __name__ == "__main__":
    sys.exit(main())
