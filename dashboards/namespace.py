"""One namespace: what its topics carry, what is refused there, and how its producers write."""

from __future__ import annotations

from dashboards.panels import Lines, Number, Page, Panel, Query, Variable
from dashboards.queries import A_LITTLE, highest, largest, pushed, rate, ratio, state, total

HERE = 'namespace="$namespace"', 'cluster=~"$cluster"'
ITS = HERE[0]


def _now() -> list[Panel]:
    written = total(rate("bytes_total", *HERE, 'direction="in"'))
    read = total(rate("bytes_total", *HERE, 'direction="out"'))
    return [
        Number("Written", "Bytes a second from clients.", "Bps", written),
        Number("Read", "Bytes a second to clients.", "Bps", read),
        Number("Requests", "Requests a second.", "reqps", total(rate("requests_total", *HERE))),
        Number(
            "Errors",
            "Error codes in responses, a second; 0 where there never was one.",
            "eps",
            total(rate("errors_total", *HERE)) + " or vector(0)",
        ),
        Number(
            "Weak producers",
            "Produce requests a second without the strongest guarantee (KIP-679).",
            "reqps",
            total(rate("weak_producer_requests_total", *HERE)) + " or vector(0)",
        ),
        Number(
            "Policy violations",
            "Rules of policies that topics did not satisfy, a second.",
            "eps",
            total(rate("policy_violations_total", *HERE)) + " or vector(0)",
        ),
    ]


def _traffic() -> list[Panel]:
    written = total(rate("bytes_total", *HERE, 'direction="in"'))
    produced = total(rate("records_total", *HERE, 'api="Produce"'))
    return [
        Lines(
            "Requests by API",
            "Which APIs clients use here, in requests a second.",
            "reqps",
            [Query(total(rate("requests_total", *HERE), "api"), "{{api}}")],
            stacked=True,
        ),
        Lines(
            "Produce and Fetch by version",
            "Versions of the protocol, which tell how old clients are.",
            "reqps",
            [
                Query(
                    total(rate("requests_total", *HERE, 'api=~"Produce|Fetch"'), "api", "version"),
                    "{{api}} {{version}}",
                )
            ],
        ),
        Lines(
            "Bytes",
            "Frame bytes a second from clients (in) and to them (out).",
            "Bps",
            [Query(total(rate("bytes_total", *HERE), "direction"), "{{direction}}")],
        ),
        Lines(
            "Records",
            "Records a second that brokers took (Produce) and gave (Fetch).",
            "recps",
            [Query(total(rate("records_total", *HERE), "api"), "{{api}}")],
        ),
        Lines(
            "Bytes a record",
            "The average of what clients write: small ones cost more for each byte.",
            "bytes",
            [Query(ratio(written, produced, A_LITTLE), "written")],
        ),
        Lines(
            "Share of the gateway's bytes",
            "This namespace's part of all bytes.",
            "percentunit",
            [
                Query(
                    ratio(total(rate("bytes_total", *HERE)), total(rate("bytes_total")), 1),
                    "share",
                )
            ],
        ),
    ]


def _refused() -> list[Panel]:
    return [
        Lines(
            "Errors by code",
            "Error codes in responses, by API and Kafka's name.",
            "eps",
            [Query(total(rate("errors_total", *HERE), "api", "error"), "{{api}} {{error}}")],
        ),
        Lines(
            "Policy violations by rule",
            "Rules that topics did not satisfy: refused (enforce), or only reported (warn).",
            "eps",
            [
                Query(
                    total(rate("policy_violations_total", *HERE), "rule", "mode"),
                    "{{rule}} {{mode}}",
                )
            ],
        ),
        Lines(
            "Weak producers by client",
            "The ten clients that send most Produce requests without the strongest guarantee, and "
            "what the gateway does with them.",
            "reqps",
            [
                Query(
                    largest(
                        10,
                        total(
                            rate("weak_producer_requests_total", *HERE),
                            "client_id",
                            "weakness",
                            "decision",
                        ),
                    ),
                    "{{client_id}}: {{weakness}} {{decision}}",
                )
            ],
        ),
    ]


def _pushed() -> list[Panel]:
    """What clients say themselves (KIP-714); scraped by a job of its own, so without ``$job``."""
    return [
        Lines(
            "Consumers furthest behind",
            "Records by which the ten slowest clients are behind in a partition, as they say. "
            "Needs a subscription of `org.apache.kafka.consumer.fetch.manager.`.",
            "short",
            [
                Query(
                    largest(
                        10,
                        highest(
                            pushed("consumer_fetch_manager_records_lag_max", ITS),
                            "client_id",
                            "group_id",
                        ),
                    ),
                    "{{client_id}} {{group_id}}",
                )
            ],
        ),
        Lines(
            "Slowest producers",
            "Milliseconds that a request of a client takes on average, as the client says. "
            "Needs a subscription of `org.apache.kafka.producer.`.",
            "ms",
            [
                Query(
                    largest(10, highest(pushed("producer_request_latency_avg", ITS), "client_id")),
                    "{{client_id}}",
                )
            ],
        ),
    ]


def page() -> Page:
    """The dashboard "One namespace"."""
    return Page(
        "kafka-gateway-namespace",
        "Kafka gateway: one namespace",
        "What the topics of one namespace carry, which errors its clients get, how they write.",
        [
            ("Now", _now()),
            ("Traffic", _traffic()),
            ("Errors and guarantees", _refused()),
            ("What clients say", _pushed()),
        ],
        [
            Variable(
                "cluster",
                "in a tree the clusters that count; elsewhere there is nothing to choose",
                state("requests_total"),
                "cluster",
            ),
            Variable(
                "namespace",
                "the namespace; `(default)` is the default one",
                state("requests_total", 'cluster=~"$cluster"'),
                "namespace",
                several=False,
            ),
        ],
    )
