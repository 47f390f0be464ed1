"""Log lines of passwords and keys of logins."""

from __future__ import annotations

from typing import Final

from devkit.log_lines.log_line import LogLine

LINES: Final = (
    LogLine(
        "info",
        "%s.%s has been read again",
        "nothing: a PLAIN password was changed",
    ),
    LogLine(
        "warning",
        "%s.%s: %s; nobody logs in as this user",
        "the file of a PLAIN password cannot be read: put it back, or take the user out of `users`",
    ),
    LogLine(
        "info",
        "%s has been read again",
        "nothing: the file of a key set was changed",
    ),
    LogLine(
        "warning",
        "%s: the keys read before stay in use: %s",
        "mend the file of the key set",
    ),
    LogLine(
        "warning",
        "%s: no keys yet, so nobody logs in with a token: %s",
        "see to the URL of the key set; it is tried again, and logged again only after a change",
    ),
    LogLine(
        "warning",
        "%s: the keys fetched before stay in use: %s",
        "the same; clients notice nothing until the issuer changes its keys",
    ),
    LogLine(
        "info",
        "%s: the keys can be fetched again",
        "nothing",
    ),
    LogLine(
        "error",
        "%s: fetching the keys failed",
        "a defect: keep the lines; it is tried again",
    ),
    LogLine(
        "warning",
        "a key of a JWKS cannot be used: no %s key, or malformed",
        "tell the issuer; the other keys are used",
    ),
)
