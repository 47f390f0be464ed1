"""docs/tls.md: its example, its tables of principals and names, and its messages about failures."""

from __future__ import annotations

import re
import ssl
import subprocess
from pathlib import Path
from typing import get_args

import pytest
import yaml
from cryptography.x509.oid import NameOID

from devkit.certificates import Authority, subject
from gateway.broker_names import BrokerNames
from gateway.checks import check
from gateway.commands.output import table
from gateway.config.models import Config
from gateway.config.security import ListenerTls
from gateway.config_file.loading import load_config
from gateway.connections.listeners import listener_addresses
from gateway.node_ids import NodeIdRanges
from gateway.tls.contexts import CIPHERS
from gateway.tls.distinguished_name import name_text
from gateway.tls.principal_mapping import NoMatchingRule, PrincipalMapping
from tests.docs import markdown
from tests.tls.name_samples import CN, ORG, OU, Attributes, C, content_of

PAGE = markdown.read("docs/tls.md")


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """The page's configuration, with files at its paths."""
    (block,) = (block for block in markdown.blocks(PAGE) if block.language == "yaml")
    authority = Authority(tmp_path / "pki")
    made = authority.server(hosts=["kafka.example", "*.kafka.example"])
    directory = tmp_path / "tls"
    directory.mkdir()
    for name, source in {
        "gateway.crt": made.certificate,
        "gateway.key": made.key,
        "clients-ca.crt": authority.file,
    }.items():
        (directory / name).write_bytes(source.read_bytes())
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "gateway.yaml"
    path.write_text(block.text)
    return load_config(path)


def test_the_example_gives_the_table_shown(example: Config) -> None:
    texts = [block.text for block in markdown.blocks(PAGE)]
    assert table(check.plan_rows(check.plan(example))) in texts


def test_the_example_s_rules(example: Config) -> None:
    tls = example.listeners[0].tls
    assert tls is not None
    mapping = PrincipalMapping(tls.principal_mapping_rules)
    assert mapping.name("CN=Billing,OU=services,O=Example") == "billing"
    assert mapping.name("CN=Billing,OU=people") == "CN=Billing,OU=people"


# The subjects of the page's table, in the form of openssl's output.
SUBJECTS: dict[str, Attributes] = {
    "C = CH, O = Example, OU = services, CN = billing": (
        (C, "CH"),
        (ORG, "Example"),
        (OU, "services"),
        (CN, "billing"),
    ),
    'O = "Example, Inc.", CN = alice': ((ORG, "Example, Inc."), (CN, "alice")),
    "CN = alice, emailAddress = a@b.c": ((CN, "alice"), (NameOID.EMAIL_ADDRESS, "a@b.c")),
}


def test_subjects_and_their_principals(tmp_path: Path) -> None:
    rows = markdown.table(PAGE, "the subject, as openssl shows it")
    assert [markdown.code(row[0]) for row in rows] == list(SUBJECTS)
    authority = Authority(tmp_path)
    for row in rows:
        attributes = SUBJECTS[markdown.code(row[0])]
        assert markdown.code(row[1]) == f"User:{name_text(content_of(attributes))}"
        made = authority.client("shown", subject(*attributes))
        command = ["openssl", "x509", "-in", str(made.certificate), "-noout", "-subject"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        plain = shown.removeprefix("subject").lstrip(" =").strip()
        assert plain.replace(" = ", "=") == markdown.code(row[0]).replace(" = ", "=")


def test_mapping_rules() -> None:
    name = "CN=Billing,OU=services,O=Example,C=CH"
    rows = markdown.table(PAGE, "rule")
    assert len(rows) == 4
    for rule, principal in rows:
        try:
            found = f"User:{PrincipalMapping([markdown.code(rule)]).name(name)}"
        except NoMatchingRule:
            found = "rejected"
        assert found == (markdown.code(principal) if "`" in principal else principal)


def test_the_names_in_the_picture(example: Config) -> None:
    ranges = NodeIdRanges.parse(example.clusters[0].node_ids)
    names = listener_addresses(example.listeners[0], ranges).names
    assert isinstance(names, BrokerNames)
    (picture,) = (b.text for b in markdown.blocks(PAGE) if "clients ask for" in b.text)
    assert names.node_id("kafka.example") is None
    shown = re.findall(r"(broker-\d+\.kafka\.example) .*broker (\d+)", picture)
    assert [(name, int(node)) for name, node in shown] == [
        (names.host(node), node) for node in (1, 2, 11)
    ]


def test_client_auth_has_every_value() -> None:
    values = get_args(ListenerTls.model_fields["client_auth"].annotation)
    rows = markdown.table(PAGE, "`client_auth` is")
    assert [markdown.code(row[0]) for row in rows] == list(values)


def test_the_ciphers() -> None:
    assert "ECDHE with AES-GCM or ChaCha20-Poly1305" in PAGE
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(CIPHERS)
    older = [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]
    assert older
    for name in older:
        assert re.fullmatch(r"ECDHE-(RSA|ECDSA)-(AES(128|256)-GCM-SHA\d+|CHACHA20-POLY1305)", name)


def test_the_example_names_keys_that_there_are(example: Config) -> None:
    (block,) = (block for block in markdown.blocks(PAGE) if block.language == "yaml")
    (listener,) = yaml.safe_load(block.text)["listeners"]
    rows = markdown.table(PAGE, "in the file")
    named = {name for row in rows for name in markdown.spans(row[0])}
    assert named >= set(listener["tls"])
