"""gateway.config_file.page_rules: the page is never open by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.page.passwords import password_line
from tests.config_file.written import MINIMAL, load, rejections


@pytest.mark.parametrize(
    ("metrics", "served"),
    [
        ("{}", True),
        ("{host: localhost}", True),
        ("{host: '::1'}", True),
        ("{page: true}", True),
        ("{page: false}", False),
        # A port that other machines reach stays without a page.
        ("{host: 0.0.0.0}", False),
        ("{host: metrics.example}", False),
        ("{host: 0.0.0.0, page: false}", False),
    ],
)
def test_on_loopback_by_default(tmp_path: Path, metrics: str, served: bool) -> None:
    assert load(tmp_path, f"{MINIMAL}metrics: {metrics}\n").metrics.has_page is served


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("gw.example.org", "is no URL"),
        ("ftp://{gateway_id}.example.org", "is no URL"),
        ("https://gw.example.org/", "one page for all"),
        ("https://{gateway_id}:secret@example.org", "more than host"),
        ("https://{gateway_id}.example.org/?a=b", "more than host"),
    ],
)
def test_the_pages_of_a_fleet_need_a_url_with_the_place_of_an_id(
    tmp_path: Path, url: str, word: str
) -> None:
    text = f"{MINIMAL}metrics: {{fleet_url: '{url}'}}\n"
    (problem,) = rejections(tmp_path, text)
    assert "metrics.fleet_url" in problem and word in problem


def test_elsewhere_with_authentication(tmp_path: Path) -> None:
    (tmp_path / "passwords").write_text(password_line("alice", "correct horse"))
    (tmp_path / "token").write_text("0123456789abcdef")
    for auth in (
        f"passwords: {tmp_path / 'passwords'}",
        f"token: {{file: {tmp_path / 'token'}}}",
        f"passwords: {tmp_path / 'passwords'}, token: {{file: {tmp_path / 'token'}}}",
    ):
        text = f"{MINIMAL}metrics: {{host: 0.0.0.0, auth: {{{auth}}}}}\n"
        assert load(tmp_path, text).metrics.has_page


def test_elsewhere_without_it_is_an_error_with_line_key_and_next_step(tmp_path: Path) -> None:
    assert rejections(tmp_path, f"{MINIMAL}metrics:\n  host: 0.0.0.0\n  page: true\n") == [
        "10: metrics.page: would show the page to all who reach '0.0.0.0'; give metrics.auth"
        " (kafka-gateway page-password makes a password), or make metrics.host 127.0.0.1"
    ]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("  auth: {}", "9: metrics.auth: has neither passwords nor token; give one"),
        ("  page: false\n  auth: {token: {env: PAGE_TOKEN}}", "10: metrics.auth: means nothing"),
        ("  auth:\n    passwords: /none", "10: metrics.auth.passwords: '/none' cannot be read"),
        ("  auth:\n    passwords: EMPTY", "10: metrics.auth.passwords: 'EMPTY' has no user; add"),
        (
            "  auth:\n    token: {env: NO_SUCH_TOKEN}",
            "10: metrics.auth.token: environment variable",
        ),
        ("  auth:\n    token: {env: SHORT_TOKEN}", "10: metrics.auth.token: has 5 characters"),
        ("  auth:\n    token: secret", "10: metrics.auth.token: must be the file or env"),
        ("  auth:\n    tokens: {}", "10: metrics.auth.tokens: unknown key 'tokens'; did you mean"),
    ],
)
def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, told: str) -> None:
    monkeypatch.setenv("PAGE_TOKEN", "0123456789abcdef")
    monkeypatch.setenv("SHORT_TOKEN", "short")
    empty = tmp_path / "empty"
    empty.touch()
    (found, *_) = rejections(tmp_path, f"{MINIMAL}metrics:\n{lines}\n".replace("EMPTY", str(empty)))
    assert found.replace(str(empty), "EMPTY").startswith(told)
