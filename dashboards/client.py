"""One client: its weak requests by client id, and what its listener has seen of all clients.

Metrics have the client id of weak producers only, because ids are without bound; the traffic log
has every client.
"""

from __future__ import annotations

from dashboards.panels import Lines, Number, Page, Panel, Query, Variable
from dashboards.queries import rate, state, total

ITS = 'client_id="$client_id"'
THERE = 'listener=~"$listener"'


def _producer() -> list[Panel]:
    weak = rate("weak_producer_requests_total", ITS)
    return [
        Number(
            "Weak requests",
            "Produce requests a second of this client without the strongest guarantee.",
            "reqps",
            total(weak),
        ),
        Number(
            "Upgraded or refused",
            "Those that the gateway did not forward as they were.",
            "reqps",
            total(rate("weak_producer_requests_total", ITS, 'decision=~"upgraded|refused"'))
            + " or vector(0)",
        ),
        Number(
            "Software",
            "What the client says that it runs, in weak requests a second.",
            "reqps",
            total(weak, "software_name"),
            width=16,
            legend="{{software_name}}",
        ),
        Lines(
            "What is weak",
            "`acks0`, `acks1`: it does not wait for replicas; `not_idempotent`: retries may write "
            "a record twice.",
            "reqps",
            [Query(total(weak, "weakness", "decision"), "{{weakness}} {{decision}}")],
        ),
        Lines(
            "Where it writes so",
            "The namespaces of the topics that it names.",
            "reqps",
            [Query(total(weak, "namespace"), "{{namespace}}")],
        ),
    ]


def _listener() -> list[Panel]:
    return [
        Lines(
            "Open connections",
            "Client connections of the listeners that the client may use.",
            "short",
            [Query(total(state("open_connections", THERE), "listener"), "{{listener}}")],
        ),
        Lines(
            "New connections",
            "Connections accepted a second: a client that reconnects in a loop shows here.",
            "eps",
            [Query(total(rate("connections_total", THERE), "listener"), "{{listener}}")],
        ),
        Lines(
            "Logins",
            "Logins and re-authentications a second: a client with a wrong password shows here.",
            "eps",
            [
                Query(
                    total(rate("authentications_total", THERE), "mechanism", "result"),
                    "{{mechanism}} {{result}}",
                )
            ],
        ),
        Lines(
            "Denials by ACL",
            "Items of requests that ACLs denied on these listeners.",
            "eps",
            [
                Query(
                    total(rate("authorization_denials_total", THERE), "operation", "resource_type"),
                    "{{operation}} on {{resource_type}}",
                )
            ],
        ),
        Lines(
            "Accepting paused",
            "Times a second that clients had to wait for a connection, and the limit.",
            "eps",
            [Query(total(rate("accept_delays_total", THERE), "reason"), "{{reason}}")],
        ),
        Lines(
            "Closes by reason",
            "Why connections ended, on all listeners: metrics have no listener here.",
            "eps",
            [Query(total(rate("connection_closes_total"), "reason"), "{{reason}}")],
        ),
    ]


def page() -> Page:
    """The dashboard "One client"."""
    return Page(
        "kafka-gateway-client",
        "Kafka gateway: one client",
        "How one client writes, and what its listeners see. Every client is in the traffic log.",
        [("The client as a producer", _producer()), ("Its listeners", _listener())],
        [
            Variable(
                "client_id",
                "the client: all that sent Produce requests without the strongest guarantee",
                state("weak_producer_requests_total"),
                "client_id",
                several=False,
            ),
            Variable(
                "listener",
                "the listeners that it may use",
                state("connections_total"),
                "listener",
            ),
        ],
    )
