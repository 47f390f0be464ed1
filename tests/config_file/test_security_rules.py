"""gateway.config_file.security_rules: keys of TLS, or files, that do not go together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from tests.config import config_samples
from tests.tls.pki import Pki


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path)


class Files:
    """Loads configurations with one listener, and returns their errors."""

    def __init__(self, directory: Path, pki: Pki) -> None:
        self._directory = directory
        self.pki = pki
        self.pair = {"certificate": str(pki.server.certificate), "key": str(pki.server.key)}

    def load(self, node_ids: tuple[str, ...] = ("1-3",), **listener: Any) -> Config:
        values = config_samples.values()
        values["clusters"][0]["node_ids"] = list(node_ids)
        values["listeners"][0] |= listener
        return load_config(config_samples.write(self._directory, **values))

    def rejections(self, **listener: Any) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            self.load(**listener)
        lines = str(caught.value).splitlines()
        return [line.partition(": ")[2].removeprefix("listeners[0].") for line in lines]


@pytest.fixture
def files(tmp_path: Path, pki: Pki) -> Files:
    return Files(tmp_path, pki)


def test_tls_that_is_as_it_should_be(files: Files) -> None:
    files.load(security_protocol="SSL", tls=files.pair)
    sasl = {"mechanisms": ["SCRAM-SHA-512"]}
    files.load(security_protocol="SASL_SSL", tls=files.pair, sasl=sasl)
    asked = files.pair | {"client_auth": "required", "client_ca": str(files.pki.ours.file)}
    rules = ["RULE:CN=(.*)/$1/L", "DEFAULT"]
    config = files.load(security_protocol="SSL", tls=asked | {"principal_mapping_rules": rules})
    assert config.listeners[0].tls is not None
    assert config.listeners[0].tls.principal_mapping_rules == tuple(rules)


def test_the_gateways_own_node(files: Files) -> None:
    files.load(gateway_port=9900)
    by_name = {
        "security_protocol": "SSL",
        "tls": files.pair,
        "broker_names": "b-{node_id}.kafka.example",
        "advertised_host": "kafka.example",
    }
    base = config_samples.values()["listeners"][0]
    assert "gateway_name" not in base
    assert files.rejections(gateway_name="gw-a.kafka.example") == [
        "gateway_name: means nothing without broker_names; give a gateway_port"
    ]
    assert files.rejections(**by_name, gateway_port=9900)[0] == (
        "gateway_port: means nothing with broker_names: give the gateway a gateway_name"
    )
    for name, text in [
        ("kafka.example", "'kafka.example' is the bootstrap's name too; the gateway needs its own"),
        ("b-9.kafka.example", "'b-9.kafka.example' is the name of a broker too; the gateway needs"
         " its own"),
        ("x y", "'x y' is no host name; correct it"),
    ]:  # fmt: skip
        assert f"gateway_name: {text}" in files.rejections(**by_name, gateway_name=name)


def test_tls_without_a_protocol_and_the_other_way_round(files: Files) -> None:
    assert files.rejections(tls=files.pair) == [
        "tls: means nothing with PLAINTEXT; make security_protocol SSL or SASL_SSL"
    ]
    assert files.rejections(security_protocol="SSL") == [
        "tls: is missing, as security_protocol is SSL; give certificate and key"
    ]


def test_files_are_read(files: Files, tmp_path: Path) -> None:
    missing = tmp_path / "none.pem"
    other = files.pki.ours.client("other")

    def rejected(**tls: Any) -> list[str]:
        return files.rejections(security_protocol="SSL", tls=files.pair | tls)

    assert rejected(certificate=str(missing)) == [
        f"tls.certificate: '{missing}' cannot be read: no such file or directory; correct it"
    ]
    assert rejected(key=str(other.key)) == [
        f"tls.key: '{other.key}' is not the key of the certificate; "
        "give the two that belong together"
    ]
    assert rejected(client_auth="required", client_ca=str(missing)) == [
        f"tls.client_ca: '{missing}' cannot be read: no such file or directory; correct it"
    ]
    assert rejected(client_auth="requested") == [
        "tls.client_ca: is missing; give the authorities of client certificates"
    ]
    assert rejected(key_password={"env": "NOT_SET_ANYWHERE"}) == [
        "tls.key_password: environment variable NOT_SET_ANYWHERE is not set; set it"
    ]


def test_what_means_nothing_is_told(files: Files) -> None:
    tls = {"client_ca": str(files.pki.ours.file), "principal_mapping_rules": ["DEFAULT"]}
    assert files.rejections(security_protocol="SSL", tls=files.pair | tls) == [
        f"tls.{key}: means nothing while client_auth is none; make that required, or remove it"
        for key in ("client_ca", "principal_mapping_rules")
    ]
    asked = files.pair | tls | {"client_auth": "required"}
    sasl = {"mechanisms": ["SCRAM-SHA-512"]}
    assert files.rejections(security_protocol="SASL_SSL", tls=asked, sasl=sasl) == [
        "tls.principal_mapping_rules: means nothing with SASL_SSL, where principals are SASL's; "
        "remove it"
    ]


def test_mapping_rules_are_read(files: Files) -> None:
    asked = files.pair | {"client_auth": "required", "client_ca": str(files.pki.ours.file)}
    assert files.rejections(
        security_protocol="SSL", tls=asked | {"principal_mapping_rules": ["RULE:(/x/"]}
    ) == [
        "tls.principal_mapping_rules: '(' is no regular expression of RE2: missing ): (",
    ]


NAMES = "broker-{node_id}.kafka.example"


def test_broker_names(files: Files) -> None:
    tls: dict[str, Any] = {
        "security_protocol": "SSL",
        "tls": files.pair,
        "advertised_host": "kafka.example",
    }
    assert files.load(**tls, broker_names=NAMES).listeners[0].broker_names == NAMES
    assert files.rejections(broker_names=NAMES) == [
        "broker_names: needs TLS, in which clients say what name they ask for; "
        "make security_protocol SSL or SASL_SSL"
    ]
    assert files.rejections(**tls, broker_names="broker.kafka.example") == [
        "broker_names: 'broker.kafka.example' must hold {node_id} once; "
        "write it like broker-{node_id}"
    ]
    same = tls | {"advertised_host": "broker-3.kafka.example"}
    assert files.rejections(**same, broker_names=NAMES) == [
        "broker_names: 'broker-3.kafka.example' is the name of broker 3 too; "
        "the bootstrap needs its own"
    ]
    assert files.rejections(**tls, broker_names=NAMES, broker_base_port=9300) == [
        "broker_base_port: means nothing with broker_names: all brokers are at the bootstrap "
        "port; remove it"
    ]


def test_broker_names_in_a_tree_have_the_node_ids_that_clients_see(tmp_path: Path) -> None:
    """number << 16 | id."""
    pki = Pki(tmp_path)
    values = config_samples.tree_values()
    values["clusters"][0]["number"] = 300
    names = {
        "security_protocol": "SSL",
        "tls": {"certificate": str(pki.server.certificate), "key": str(pki.server.key)},
        "advertised_host": "kafka.example",
        "broker_names": NAMES,
    }

    def rejections(**changed: str) -> list[str]:
        values["listeners"][0] |= {**names, **changed}
        try:
            load_config(config_samples.write_tree(tmp_path, **values))
        except ConfigError as error:
            return [line.partition("broker_names: ")[2] for line in str(error).splitlines()]
        return []

    assert rejections() == []
    assert rejections(advertised_host="broker-3.kafka.example") == []
    for virtual, node_id in ((300 << 16 | 3, 3), (2 << 16 | 1, 1)):
        assert rejections(advertised_host=f"broker-{virtual}.kafka.example") == [
            f"'broker-{virtual}.kafka.example' is the name of broker {node_id} too; the bootstrap "
            "needs its own"
        ]
    long = "b" * 56 + "{node_id}.kafka.example"
    assert rejections(broker_names=long) == [
        f"'{long}' gives '{'b' * 56}19660803.kafka.example', which is no host name; shorten it"
    ]


def test_too_many_broker_names(files: Files) -> None:
    tls: dict[str, Any] = {
        "security_protocol": "SSL",
        "tls": files.pair,
        "advertised_host": "kafka.example",
    }
    assert files.rejections(**tls, broker_names=NAMES, node_ids=("0-65535",)) == [
        "broker_names: would make 65,536 names; give at most 65,535 node_ids"
    ]


def test_with_node_ids_that_make_no_sense_names_are_not_judged(files: Files) -> None:
    lines = files.rejections(
        security_protocol="SSL", tls=files.pair, broker_names=NAMES, node_ids=("3-1",)
    )
    assert len(lines) == 1
    assert lines[0].startswith("clusters[0].node_ids: ")
