"""Authorities, a server and clients for tests of TLS."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from devkit.certificates import LOOPBACK, Authority, Credentials
from gateway.config.security import ListenerTls
from tests.tls.tls_pair import trusting


class Pki:
    """Two authorities that do not know each other, and a server of ours."""

    def __init__(self, directory: Path, *hosts: str) -> None:
        self.ours = Authority(directory / "ours")
        self.foreign = Authority(directory / "foreign", "foreign")
        self.server = self.ours.server(hosts=hosts or LOOPBACK)

    def listener(self, **settings: Any) -> ListenerTls:
        """The TLS settings of a listener."""
        return ListenerTls(certificate=self.server.certificate, key=self.server.key, **settings)

    def client(self, credentials: Credentials | None = None) -> ssl.SSLContext:
        """A client that trusts our authority, and shows a certificate if given."""
        if credentials is None:
            return trusting(str(self.ours.file))
        shown = str(credentials.certificate), str(credentials.key)
        return trusting(str(self.ours.file), certificate=shown[0], key=shown[1])
