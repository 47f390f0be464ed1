"""gateway.checks.certificates: findings of `kafka-gateway check` about certificates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devkit.certificates import Credentials
from gateway.checks.certificates import (
    certificate_facts,
    certificate_problems,
    certificate_warnings,
)
from gateway.config.errors import Problem, key_text
from gateway.config.models import Config
from gateway.tls.certificate_names import covers
from tests.config import config_samples
from tests.tls.pki import Pki


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path)


def config(directory: Path, made: Credentials, **listener: Any) -> Config:
    values = config_samples.values()
    values["listeners"][0] |= {
        "security_protocol": "SSL",
        "tls": {"certificate": str(made.certificate), "key": str(made.key)},
        **listener,
    }
    return config_samples.config(directory, **values)


def told(problems: Iterable[Problem]) -> list[str]:
    found = list(problems)
    assert {key_text(each.key) for each in found} <= {"listeners[0].tls.certificate"}
    return [each.text for each in found]


def test_a_good_certificate(pki: Pki, tmp_path: Path) -> None:
    good = config(tmp_path, pki.server)
    assert told(certificate_problems(good)) == []
    assert told(certificate_warnings(good)) == []
    facts = certificate_facts(good.listeners[0])
    assert facts is not None
    assert facts.names == ("localhost", "127.0.0.1")
    assert 364 < facts.seconds_left / 86_400 <= 365


def test_no_certificate(tmp_path: Path) -> None:
    plain = config_samples.config(tmp_path)
    assert certificate_facts(plain.listeners[0]) is None
    assert told(certificate_problems(plain)) == []


def test_one_that_soon_expires_still_works(pki: Pki, tmp_path: Path) -> None:
    made = pki.ours.server("soon", valid=timedelta(days=29.5))
    soon = config(tmp_path, made)
    assert told(certificate_problems(soon)) == []
    assert told(certificate_warnings(soon)) == [
        f"'{made.certificate}' expires in 29 days; renew it"
    ]


def test_one_that_has_expired_does_not(pki: Pki, tmp_path: Path) -> None:
    made = pki.ours.server("late", valid=-timedelta(days=1))
    late = config(tmp_path, made)
    (problem,) = told(certificate_problems(late))
    assert problem.startswith(f"'{made.certificate}' has expired, on 2")
    assert told(certificate_warnings(late)) == []


def test_a_chain_expires_with_its_first(pki: Pki, tmp_path: Path) -> None:
    chain = tmp_path / "chain.pem"
    issuer = pki.ours.server("issuer", valid=timedelta(days=3.5))
    chain.write_bytes(pki.server.certificate.read_bytes() + issuer.certificate.read_bytes())
    made = Credentials(chain, pki.server.key, chain)
    assert told(certificate_warnings(config(tmp_path, made))) == [
        f"'{chain}' expires in 3 days; renew it"
    ]


def test_names_that_it_does_not_hold(pki: Pki, tmp_path: Path) -> None:
    made = pki.ours.server("other", ["gw.example", "b-1.gw.example"])
    elsewhere = config(tmp_path, made, advertised_host="elsewhere.example")
    assert told(certificate_problems(elsewhere)) == [
        f"'{made.certificate}' is not for 'elsewhere.example', which clients are told to connect "
        "to; get one with these subject alternative names"
    ]
    names = {"advertised_host": "gw.example", "broker_names": "b-{node_id}.gw.example"}
    (problem,) = told(certificate_problems(config(tmp_path, made, **names)))
    assert "is not for 'b-2.gw.example', 'b-3.gw.example', which" in problem


def test_many_missing_names_are_cut(pki: Pki, tmp_path: Path) -> None:
    values = config_samples.values()
    values["clusters"][0]["node_ids"] = ["1-100"]
    values["listeners"][0] |= {
        "security_protocol": "SSL",
        "tls": {"certificate": str(pki.server.certificate), "key": str(pki.server.key)},
        "broker_names": "b{node_id}.example",
    }
    (problem,) = told(certificate_problems(config_samples.config(tmp_path, **values)))
    assert "'b1.example', 'b2.example', 'b3.example', 'b4.example' and 96 more, which" in problem


def test_a_file_that_is_gone_since_is_left_to_others(pki: Pki, tmp_path: Path) -> None:
    loaded = config(tmp_path, pki.server)
    pki.server.certificate.unlink()
    assert told(certificate_problems(loaded)) == []


@pytest.mark.parametrize(
    ("names", "host", "covered"),
    [
        (["gw.example"], "gw.example", True),
        (["gw.example"], "GW.Example.", True),
        (["GW.example"], "gw.example", True),
        (["*.gw.example"], "b1.gw.example", True),
        (["*.gw.example"], "gw.example", False),
        (["*.gw.example"], "a.b.gw.example", False),
        (["*"], "gw", False),
        (["*.example"], "gw.example", True),
        (["b*.gw.example"], "b1.gw.example", False),
        (["127.0.0.1"], "127.0.0.1", True),
        (["127.0.0.1"], "127.0.0.2", False),
        (["::1"], "0:0::1", True),
        (["*.0.0.1"], "127.0.0.1", False),
        ([], "gw.example", False),
        (["other", "gw.example"], "gw.example", True),
    ],
)
def test_which_hosts_a_certificate_is_for(names: list[str], host: str, covered: bool) -> None:
    assert covers(tuple(names), host) is covered


# -- among peers ----------------------------------------------------------------------------------


def among_peers(directory: Path, made: Credentials, **tree: Any) -> list[list[str]]:
    """The problems and the warnings of a gateway that shows its peers this certificate."""
    values = config_samples.peer_values(directory, **tree)
    values["tree"]["tls"] |= {"certificate": str(made.certificate), "key": str(made.key)}
    loaded = config_samples.tree(directory, **values)
    found = list(certificate_problems(loaded)), list(certificate_warnings(loaded))
    keys = {key_text(one.key) for each in found for one in each}
    assert keys <= {"tree.tls.certificate"}
    return [[one.text for one in each] for each in found]


def test_a_certificate_of_a_peer(pki: Pki, tmp_path: Path) -> None:
    # It need not have the names of listeners, which have certificates of their own.
    assert among_peers(tmp_path, pki.ours.peer("gw", hosts=["gw.example"])) == [[], []]


@pytest.mark.parametrize(
    ("missing", "unless"),
    [
        ("clients (extended key usage clientAuth)", {"parents": [], "children": []}),
        ("servers (extended key usage serverAuth)", {"listener": None}),
    ],
)
def test_it_is_for_servers_and_for_clients(
    pki: Pki, tmp_path: Path, missing: str, unless: dict[str, Any]
) -> None:
    made = pki.server if missing.startswith("clients") else pki.ours.client("gw")
    ((text,), warnings) = among_peers(tmp_path, made)
    assert text == (
        f"'{made.certificate}' is not for {missing}, and it is shown to gateways that are asked "
        "and that ask; get one for servers and clients"
    )
    assert warnings == []
    assert among_peers(tmp_path, made, **unless) == [[], []]


def test_it_expires(pki: Pki, tmp_path: Path) -> None:
    old = pki.ours.client("gw", valid=timedelta(days=-1))
    problems, warnings = among_peers(tmp_path, old, listener=None)
    assert len(problems) == 1
    assert problems[0].startswith(f"'{old.certificate}' has expired, on ")
    assert warnings == []
    soon = pki.ours.client("gw", valid=timedelta(days=3, hours=1))
    assert among_peers(tmp_path, soon, listener=None) == [
        [],
        [f"'{soon.certificate}' expires in 3 days; renew it"],
    ]
