"""The catalog that a configuration describes."""

from __future__ import annotations

from pathlib import Path

from gateway.brokers.security import BrokerSecurity
from gateway.catalog.replicated import own_security
from tests.config import config_samples


def test_an_identity_of_its_own(tmp_path: Path) -> None:
    clients = BrokerSecurity()
    assert own_security(config_samples.config(tmp_path), clients) is clients
    config = config_samples.config(tmp_path, catalog={"security": {"protocol": "SSL"}})
    own = own_security(config, clients)
    assert own is not clients
    assert own.has_tls
    assert own.key == "catalog.security"
