"""Values that are put in the place of a good value: wrong in most places, and right in some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

# fmt: off
VALUES: Final[Sequence[Any]] = (
    *(None, True, False, 0, 1, -1, 2, 3, 80, 255, 65_535, 65_536, 1_000_000),
    *(2**31 - 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**60, 10**400),
    *(0.0, -0.5, 0.5, 1.5, 1e308, float("inf"), float("-inf"), float("nan")),
    *("", " ", "x", "yes", "1", "-1", "0x1f", "1e999", "~", "null", "*", "**", "é", "\u202e", "😀"),
    *("\0", "a\0b", "\ud800", "a\udfffb", "a\nb", "\x85", "\x1b[2J", "\ufeff", "\u2028"),
    *("x" * 64, "x" * 65, "x" * 250, "x" * 5_000, "x" * 100_000, "ü" * 200, ":" * 300),
    *(":", "::", "a:b", "a::b", ":a", "a:", "/", "//", "/a/b", "..", "..a", "a..b", "a/b:c", "a,b"),
    *("localhost", "127.0.0.1", "0.0.0.0", "::", "::1", "[::1]", "fe80::1%lo", "1.2.3"),  # noqa: S104
    *("host.example", "host.example.", ".example", "a b", "-a.example", "xn--", "999.1.1.1"),
    *("host:0", "host:65536", "host:1:2", "[::1]:9092", "::1:9092", "host:", ":9092", "h:٣"),
    *("http://[", "https://", "http://localhost:99999/", "http://localhost:x/"),
    *("file:///etc/passwd", "HTTP://localhost/", "http://localhost/\n", "https://localhost/keys"),
    *("http://localhost:pw@localhost/", "http://[::1]/", "http://" + "." * 3, "http://%00/"),
    *("http://localhost/ x", "http://[::1"),
    *("1-3", "3-1", "1-", "-1", "0-16777215", "0-99999999999", "1-1, 2", "1" * 5_000, "2-60000"),
    *("User:x", "User:", "x:y", "User:*", "User:a\0b", "CN=x", "RULE:^(.*)$/$1/", "RULE:("),
    *("DEFAULT", "RULE:^" + "(a*)*" * 20 + "$/$1/L", "RULE:(((x{1,9999}){1,9999}){1,9999})/$1/"),
    *("(", "[", "a{1000}", "(a{1,1000}){1,1000}", "(?P<x>a)", "\\", "a" * 1_000, "(" * 999),
    *("os.abort", "os:abort", "builtins.input", "sys.exit", "no.such.Class", ".", "a.", "a:b:c"),
    *("tests.acls.custom.PickyAuthorizer", "tests.acls.custom.NeedsArguments", "this.x", "os"),
    *("{node_id}", "b-{node_id}.example", "{node_id}{node_id}", "{node_id}.", "%s", "${HOME}"),
    *("PLAINTEXT", "SSL", "SASL_SSL", "SASL_PLAINTEXT", "PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"),
    *("none", "required", "enforce", "warn", "upgrade", "colon", "legal", "slash", "all"),
    *([], [None], [[]], ["x"], [1, 2], ["x", "x"], [{}], {}, {"": ""}, {"x": None}, {"x": {}}),
    *({"file": "token"}, {"env": "HOME"}, {"env": ""}, {"env": "A=B"}, {"env": "BROKER_PASSWORD"}),
)

PATHS: Final[Sequence[str]] = (
    *("/dev/zero", "/dev/null", "/dev/random", "/dev/tty", "/dev/stdin", "/dev/full", "/sys", "/"),
    *("/proc/self/mem", "/proc/self/maps", "/proc/kmsg", "/proc/self/fd/0", "token/below"),
    *("fifo", "loop", "dangling", "huge", "empty", "binary", "unreadable", "a\0b", "\ud800"),
    *("x" * 300, "d/" * 2_000 + "x", "token", "keys", "jwks.json", "passwords", "la.pem", "la.key"),
    *("key-password", "brokers-ca.pem", "kafka.example.pem", "kafka.example.key", "log", "log/a/b"),
    *(".", "..", "nothing"),
)
"""Paths of files, and of anything else; ``mutations`` and ``valid`` make the relative ones."""

NO_FILES: Final = (
    *("/dev/zero", "/dev/null", "/dev/tty", "/proc/self/mem", "/proc/kmsg", "nothing", "."),
    *("fifo", "loop", "dangling", "huge", "empty", "binary"),
)

ENCODINGS: Final = ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "utf-7", "cp037")

TAGS: Final = ("!!binary", "!!set", "!!omap", "!!map", "!!seq", "!!str", "!!int", "!!float", "!x")

SNIPPETS: Final[Sequence[str]] = (
    *("\t", "\0", "\x1b", "\ufeff", "\u2028", "\r", "---\n", "...\n", "%YAML 9.9\n---\n"),
    *("&a ", "*a ", "*nothing ", "<<: *a\n", "? ", "- ", "! ", "!x ", "!!python/name:os.system "),
    *("{", "[", "}", "]", "'", '"', "|\n", ">\n", "#", ": ", "@", "`", "\\", '"\\ud800"', '"\\0"'),
    *("1:59:59:59", "1" + ":59" * 3_000, "0x" + "f" * 9_000, "0b" + "1" * 9_000, "2024-13-45"),
    *("[" * 2_000, "{a: " * 2_000, "- " * 2_000, ".inf", "=", "<<", "12" * 5_000, "1e999"),
    *('"\\x85"', "!!binary AAA=", "%TAG ! x\n"),
)
# fmt: on
