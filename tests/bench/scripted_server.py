"""A server in a thread that responds to request frames as a test says."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Answer = Callable[[bytes], bytes]
"""A request frame without its size -> the bytes written back; if empty, the connection is
closed."""


@dataclass(slots=True)
class Served:
    """The port, and every request frame that came, without sizes."""

    port: int
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0


@contextmanager
def scripted_server(answer: Answer) -> Iterator[Served]:
    """Serve on a free port of this machine for the body of the ``with``."""
    lock = threading.Lock()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with lock:
                served.connections += 1
            while size := self.rfile.read(4):
                request = self.rfile.read(int.from_bytes(size, "big"))
                with lock:
                    served.requests.append(request)
                response = answer(request)
                if not response:
                    return
                self.wfile.write(response)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        served = Served(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()


def correlation_id(request: bytes) -> bytes:
    """The correlation id, four bytes, of a request frame without its size."""
    return request[4:8]


def echo(body: bytes) -> Answer:
    """Answers every request with its correlation id and ``body``."""
    size = (4 + len(body)).to_bytes(4, "big")
    return lambda request: size + correlation_id(request) + body
