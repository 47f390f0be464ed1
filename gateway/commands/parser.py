"""The parser of ``kafka-gateway`` and of each subcommand, with features that argparse lacks."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

from gateway.commands.errors import print_failure
from gateway.config.errors import nearest
from gateway.files import input_path

CONFIG_HELP: Final = "the configuration, a YAML file; also without --config; - is standard input"

_INVALID_CHOICE: Final = re.compile(r"invalid choice: '(?P<word>.*)' \(choose from (?P<known>.*)\)")
_KNOWN: Final = re.compile(r"[\w-]+")


class Parser(argparse.ArgumentParser):
    """A parser, of a subcommand too, that reports unknown flags with its own usage.

    If it has a ``module``, that module's ``fill`` fills it; the module is imported
    when the parser is used.
    """

    def __init__(self, module: str | None = None, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self._module = module
        self._takes_config = False
        self._words: Sequence[str] = ()

    def filled(self) -> Parser:
        """This parser with its description and flags."""
        module, self._module = self._module, None
        if module is not None:
            import_module(module).fill(self)
        return self

    def take_config(self) -> None:
        """Take the configuration's file, as ``--config FILE`` or as ``FILE``."""
        # This is not argparse's optional positional, because before Python 3.12.7 argparse takes
        # that for absent if a flag precedes it.
        self.add_argument("--config", metavar="FILE", type=input_path, help=CONFIG_HELP)
        self._takes_config = True

    def parse_known_args(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        self.filled()
        self._words = [] if args is None else [*args]
        found, unknown = super().parse_known_args(args, namespace)
        if self._takes_config:
            self._take_file(found, unknown)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error, and exit with status 2."""
        choice = _INVALID_CHOICE.search(message)
        if choice is not None:
            message += _did_you_mean(choice["word"], _KNOWN.findall(choice["known"]))
        if "--json" in self._words:
            print_failure(message)
        super().error(message)

    def _take_file(self, found: argparse.Namespace, unknown: list[str]) -> None:
        files = [word for word in unknown if word == "-" or not word.startswith("-")]
        if len(files) == 1 and found.config is None:
            unknown.remove(files[0])
            found.config = input_path(files[0])
        elif files and found.config is not None and not unknown[len(files) :]:
            self.error(f"one configuration is enough: '{found.config}', or '{files[0]}'")
        if found.config is None and not unknown:
            self.error("the configuration is missing: give its FILE, or --config FILE")

    def _meant(self, unknown: Sequence[str]) -> str:
        """A suggestion of the flag that was probably meant by the first unknown flag."""
        flags = {flag.lstrip("-"): flag for flag in self._option_string_actions}
        for word in unknown:
            if word.startswith("--"):
                name = word.partition("=")[0].lstrip("-")
                return _did_you_mean(name, [*flags], "--")
        return ""


def _did_you_mean(word: str, known: Sequence[str], before: str = "") -> str:
    near = nearest(word, known)
    return "" if near is None else f"; did you mean {before}{near}?"
