"""``kafka-gateway completion``: the script with which a shell completes command lines on Tab.

The script is made from the parsers, so it knows every command and flag of this version. Pressing
Tab starts no Python; argcomplete, the usual library, would start it.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from gateway import exit_codes
from gateway.commands.flags import examples
from gateway.commands.parser import Parser

_EXAMPLES: Final = """\
  source <(kafka-gateway completion bash)  # in ~/.bashrc
  source <(kafka-gateway completion zsh)  # in ~/.zshrc, after compinit
  kafka-gateway completion fish > ~/.config/fish/completions/kafka-gateway.fish
"""


class _Flag(NamedTuple):
    """A flag of a command; ``choices`` are the values that it takes, if they are few."""

    name: str
    help: str
    takes_value: bool
    choices: tuple[str, ...]


class _Level(NamedTuple):
    """The words that may follow the command ``path``: subcommands with their help, and flags."""

    path: str
    commands: Mapping[str, str]
    flags: tuple[_Flag, ...]


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    parser.description = "Print a script with which a shell completes commands and flags by Tab."
    parser.epilog = f"{examples('completion bash')}to have it in every shell:\n{_EXAMPLES}"
    parser.add_argument("shell", choices=[*_SHELLS], help="the shell that the script is for")
    parser.set_defaults(run=_print_script)


def _print_script(options: argparse.Namespace) -> int:
    print(_SHELLS[options.shell]([*_levels(options.parser, "")]), end="")
    return exit_codes.OK


def _levels(parser: Parser, path: str) -> Iterator[_Level]:
    """The levels of a parser and of the parsers below it."""
    commands: dict[str, str] = {}
    below: dict[str, Parser] = {}
    flags = []
    for action in parser.filled()._actions:
        if isinstance(action, argparse._SubParsersAction):
            below = dict(action.choices)
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            commands = {name: helps.get(name, "") for name in below}
        elif not action.option_strings:
            commands |= {str(choice): "" for choice in action.choices or ()}
        elif (name := action.option_strings[-1]).startswith("--"):
            flags.append(
                _Flag(name, _help_of(action), action.nargs != 0, tuple(action.choices or ()))
            )
    yield _Level(path, commands, tuple(flags))
    for name, one in below.items():
        yield from _levels(one, f"{path} {name}".strip())


def _help_of(action: argparse.Action) -> str:
    """A flag's help as a single line, without its default."""
    text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    return " ".join(text.partition(" (default")[0].replace("%%", "%").split())


def _bash(levels: list[_Level]) -> str:
    words = "".join(
        f"        {shlex.quote(one.path)}) words={shlex.quote(' '.join(_words(one)))} ;;\n"
        for one in levels
    )
    values = "".join(
        f"        {shlex.quote(f'{one.path} {flag.name}')}) words="
        f"{shlex.quote(' '.join(flag.choices))} ;;\n"
        for one in levels
        for flag in one.flags
        if flag.takes_value
    )
    return f"""\
_kafka_gateway() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" at="" words="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$at $word" in
            {_paths(levels)}) at="${{at:+$at }}$word" ;;
        esac
    done
    case "$at" in
{words}    esac
    case "$at ${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}    esac
    # Where nothing fits, bash completes the names of files.
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _kafka_gateway kafka-gateway
"""


def _zsh(levels: list[_Level]) -> str:
    words = "".join(
        f"        ({shlex.quote(one.path)})\n"
        f"            commands=({' '.join(_described(one.commands.items()))})\n"
        f"            flags=({' '.join(_described((f.name, f.help) for f in one.flags))}) ;;\n"
        for one in levels
    )
    values = "".join(
        f"        ({shlex.quote(f'{one.path} {flag.name}')}) "
        + (f"compadd -- {' '.join(flag.choices)}" if flag.choices else "_files")
        + "; return ;;\n"
        for one in levels
        for flag in one.flags
        if flag.takes_value
    )
    return f"""\
#compdef kafka-gateway
_kafka_gateway() {{
    local at="" word
    local -a commands flags
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$at $word" in
            ({_paths(levels)}) at="${{at:+$at }}$word" ;;
        esac
    done
    case "$at ${{words[CURRENT-1]}}" in
{values}    esac
    case "$at" in
{words}    esac
    if [[ "${{words[CURRENT]}}" == -* ]]; then
        _describe -o flag flags
    elif (( $#commands )); then
        _describe command commands
    else
        _files
    fi
}}
if [[ "${{funcstack[1]}}" == _kafka_gateway ]]; then
    _kafka_gateway "$@"
else
    compdef _kafka_gateway kafka-gateway
fi
"""


def _fish(levels: list[_Level]) -> str:
    lines = []
    for one in levels:
        condition = _fish_quoted(f'__kafka_gateway_at "{one.path}"')
        start = f"complete -c kafka-gateway -n {condition}"
        for name, text in one.commands.items():
            lines.append(f"{start} -f -a {name} -d {_fish_quoted(text)}")
        for flag in one.flags:
            line = f"{start} -l {flag.name.removeprefix('--')} -d {_fish_quoted(flag.help)}"
            if flag.choices:
                line += f" -x -a {_fish_quoted(' '.join(flag.choices))}"
            elif flag.takes_value:
                line += " -r"
            lines.append(line)
    paths = " ".join(shlex.quote(one) for one in _path_words(levels))
    return "\n".join([_FISH_FUNCTION % paths, *lines, ""])


_FISH_FUNCTION: Final = """\
function __kafka_gateway_at
    set -l at ""
    set -l words (commandline -opc)
    for word in $words[2..-1]
        switch "$at $word"
            case %s
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv[1]"
end"""

_SHELLS: Final[Mapping[str, Callable[[list[_Level]], str]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}


def _words(level: _Level) -> list[str]:
    return [*level.commands, *(flag.name for flag in level.flags)]


def _path_words(levels: list[_Level]) -> list[str]:
    """A command behind the path of the command before it, as the scripts join them."""
    found = (one.path.rpartition(" ") for one in levels if one.path)
    return [f"{before} {name}" for before, _, name in found]


def _paths(levels: list[_Level]) -> str:
    return "|".join(map(shlex.quote, _path_words(levels)))


def _described(items: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in items:
        yield shlex.quote(f"{name}:{text}" if text else name)


def _fish_quoted(text: str) -> str:
    # In fish's single quotes only a backslash and a single quote are special.
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
