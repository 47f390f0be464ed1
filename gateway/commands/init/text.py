"""The text of a configuration, with comments for its operator."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from gateway.commands.init.plan import Plan
from gateway.commands.init.ports import shown
from gateway.commands.init.yaml_text import Flow, comment, dump, indented, item, offer
from gateway.commands.output import counted
from gateway.config.models import default_gateway_id


def config_text(plan: Plan) -> str:
    """The text of the whole file."""
    return "\n\n".join(section(plan) for section in SECTIONS).rstrip() + "\n"


def _head(plan: Plan) -> str:
    name = plan.output.name
    asked = plan.asked
    cluster = f"cluster {asked.cluster_id}" if asked.cluster_id else "a cluster"
    found = f"{asked.software}, {counted(len(asked.brokers), 'broker')}, {asked.topics_text}"
    return comment(
        f"A gateway in front of {cluster}: {found}. Written by kafka-gateway init. Every setting"
        " that is not here has its default; docs/configuration.md lists them all."
        f"\n`kafka-gateway check --cluster {name}` says whether it works here,"
        f" `kafka-gateway serve --config {name}` runs it. It is read when the gateway starts."
    )


def _gateway_id(plan: Plan) -> str:
    about = comment(
        "This gateway in the catalog, where all that take part are listed, and in its logs: another"
        " one for each gateway, which it keeps when its machine is called otherwise. One that is"
        " gone for good is forgotten: `kafka-gateway catalog forget --gateway ID`"
        " (docs/high-availability.md)."
    )
    return f"{about}\n{dump({'gateway_id': default_gateway_id()})}"


def _clusters(plan: Plan) -> str:
    ids = shown(plan.asked.node_ids)
    room = ", ".join(plan.node_ids)
    about = comment(
        "The cluster behind the gateway. Its brokers are discovered; node_ids says which of them"
        f" get a port of their own on every listener. Found were {ids}; {room} leaves room for"
        " brokers to come, since a port is the place in these ranges: add further ranges at the"
        " end, and no port moves (docs/configuration.md)."
    )
    cluster: dict[str, Any] = {
        "name": "main",
        "bootstrap_servers": Flow(map(str, plan.servers)),
        "node_ids": Flow(plan.node_ids),
    }
    text = f"{about}\nclusters:\n" + item(cluster)
    if plan.login.security:
        security = comment(
            "How the gateway connects to the brokers, and as whom: for clients, and for itself."
            " Secrets are read when they are used, from the files that are named here"
            " (docs/brokers.md)."
        )
        block = dump({"security": plan.login.security})
        text += "\n" + indented(f"{security}\n{block}", 4)
    if plan.asked.has_authorizer:
        rights = comment(
            "These brokers have ACLs: docs/brokers.md lists those that the gateway's user needs."
            " `check --cluster` says which of those on the catalog's topic and transactional id are"
            " missing; those that its clients need are not compared."
        )
        text += "\n" + indented(rights, 4)
    return text


def _namespaces(plan: Plan) -> str:
    like = [one for one in plan.asked.namespaces if one not in plan.namespaces]
    text = (
        "Namespaces to begin with, made once: one that is deleted stays deleted. More are made"
        " through the gateway, such as by `kafka-gateway topics --create --namespace team-a`"
        " (docs/namespaces.md)."
    )
    if like:
        text += (
            " The cluster has topics under names that topics of these namespaces would have:"
            f" {', '.join(like[:8])}{' and others' if len(like) > 8 else ''}. If such a namespace"
            " is created, they are in it (docs/names.md)."
        )
    if plan.namespaces:
        return f"{comment(text)}\n{dump({'namespaces': Flow(plan.namespaces)})}"
    return f"{comment(text)}\n{offer({'namespaces': Flow(['team-a', 'org:apache:kafka'])})}"


_LISTENERS: Final[Mapping[str, str]] = {
    "colon": "Topics are team-a:orders and org:apache:kafka:orders. Namespaces are listed beside"
    " them, as tools that manage them expect.",
    "home": "`orders` is {home}:orders here, and nothing outside {home} can be reached.",
    "legal": "Topics are team-a..orders and org.apache.kafka..orders, for tools that reject a"
    " colon.",
}


def _listeners(plan: Plan) -> str:
    first = next(iter(plan.ports.listeners))
    ports = plan.ports.brokers(first)
    about = comment(
        f"The ways in. Each has a bootstrap port, and behind it {plan.ports.places} ports, one for"
        f" each place in node_ids: {ports[0]}-{ports[-1]} for {plan.ports.listeners[first]}. A"
        " firewall has to let clients through to all of them; with TLS there can be one port for"
        " all brokers (docs/tls.md)."
    )
    items = [_listener(plan, name, is_first=name == first) for name in plan.ports.listeners]
    return f"{about}\nlisteners:\n" + "\n\n".join(items)


def _listener(plan: Plan, name: str, *, is_first: bool) -> str:
    home = plan.namespaces[0] if name == "home" else ""
    values: dict[str, Any] = {"name": name, "port": plan.ports.listeners[name]}
    if plan.front.bind != "127.0.0.1":
        values["bind"] = plan.front.bind
    if plan.front.advertised_host != plan.front.bind:
        values["advertised_host"] = plan.front.advertised_host
    of_kind: dict[str, dict[str, Any]] = {
        "colon": {"list_namespaces": True},
        "home": {"home": home},
        "legal": {"spelling": "legal", "list_namespaces": True},
    }
    values |= of_kind[name]
    parts = [indented(comment(_LISTENERS[name].format(home=home)), 2), item(values)]
    if plan.front.tls is not None:
        parts.append(indented(_tls(plan, is_first=is_first), 4))
    elif is_first:
        parts.append(indented(_OFFERED_TLS, 4))
    if is_first:
        parts.append(indented(_several_gateways(plan.ports.reserve(name)), 4))
    return "\n".join(parts)


def _tls(plan: Plan, *, is_first: bool) -> str:
    """The first listener's TLS, which the others repeat."""
    if not is_first:
        return "security_protocol: SSL\ntls: *tls"
    tls = plan.front.tls
    assert tls is not None
    files: dict[str, Any] = {"certificate": str(tls.certificate), "key": str(tls.key)}
    text = "The files are read again when they change."
    if tls.client_ca is not None:
        files |= {"client_auth": "required", "client_ca": str(tls.client_ca)}
        text = "Clients show a certificate, and its subject is their principal. " + text
    about = comment(f"{text} (docs/tls.md)", 2)
    return f"{about}\nsecurity_protocol: SSL\ntls: &tls\n" + indented(dump(files), 2)


def _metrics(plan: Plan) -> str:
    about = comment(
        "A page that shows what goes on, at /, and /metrics, /livez and /readyz: for this machine"
        " alone unless `host` is another address, and then the page needs `auth` (docs/page.md,"
        " docs/operations.md, docs/dashboards.md)."
    )
    return f"{about}\n{dump({'metrics': {'port': plan.ports.metrics}})}"


def _traffic_log(plan: Plan) -> str:
    about = comment(
        "Who uses which topic, how much and how fast: one JSON object a line, which Spark jobs turn"
        " into tables and a report (docs/traffic-log.md)."
    )
    return f"{about}\n{dump({'traffic_log': {'directory': str(plan.traffic)}})}"


def _catalog(plan: Plan) -> str:
    replicas = plan.catalog_replicas
    text = (
        "The catalog, a compacted topic of the cluster, holds the namespaces and who may do what."
        " Gateways in front of one cluster share it (docs/configuration.md)."
    )
    if replicas is None:
        return f"{comment(text)}\n{offer({'catalog': {'max_staleness': 60.0}})}"
    text += " Its replicas are counted once, when the first gateway makes it."
    return f"{comment(text)}\n{dump({'catalog': {'replication_factor': replicas}})}"


def _offered(plan: Plan) -> str:
    """Blocks that are not set, but that nearly every operator needs sooner or later."""
    return "\n\n".join(
        f"{comment(text.format(cpus=os.cpu_count()))}\n{offer(values(plan))}"
        for text, values in _OFFERS
    )


_OFFERS: Final[Sequence[tuple[str, Callable[[Plan], Mapping[str, Any]]]]] = (
    (
        "Who may do what: Kafka's ACLs, managed with kafka-acls through the gateway. Without this"
        " block every client may do everything; with it nothing but what an ACL allows, so name who"
        " manages them (docs/access.md). Principals are those of certificates or of logins"
        " (docs/tls.md, docs/authentication.md); without either everyone is User:ANONYMOUS.",
        lambda _: {"authorization": {"super.users": Flow(["User:admin"])}},
    ),
    (
        "Denials, failed logins and changes of the catalog, one JSON object a line"
        " (docs/audit.md).",
        lambda plan: {"audit": {"directory": str(plan.traffic.with_name("audit"))}},
    ),
    (
        "What may be created and how it is written, for everyone and for a namespace with all below"
        " it. `mode: warn` only logs, to try rules first (docs/policies.md).",
        lambda plan: {
            "policies": {
                "everywhere": {
                    "mode": "warn",
                    "partitions": Flow({"max": 50}),
                    "replication_factor": Flow({"min": min(3, len(plan.asked.brokers) or 1)}),
                }
            }
        },
    ),
    (
        "Worker processes, which share the listeners' ports: one per processor at most, and {cpus}"
        " are here. Each is one processor's worth of traffic (docs/operations.md).",
        lambda _: {"workers": 2},
    ),
)

SECTIONS: Final[Sequence[Callable[[Plan], str]]] = (
    _head,
    _gateway_id,
    _clusters,
    _namespaces,
    _listeners,
    _metrics,
    _traffic_log,
    _catalog,
    _offered,
)
"""The parts of the file, in order."""


_TLS_TEXT: Final = (
    "TLS with clients (docs/tls.md), and logins (docs/authentication.md): with both SASL_SSL."
)
_OFFERED_TLS: Final = f"""\
{comment(_TLS_TEXT, 4)}
#security_protocol: SSL
#tls:
#  certificate: /etc/kafka-gateway/server.pem
#  key: /etc/kafka-gateway/server.key"""


def _several_gateways(port: int) -> str:
    text = comment(
        "With several gateways in front of the cluster: the port where clients find this one when"
        " another one is gone (docs/high-availability.md).",
        4,
    )
    return f"{text}\n#gateway_port: {port}"
