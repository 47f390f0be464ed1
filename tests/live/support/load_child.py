"""The process of a client under load: ``python -m tests.live.support.load_child DESCRIPTOR``.

The descriptor is that of a connection, by which the client comes, and over which it speaks
(tests/live/support/load_line.py).
"""

from __future__ import annotations

import faulthandler
import sys
from multiprocessing.connection import Connection

from tests.live.support.load_line import Client, Facts, Line


def main() -> None:
    """Run the client to its end."""
    faulthandler.enable()  # so that a crash says what the client was doing
    with Connection(int(sys.argv[1])) as connection:
        client: Client[Facts]
        client, facts = connection.recv()
        client.run(Line(connection, facts))


if __name__ == "__main__":
    main()
