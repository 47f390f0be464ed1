"""Log lines and counts of records that were skipped."""

from __future__ import annotations

import pytest

from gateway.catalog.log.skipped import LOG_SECONDS, SkipLog, Skipped


def skipped(offset: int, reason: str = "malformed", text: str = "no sense") -> Skipped:
    return Skipped(offset, b"namespace/a", reason, text, "")


def test_each_record_counts_once() -> None:
    account = SkipLog()
    account.note([skipped(3), skipped(5, "forged")])
    account.note([skipped(3), skipped(5, "forged"), skipped(6)])
    rows = {labels: count for _, labels, count in account.take_rows()}
    assert rows == {("malformed",): 2, ("forged",): 1}
    assert account.take_rows() == []
    assert account.total == 3
    account.forget()
    account.note([skipped(0)])
    assert account.total == 4


def test_a_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    account = SkipLog(lambda: now)
    for offset in range(5):
        account.note([skipped(offset)])
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "1 records are skipped, such as the one at offset 0" in caplog.text
    now += LOG_SECONDS
    account.note([skipped(5)])
    assert "5 records are skipped, such as the one at offset 5" in caplog.text
    assert len(caplog.records) == 2


def test_what_others_have_written_is_one_short_line(caplog: pytest.LogCaptureFixture) -> None:
    account = SkipLog()
    account.note([skipped(1, text="x\nERROR all is lost " + "y" * 10_000)])
    (record,) = caplog.records
    assert "\n" not in record.getMessage()
    assert len(record.getMessage()) < 600


def test_what_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    account = SkipLog()
    account.note_lost(0, [])
    assert caplog.text == ""
    account.note_lost(2, [("namespace", "a")])
    assert "lacks 2 entities that it had (junk stands at namespace/a)" in caplog.text
