"""``kafka-gateway version``: the version of the gateway, and whether its hot path is compiled."""

from __future__ import annotations

import argparse
import json
import platform
from importlib import metadata
from typing import Final

from gateway import exit_codes, version
from gateway.hot_path import running_form

_LIBRARIES: Final = ("uvloop", "kio")
"""The event loop, and Kafka's message schemas: speed and protocol depend on them."""

_EXAMPLES: Final = """\
examples:
  kafka-gateway version
  kafka-gateway version --json
"""


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    parser.description = (
        "Print the gateway's version, whether its hot path is compiled, and the versions of Python,"
        " uvloop and kio; connects to nothing."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    form = running_form()
    content: dict[str, str | int | None] = {
        "version": version(),
        "form": str(form),
        "compiled_modules": form.compiled,
        "hot_path_modules": form.modules,
        "python": platform.python_version(),
        **{name: _installed(name) for name in _LIBRARIES},
    }
    if options.json:
        print(json.dumps(content, indent=2))
        return exit_codes.OK
    rows = [
        ("version", version()),
        ("form", f"{form} ({form.compiled} of {form.modules} modules of the hot path)"),
        ("Python", platform.python_version()),
        *((name, content[name] or "not installed") for name in _LIBRARIES),
    ]
    for name, text in rows:
        print(f"{name:<9}{text}")
    return exit_codes.OK


def _installed(name: str) -> str | None:
    """The version of a distribution, if it is installed here."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
