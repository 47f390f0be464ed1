"""``kafka-gateway init``: queries brokers, asks the operator for the rest,
writes a configuration."""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gateway.commands.actions import finish, servers_of
from gateway.commands.client_properties import ClientSecurity
from gateway.commands.errors import CommandError, UsageError
from gateway.commands.flags import Flag, fill_operator_parser
from gateway.commands.init.asked import Asked, ask_brokers
from gateway.commands.init.front import Front, check_name, listener_tls, name_for
from gateway.commands.init.login import login_of
from gateway.commands.init.plan import Plan, bootstrap_servers, listeners_for
from gateway.commands.init.ports import FIRST_PORT, Ports, bindable, choose, ranges_for
from gateway.commands.init.questions import Questions, terminal
from gateway.commands.init.report import found_line, report
from gateway.commands.init.text import config_text
from gateway.commands.init.unanswered import Unanswered
from gateway.commands.init.writing import check_free, write_all
from gateway.commands.output import Output
from gateway.config.addresses import MAX_PORT, Address
from gateway.config.security import ListenerTls
from gateway.config.values import is_loopback
from gateway.config_file.rules import is_wildcard
from gateway.names import check_namespace

_EXAMPLES: Final = """\
examples:
  kafka-gateway init
  kafka-gateway init --bootstrap-server kafka-1.example:9092
  kafka-gateway init --bootstrap-server kafka-1.example:9093 --command-config client.properties
  kafka-gateway init --bootstrap-server localhost:9092 --namespace team-a --port 9192 --yes
"""
_BROKERS: Final = "localhost:9092"
_LOOPBACK: Final = "127.0.0.1"


def _namespace(text: str) -> str:
    try:
        check_namespace(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_PORT):
        raise argparse.ArgumentTypeError(f"'{text}' is no port; give one of 1-{MAX_PORT}")
    return int(text)


_FLAGS: Final = (
    Flag(
        "--bootstrap-server",
        "HOST:PORT",
        "address of a broker; several, joined by commas, are tried in turn",
        {"type": servers_of},
    ),
    Flag(
        "--command-config",
        "FILE",
        "a properties file with TLS and the login at the brokers, as for Kafka's tools",
        {"type": Path},
    ),
    Flag(
        "--output",
        "FILE",
        "the configuration to write (default: %(default)s)",
        {"type": Path, "default": Path("gateway.yaml")},
    ),
    Flag(
        "--namespace",
        "NAME",
        "namespaces to begin with, such as team-a; one alone gets a listener as its home",
        {"type": _namespace, "nargs": "+", "action": "extend"},
    ),
    Flag(
        "--bind",
        "ADDRESS",
        f"the address to listen on; 0.0.0.0 is every one (default: {_LOOPBACK}; with an"
        " --advertised-host that others can reach: every one)",
    ),
    Flag(
        "--advertised-host",
        "HOST",
        "the name or address that clients connect to (default: as --bind, or as the certificate)",
    ),
    Flag(
        "--port",
        "BASE",
        f"the first listener's bootstrap port (default: the first free one from {FIRST_PORT} on)",
        {"type": _port},
    ),
    Flag(
        "--tls-certificate",
        "FILE",
        "the certificate for clients, with its chain (PEM)",
        {"type": Path},
    ),
    Flag("--tls-key", "FILE", "its private key (PEM)", {"type": Path}),
    Flag(
        "--client-ca",
        "FILE",
        "the authorities (PEM) of clients' certificates, which every client then has to show",
        {"type": Path},
    ),
    Flag("--force", "", "replace the file, and those of its secrets, if they are there"),
    Flag("--yes", "", "ask nothing at the terminal, and take every default"),
    Flag("--json", "", "print JSON"),
)


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    fill_operator_parser(
        parser,
        _FLAGS,
        _run,
        description="Query brokers, ask at the terminal what is missing, and write a commented"
        " configuration of a gateway in front of them. Nothing is changed at the brokers.",
        examples=_EXAMPLES,
        reads_config=False,
    )


def _run(options: argparse.Namespace) -> int:
    # Questions are asked outside of the event loop, so that Ctrl-C ends them.
    questions = Questions(at_terminal=False) if options.yes else terminal()
    return finish(lambda: _init(options, questions), options)


def _init(options: argparse.Namespace, questions: Questions) -> Output:
    """Raises CommandError."""
    check_free([options.output], force=options.force)
    given, security, asked = _cluster(options, questions)
    login = login_of(security, options.output)
    check_free(login.secrets, force=options.force)
    questions.tell(found_line(asked))
    namespaces = _namespaces(options, questions)
    front = _front(options, questions)
    node_ids = ranges_for(asked.node_ids)
    listeners = listeners_for(namespaces)
    ports = _ports(options, questions, front.bind, listeners, node_ids)
    servers = bootstrap_servers(given, asked)
    plan = Plan(options.output, asked, servers, node_ids, login, namespaces, front, ports)
    write_all(options.output, config_text(plan), login.secrets, force=options.force)
    return report(plan)


def _cluster(
    options: argparse.Namespace, questions: Questions
) -> tuple[Sequence[Address], ClientSecurity, Asked]:
    """The brokers' addresses, the connection settings, and the brokers' description. If the brokers
    do not respond, asks again at a terminal."""
    given, path = options.bootstrap_server, options.command_config
    if given is None and not questions.at_terminal:
        raise UsageError("give the address of a broker: --bootstrap-server HOST:PORT")
    while True:
        servers = given or questions.ask("Brokers (HOST:PORT,..)", _BROKERS, servers_of)
        try:
            security = ClientSecurity(path)
            return servers, security, asyncio.run(ask_brokers(servers, security))
        except Unanswered as error:
            wants_file = error.spoken is not None and error.spoken.is_broker and path is None
            if not questions.at_terminal or not (wants_file or given is None):
                raise
            questions.tell(str(error))
            if wants_file:
                given = servers
                path = questions.ask("Properties file with TLS and login (none: stop)", "", _file)
                if path is None:
                    raise
            else:
                given = None


def _file(text: str) -> Path | None:
    """The path of a file that exists; None if the text is empty. Raises ValueError."""
    if not text:
        return None
    path = Path(text).expanduser()
    if not path.is_file():
        raise ValueError(f"there is no file '{text}'; give its path")
    return path


def _namespaces(options: argparse.Namespace, questions: Questions) -> list[str]:
    def read(text: str) -> list[str]:
        found = [part for part in text.replace(",", " ").split() if part]
        for namespace in found:
            check_namespace(namespace)
        return found

    if options.namespace is not None:
        return list(dict.fromkeys(options.namespace))
    text = "Namespaces to begin with, such as team-a (Enter: none)"
    return list(dict.fromkeys(questions.ask(text, "", read)))


def _front(options: argparse.Namespace, questions: Questions) -> Front:
    """The address that clients connect to, and its TLS. Raises CommandError if the
    flags do not go together."""
    advertised: str | None = options.advertised_host
    if advertised is not None and is_wildcard(advertised):
        raise UsageError(
            f"--advertised-host: '{advertised}' is every address of a machine, which no client can"
            " connect to; give a name or one address"
        )
    bind: str | None = options.bind
    if bind is None:
        is_far = advertised is not None and not is_loopback(advertised)
        default = "0.0.0.0" if is_far else _LOOPBACK  # noqa: S104
        bind = questions.ask("Address to listen on (0.0.0.0: every one)", default, bindable)
    bindable(bind)
    tls = _tls(options, questions)
    if advertised is None:
        advertised = _advertised(bind, tls, questions)
    check_name(tls, advertised)
    return Front(bind, advertised, tls)


def _advertised(bind: str, tls: ListenerTls | None, questions: Questions) -> str:
    """The host that clients connect to, if no flag gives it. Raises UsageError
    if it cannot be known."""
    suggested = name_for(bind, tls)
    if not is_wildcard(bind):
        return suggested or bind
    if suggested is None and not questions.at_terminal:
        raise UsageError(
            f"--bind {bind} is every address of this machine, so say which name or address clients"
            " connect to: --advertised-host"
        )

    def read(host: str) -> str:
        if is_wildcard(host) or set(host) & set(" /"):
            raise ValueError(f"'{host}' is no name or address that clients could connect to")
        check_name(tls, host)
        return host

    text = "Name or address that clients connect to"
    return questions.ask(text, suggested or socket.getfqdn(), read)


def _tls(options: argparse.Namespace, questions: Questions) -> ListenerTls | None:
    certificate, key, client_ca = options.tls_certificate, options.tls_key, options.client_ca
    if certificate is not None:
        return listener_tls(certificate, key or certificate, client_ca)
    for flag, value in (("--tls-key", key), ("--client-ca", client_ca)):
        if value is not None:
            raise UsageError(f"{flag} goes with --tls-certificate")
    while True:
        text = "Certificate (PEM) for TLS with clients (Enter: no TLS)"
        certificate = questions.ask(text, "", _file)
        if certificate is None:
            return None
        key = questions.ask("Its private key (PEM)", str(certificate.with_suffix(".key")), _file)
        text = "Authorities (PEM) of clients' certificates (Enter: clients show none)"
        client_ca = questions.ask(text, "", _file)
        try:
            return listener_tls(certificate, key or certificate, client_ca)
        except CommandError as error:
            questions.tell(str(error))


def _ports(
    options: argparse.Namespace,
    questions: Questions,
    bind: str,
    listeners: Sequence[str],
    node_ids: Sequence[str],
) -> Ports:
    """Free ports, starting at the port that was requested."""

    if options.port is not None:
        return choose(bind, listeners, node_ids, options.port)
    free = choose(bind, listeners, node_ids)
    if not questions.at_terminal:
        return free
    default = str(next(iter(free.listeners.values())))
    text = "First port of the first listener"

    def read(answer: str) -> Ports:
        return free if answer == default else choose(bind, listeners, node_ids, _port(answer))

    return questions.ask(text, default, read)
