"""TLS for live tests: authorities, files of a gateway, and settings of clients."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devkit.certificates import LOOPBACK, Authority, Credentials


class LivePki:
    """``ours`` signs the gateway's certificate and is trusted by it; ``foreign`` is another
    authority."""

    def __init__(self, directory: Path, *hosts: str) -> None:
        self.directory = directory
        self.ours = Authority(directory / "ours")
        self.foreign = Authority(directory / "foreign", "foreign")
        self.server = self.ours.server(hosts=hosts or LOOPBACK)

    def tls(self, **more: Any) -> dict[str, Any]:
        """A listener's ``tls`` section in the configuration."""
        return {
            "certificate": str(self.server.certificate),
            "key": str(self.server.key),
            **{
                key: str(value) if isinstance(value, Path) else value for key, value in more.items()
            },
        }

    def confluent(
        self, shown: Credentials | None = None, authority: Authority | None = None
    ) -> dict[str, str]:
        """Settings of confluent-kafka that trust an authority (ours) and present a certificate."""
        settings = {
            "security.protocol": "SSL",
            "ssl.ca.location": str((authority or self.ours).file),
        }
        if shown is not None:
            settings |= {
                "ssl.certificate.location": str(shown.certificate),
                "ssl.key.location": str(shown.key),
            }
        return settings

    def java(self, shown: Credentials | None = None, authority: Authority | None = None) -> Path:
        """A property file for Kafka's Java clients with the same settings."""
        settings = {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str((authority or self.ours).file),
        }
        if shown is not None:
            settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(shown.both)}
        who = "nobody" if shown is None else shown.certificate.stem
        path = (
            self.directory / f"client-{who}-{'ours' if authority is None else 'other'}.properties"
        )
        path.write_text(properties(settings))
        return path


def properties(settings: Mapping[str, str]) -> str:
    """A Java property file."""
    return "".join(f"{key}={value}\n" for key, value in settings.items())
