"""The overview: is it well, what does it carry, what does it cost, whom does it refuse."""

from __future__ import annotations

from typing import Final

from dashboards import serving
from dashboards.panels import FRESH, REACHED, Lines, Number, Page, Panel, Query, Words
from dashboards.queries import (
    NOT_WAITING,
    growth,
    highest,
    largest,
    lowest,
    mean,
    quantile,
    rate,
    state,
    total,
)

DEFECTS: Final = 'reason=~"internal error|a change failed"'


def _now() -> list[Panel]:
    return [
        Number(
            "Gateways",
            "Gateways that are scraped, whatever state they are in.",
            "short",
            f"count({state('build_info')})",
        ),
        Number(
            "Requests",
            "Requests a second from all clients.",
            "reqps",
            total(rate("requests_total")),
        ),
        Number(
            "Connections",
            "Client connections open now.",
            "short",
            total(state("open_connections")),
        ),
        Number(
            "Clusters reachable",
            "Whether every worker of every gateway reached its clusters the last time.",
            "short",
            lowest(state("cluster_reachable")),
            words=REACHED,
        ),
        Number(
            "Catalog fresh",
            "Whether every worker has read the catalog within `catalog.max_staleness`; if not, "
            "clients get errors that they try again after.",
            "short",
            lowest(state("catalog_fresh")),
            words=FRESH,
        ),
        Number(
            "Accepting clients",
            "Whether every worker can accept clients; if not, one has no file descriptor left.",
            "short",
            lowest(state("accepting")),
            words=Words("yes", "no"),
        ),
        Number(
            "New clients",
            "Whether a cluster lets new connections in; if not, clients that are connected go on.",
            "short",
            highest(state("locked_out")),
            words=Words("locked out", "let in", good=0),
        ),
        Number(
            "Cut off",
            "Whether a worker hears nothing of its clusters, and refuses clients or sends them on.",
            "short",
            highest(state("cut_off")),
            words=Words("cut off", "no", good=0),
        ),
        Number(
            "Other gateways down",
            "Gateways of the fleet that accept no connection, as the others see them.",
            "short",
            highest(state("other_gateways_down")),
            bad=1,
        ),
        Number(
            "Worker restarts",
            "Workers that died and were started again, in the time shown.",
            "short",
            total(growth("worker_restarts_total")),
            bad=1,
        ),
        Number(
            "Certificate",
            "Until the first certificate of a listener expires.",
            "s",
            lowest(state("certificate_expiry_seconds")),
            bad=14 * 86_400,
            low=True,
        ),
        Number(
            "Defects",
            "Connections closed by a defect of the gateway, in the time shown: see its log.",
            "short",
            total(growth("connection_closes_total", DEFECTS)),
            bad=1,
        ),
        Number(
            "Version",
            "The versions that run, and how many gateways run each.",
            "short",
            f"count by (version) ({state('build_info')})",
            legend="{{version}}",
        ),
    ]


def _traffic() -> list[Panel]:
    return [
        Lines(
            "Requests by API",
            "Which APIs clients use, in requests a second.",
            "reqps",
            [Query(total(rate("requests_total"), "api"), "{{api}}")],
            stacked=True,
        ),
        Lines(
            "Bytes",
            "Frame bytes a second from clients (in) and to them (out).",
            "Bps",
            [Query(total(rate("bytes_total"), "direction"), "{{direction}}")],
        ),
        Lines(
            "Records",
            "Records a second that brokers took (Produce) and gave (Fetch).",
            "recps",
            [Query(total(rate("records_total"), "api"), "{{api}}")],
        ),
        Lines(
            "Busiest namespaces",
            "The ten namespaces with the most bytes a second, in both directions.",
            "Bps",
            [Query(largest(10, total(rate("bytes_total"), "namespace")), "{{namespace}}")],
        ),
    ]


def _latency() -> list[Panel]:
    both = ("gateway_seconds", "gateway", ()), ("broker_seconds", "broker", (NOT_WAITING,))
    return [
        Lines(
            "Where requests spend their time",
            "The average of all requests in the gateway, and at the broker of those that went "
            "there, or that the gateway carried out at brokers and in the catalog (CreateTopics), "
            "without requests that wait there for records or for other members.",
            "s",
            [Query(mean(metric, *matchers), name) for metric, name, matchers in both],
            stacked=True,
        ),
        Lines(
            "Percentiles",
            "The median and the slowest of 100 requests, in the gateway and at the broker, there "
            "without those that wait. Buckets double, so a percentile is right within a factor of "
            "two.",
            "s",
            [
                Query(quantile(share, metric, matchers=matchers), f"{name} p{share * 100:g}")
                for metric, name, matchers in both
                for share in (0.5, 0.99)
            ],
        ),
        Lines(
            "Slowest APIs in the gateway",
            "The slowest of 100 requests of each API: time in the gateway alone.",
            "s",
            [Query(largest(10, quantile(0.99, "gateway_seconds", "api")), "{{api}}")],
        ),
        Lines(
            "Slowest APIs at the broker",
            "The same: time that the broker took. A Fetch waits for records.",
            "s",
            [Query(largest(10, quantile(0.99, "broker_seconds", "api")), "{{api}}")],
        ),
    ]


def _refused() -> list[Panel]:
    return [
        Lines(
            "Errors by code",
            "Error codes in responses, the gateway's and the brokers', by Kafka's name.",
            "eps",
            [Query(total(rate("errors_total"), "error"), "{{error}}")],
        ),
        Lines(
            "Errors by API",
            "The same by the API that was answered so.",
            "eps",
            [Query(total(rate("errors_total"), "api"), "{{api}}")],
        ),
        Lines(
            "Denials by rule",
            "Items of requests that a rule of the gateway rejected; operations.md lists the rules.",
            "eps",
            [Query(total(rate("denials_total"), "rule"), "{{rule}}")],
        ),
        Lines(
            "Denials by ACL",
            "Items of requests that ACLs denied, by the operation that was missing.",
            "eps",
            [
                Query(
                    total(rate("authorization_denials_total"), "operation", "resource_type"),
                    "{{operation}} on {{resource_type}}",
                )
            ],
        ),
    ]


def page() -> Page:
    """The dashboard "Overview"."""
    return Page(
        "kafka-gateway-overview",
        "Kafka gateway: overview",
        "All gateways: state, traffic, latency, errors, denials, connections, workers, logs.",
        [
            ("Now", _now()),
            ("Traffic", _traffic()),
            ("Latency", _latency()),
            ("Errors and denials", _refused()),
            ("Connections", serving.connections()),
            ("Workers", serving.workers()),
            ("Logs and limits", serving.logs()),
        ],
    )
