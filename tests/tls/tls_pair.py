"""A TLS handshake between two contexts, without sockets."""

from __future__ import annotations

import ssl
from contextlib import suppress


class Pair:
    """Both ends of a TLS connection. The constructor shakes hands; raises ssl.SSLError."""

    def __init__(
        self,
        server: ssl.SSLContext,
        client: ssl.SSLContext,
        name: str | None = "localhost",
        *,
        session: ssl.SSLSession | None = None,
    ) -> None:
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = client.wrap_bio(to_client, to_server, server_hostname=name, session=session)
        self.server = server.wrap_bio(to_server, to_client, server_side=True)
        client_done = server_done = False
        while not (client_done and server_done):
            client_done = client_done or _step(self.client)
            server_done = server_done or _step(self.server)
        self._to_client = to_client

    def settle(self) -> None:
        """Let the client read the last bytes of the server, because with TLS 1.3 it is done before
        the server has looked at its certificate. Raises ssl.SSLError."""
        with suppress(ssl.SSLWantReadError):
            self.client.read(1)


def _step(end: ssl.SSLObject) -> bool:
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def trusting(
    *authorities: str, certificate: str | None = None, key: str | None = None
) -> ssl.SSLContext:
    """A client's context that trusts these authorities, and shows a certificate if given."""
    context = ssl.create_default_context()
    for each in authorities:
        context.load_verify_locations(each)
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    return context
