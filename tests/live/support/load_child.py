"""The process of a client under load: ``python -m tests.live.support.load_child DESCRIPTOR``.

The descriptor is of the connection that brings the client, and over which it reports
(tests/live/support/load_line.py).
"""

from __future__ import annotations

import faulthandler
import sys
from multiprocessing.connection import Connection

from tests.live.support.load_line import Client, Facts, Line


def main() -> None:
    """Run the client to its end."""
    faulthandler.enable()  # so that a crash shows where the client was
    with Connection(int(sys.argv[1])) as connection:
        client: Client[Facts]
        client, facts = connection.recv()
        client.run(Line(connection, facts))


if __name__ == "__main__":
    main()
