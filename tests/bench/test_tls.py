"""bench.tls and bench.targets.encrypted: the same loads, over TLS."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import tls
from bench.bars import HANDSHAKES, IDLE
from bench.generators import Report
from bench.loads import Measures
from bench.results import rows
from bench.targets.encrypted import Encrypted, converter_config
from bench.targets.haproxy import haproxy_config
from bench.targets.target import Target
from bench.tls import Handshakes, run_tls, tls_loads, tls_targets
from bench.wire import Plan
from devkit.certificates import Authority


class Inner(Target):
    """A target with two ports that runs nothing."""

    name = "inner"
    title = "inner"
    port = 5000

    def __init__(self) -> None:
        self.did: list[str] = []

    def start(self, broker: str) -> None:
        self.did.append(f"start {broker}")

    def stop(self) -> None:
        self.did.append("stop")

    @property
    def ports(self) -> list[int]:
        return [5000, 5001]

    def processes(self) -> list[int]:
        return [1]


def test_a_target_is_called_by_what_it_encrypts(tmp_path: Path) -> None:
    target = Encrypted(Inner(), tmp_path / "ca.pem", tmp_path)
    assert (target.name, target.title) == ("inner-tls", "inner, TLS")
    assert target.topic("bulk") == "inner-tls-bulk"
    assert target.processes() == [1]


def test_the_converter_leads_to_every_port() -> None:
    text = converter_config({5000: 6000, 5001: 6001}, Path("ca.pem"))
    for plain, port in ((6000, 5000), (6001, 5001)):
        assert f"bind 127.0.0.1:{plain}\n" in text
        assert (
            f"server target 127.0.0.1:{port} ssl verify required ca-file ca.pem "
            "sni str(localhost) no-ssl-reuse\n"
        ) in text
    assert text.count("ciphersuites TLS_AES_256_GCM_SHA384\n") == 1


def test_clients_are_led_through_the_converter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, int]] = []

    class Process:
        command_pid = 77

        def kill(self) -> None:
            started.append(("killed", 0))

    def start(directory: Path, name: str, config: str, port: int) -> Process:
        started.append((name, port))
        return Process()

    monkeypatch.setattr("bench.targets.encrypted.start_haproxy", start)
    inner = Inner()
    with Encrypted(inner, tmp_path / "ca.pem", tmp_path) as target:
        target.start("127.0.0.1:9092")
        assert started == [("converter-inner-tls", target.port)]
        assert target.encrypted_port == 5000
        assert target.leader_port(5000) == target.port
        assert target.leader_port(5001) not in (5000, 5001, target.port)
        assert target.helpers() == [77]
    assert inner.did == ["start 127.0.0.1:9092", "stop"]
    assert started[-1] == ("killed", 0)


def test_haproxy_ends_tls_with_a_certificate() -> None:
    text = haproxy_config("127.0.0.1:9092", 7777, Path("both.pem"))
    assert "bind 127.0.0.1:7777 ssl crt both.pem\n" in text


def test_targets_go_by_their_names(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    targets = tls_targets(authority.file, authority.server())
    assert {name: make(tmp_path).name for name, make in targets.items()} == {
        name: name for name in targets
    }
    assert [*targets] == [
        "haproxy-tls",
        "gateway-ids-tls",
        "gateway-names-tls",
        "gateway-ids-compiled-tls",
        "gateway-names-compiled-tls",
    ]


def test_only_loads_of_which_cpu_time_counts() -> None:
    chosen = tls_loads(0.5)
    assert [load.name for load in chosen] == [
        "bulk produce",
        "bulk fetch",
        "pipelined produce",
        "pipelined fetch",
        "TLS handshakes",
    ]
    assert all(load.kept_apart for load in chosen)


def test_what_a_handshake_costs() -> None:
    found: Measures = Handshakes(HANDSHAKES, "", 300).measures(
        Report(100, 2.0, 0, 0, 0.0, 0.0, 0.0, 0.0), 0.05
    )
    assert found == {"cpu": 500.0, "rate": 50.0}


def test_of_the_targets_asked_for_those_count_that_have_tls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans: list[Plan] = []
    monkeypatch.setattr(tls, "run", lambda plan, *_: plans.append(plan))
    run_tls(Plan(1, 0.1, 0.0, ["direct", "gateway-names", "haproxy"]), lambda _: None)
    assert [plan.targets for plan in plans] == [["haproxy-tls", "gateway-names-tls"]]


@pytest.mark.long("measures")
@pytest.mark.live
def test_every_load_works_over_tls() -> None:
    plan = Plan(
        rounds=1, bulk_gib=0.05, rss_gib=0.0, targets=["haproxy", "gateway-ids"], share=0.05
    )
    outcome = run_tls(plan, lambda _: None)
    found = {(row.load, row.target, row.metric): row for row in rows(outcome.samples)}
    for load in tls_loads(0.05):
        row = found[load.name, "gateway-ids-tls", "cpu"]
        assert row.value.median > 0
        assert row.relative is not None  # to HAProxy, over TLS as well
        base = found[load.name, "haproxy-tls", "cpu"]
        assert base.relative is not None
        assert base.relative.median == 1
    assert found[IDLE, "gateway-ids-tls", "kib"].value.median > 0
