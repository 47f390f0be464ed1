"""``kafka-gateway page-password``: a line for the file of the users that may see the page."""

from __future__ import annotations

import argparse
import getpass
import sys
from typing import Final

from gateway.commands.actions import run
from gateway.commands.errors import CommandError, UsageError
from gateway.commands.flags import OPERATOR_STATUS
from gateway.commands.output import Output
from gateway.page.passwords import check_user, password_line

MIN_PASSWORD: Final = 8

_EXAMPLES: Final = """\
examples:
  kafka-gateway page-password alice >> page-passwords
  kafka-gateway page-password alice < alice.txt >> page-passwords
"""


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    parser.description = (
        "Print a user and the hash of a password, which is asked for, or read from the first line"
        " of standard input: a line for the file that metrics.auth.passwords names."
    )
    parser.epilog = _EXAMPLES + OPERATOR_STATUS
    parser.add_argument("user", metavar="USER", help="who logs in to the page")
    parser.set_defaults(run=lambda options: run(lambda: _line(options.user), options))


async def _line(user: str) -> Output:
    try:
        check_user(user)
    except ValueError as error:
        raise UsageError(str(error)) from None
    password = _typed(user) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    if len(password) < MIN_PASSWORD:
        raise CommandError(
            f"the password has {len(password)} characters; choose one of {MIN_PASSWORD} or more"
        )
    return Output({}, password_line(user, password))


def _typed(user: str) -> str:
    password = getpass.getpass(f"Password of {user} for the page: ", stream=sys.stderr)
    if getpass.getpass("The same again: ", stream=sys.stderr) != password:
        raise CommandError("the two passwords differ; try again")
    return password
