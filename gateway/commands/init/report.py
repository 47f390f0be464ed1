"""The report that ``init`` prints: the cluster, the ports of the gateway, and the next commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.commands.init.asked import Asked
from gateway.commands.init.plan import Plan
from gateway.commands.init.ports import shown
from gateway.commands.output import Output, counted, shortened, table
from gateway.config.values import is_loopback

_AUTHORIZER = {True: "yes", False: "no", None: "not known"}


_UNSEEN: Final = (
    "warning: this user may not Describe every topic, so not seen were: other topics, those among"
    " them that a namespace would take in, brokers that are down and hold only their replicas, and"
    " the catalog of gateways that are here already; grant it Describe on Topic '*' at the brokers,"
    " as docs/brokers.md does, and write the file again with --force"
)


def found_line(asked: Asked) -> str:
    """The cluster's description, in a line."""
    return f"Found {asked.software}: {counted(len(asked.brokers), 'broker')}, {asked.topics_text}."


def report(plan: Plan) -> Output:
    """The output of ``init`` once the file is written."""
    return Output(_content(plan), _text(plan), list(_notes(plan)))


def _text(plan: Plan) -> str:
    found = table(_found_rows(plan.asked))
    ports = table(_port_rows(plan))
    written = "\n".join(
        [f"Wrote {plan.output}.", *(f"Wrote {path}." for path in plan.login.secrets)]
    )
    commands = "\n".join(f"  {command}" for command in _next(plan))
    first = next(iter(plan.ports.listeners))
    clients = f"Clients: bootstrap.servers={plan.address(first)}"
    if plan.front.tls is not None:
        clients += ", with security.protocol=SSL"
    page = f"Page: http://{plan.metrics}/"
    return f"{found}\n\n{ports}\n\n{written}\nNext:\n{commands}\n{clients}\n{page}"


def _found_rows(asked: Asked) -> list[tuple[str, str]]:
    controller = "" if asked.controller_id is None else f", controller {asked.controller_id}"
    rows = [
        ("cluster id", asked.cluster_id or "not known"),
        ("software", asked.software),
        ("brokers", f"{shown(asked.brokers)}{controller}"),
    ]
    down = asked.node_ids - asked.brokers.keys()
    if down:
        rows.append(("brokers down", shown(down)))
    topics = f"{asked.topics:,}"
    if not asked.sees_all_topics:
        topics += " that this user may Describe"
    rows += [("topics", topics), ("authorizer", _AUTHORIZER[asked.has_authorizer])]
    if asked.has_catalog:
        rows.append(("catalog", "yes: other gateways are, or were, in front of this cluster"))
    return rows


def _port_rows(plan: Plan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("listener", "bootstrap.servers", "node ids", "their ports")]
    ids = ", ".join(plan.node_ids)
    for name in plan.ports.listeners:
        ports = plan.ports.brokers(name)
        rows.append((name, str(plan.address(name)), ids, f"{ports[0]}-{ports[-1]}"))
    return [*rows, ("metrics", str(plan.metrics), "", "")]


def _next(plan: Plan) -> list[str]:
    name = str(plan.output)
    shell = f"'{name}'" if " " in name else name
    return [
        f"kafka-gateway check {shell}",
        f"kafka-gateway check --cluster {shell}",
        f"kafka-gateway serve --config {shell}",
    ]


def _notes(plan: Plan) -> Iterator[str]:
    """Warnings about later problems, each with the next step."""
    asked = plan.asked
    if not asked.sees_all_topics:
        yield _UNSEEN
    for node, reason in asked.unreachable.items():
        yield (
            f"warning: broker {node} advertises {asked.brokers[node]}, where it cannot be reached"
            f" from here: {reason}; correct its advertised.listeners, or this machine's names"
        )
    for namespace in plan.namespaces:
        if count := asked.namespaces.get(namespace, 0):
            yield (
                f"warning: {counted(count, 'topic')} of the cluster will be in namespace"
                f" '{namespace}', because they are stored under names that its topics have"
            )
    others = [one for one in asked.namespaces if one not in plan.namespaces]
    if others and not asked.has_catalog:
        yield (
            "the cluster has topics under names that topics of these namespaces would have:"
            f" {shortened(others, 5)}. If such a namespace is created, they are in it; see"
            " docs/names.md"
        )
    if is_loopback(plan.front.bind):
        if plan.front.bind == plan.front.advertised_host:
            yield (
                f"only clients on this machine can connect to {plan.front.bind}; for others:"
                " --bind and --advertised-host"
            )
    elif plan.front.tls is None or plan.front.tls.client_ca is None:
        yield (
            f"warning: listeners on {plan.front.bind} are open to other machines, and clients need"
            " not authenticate; see docs/authentication.md, docs/access.md"
        )


def _content(plan: Plan) -> dict[str, object]:
    """The report as JSON."""
    asked = plan.asked
    return {
        "output": str(plan.output),
        "secrets": [str(path) for path in plan.login.secrets],
        "found": {
            "cluster_id": asked.cluster_id,
            "software": asked.software,
            "controller_id": asked.controller_id,
            "brokers": {str(node): str(address) for node, address in asked.brokers.items()},
            "brokers_down": sorted(asked.node_ids - asked.brokers.keys()),
            "unreachable": {str(node): reason for node, reason in asked.unreachable.items()},
            "topics": asked.topics,
            "sees_all_topics": asked.sees_all_topics,
            "topics_like_namespaces": dict(asked.namespaces),
            "authorizer": asked.has_authorizer,
            "catalog": asked.has_catalog,
        },
        "bootstrap_servers": [str(server) for server in plan.servers],
        "node_ids": list(plan.node_ids),
        "namespaces": list(plan.namespaces),
        "security_protocol": "PLAINTEXT" if plan.front.tls is None else "SSL",
        "bind": plan.front.bind,
        "listeners": [
            {
                "name": name,
                "bootstrap_servers": str(plan.address(name)),
                "first_broker_port": plan.ports.brokers(name)[0],
                "last_broker_port": plan.ports.brokers(name)[-1],
            }
            for name in plan.ports.listeners
        ],
        "metrics": str(plan.metrics),
        "next": _next(plan),
    }
