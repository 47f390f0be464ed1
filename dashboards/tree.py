"""The tree: its clusters side by side, and the lookups between gateways."""

from __future__ import annotations

from dashboards.panels import FRESH, REACHED, Lines, Number, Page, Panel, Query, Variable
from dashboards.queries import A_LITTLE, highest, lowest, quantile, rate, ratio, state, total

IN_TREE = 'cluster!=""', 'cluster=~"$cluster"'
"""What lacks a cluster is of a gateway without a tree."""

NAMING = 'api=~"Metadata|FindCoordinator|DescribeTopicPartitions"'
"""Requests that may name what another gateway has."""


def _clusters() -> list[Panel]:
    each = "{{cluster}}"
    return [
        Number(
            "Reachable",
            "Whether every worker reached the cluster the last time.",
            "short",
            lowest(state("cluster_reachable", *IN_TREE), "cluster"),
            words=REACHED,
            width=12,
            legend=each,
        ),
        Number(
            "Catalog fresh",
            "Whether every worker has read the cluster's catalog within `catalog.max_staleness`.",
            "short",
            lowest(state("catalog_fresh", *IN_TREE), "cluster"),
            words=FRESH,
            width=12,
            legend=each,
        ),
        Lines(
            "Requests by cluster",
            "Requests a second for each cluster of the tree.",
            "reqps",
            [Query(total(rate("requests_total", *IN_TREE), "cluster"), each)],
            stacked=True,
        ),
        Lines(
            "Bytes by cluster",
            "Frame bytes a second, in both directions.",
            "Bps",
            [Query(total(rate("bytes_total", *IN_TREE), "cluster"), each)],
            stacked=True,
        ),
        Lines(
            "Records by cluster",
            "Records a second, written and read.",
            "recps",
            [Query(total(rate("records_total", *IN_TREE), "cluster"), each)],
        ),
        Lines(
            "Errors by cluster",
            "Error codes in responses, by cluster and Kafka's name.",
            "eps",
            [Query(total(rate("errors_total", *IN_TREE), "cluster", "error"), each + " {{error}}")],
        ),
        Lines(
            "Topics",
            "Topics of each cluster.",
            "short",
            [Query(highest(state("topics", *IN_TREE), "cluster"), each)],
        ),
        Lines(
            "Catalog version",
            "The oldest version of each cluster's catalog that a worker has.",
            "short",
            [Query(lowest(state("catalog_version", *IN_TREE), "cluster"), each)],
        ),
        Lines(
            "Damaged records",
            "Records of each cluster's catalog in whose place there is junk, or nothing.",
            "short",
            [Query(highest(state("catalog_damaged_records", *IN_TREE), "cluster"), each)],
        ),
    ]


def _lookups() -> list[Panel]:
    lookups = rate("tree_lookups_total", 'peer=~"$peer"')
    return [
        Lines(
            "Lookups by peer",
            "Questions a second to each other gateway of the tree.",
            "eps",
            [Query(total(lookups, "peer"), "{{peer}}")],
        ),
        Lines(
            "Lookups by outcome",
            "What came of them: `unreachable` is an outage, `denied` and `lied` are for the peer's "
            "operator.",
            "eps",
            [Query(total(lookups, "peer", "outcome"), "{{peer}}: {{outcome}}")],
        ),
        Lines(
            "Mounts with one number",
            "Answers that were dropped since another mount has their number: correct one of both.",
            "eps",
            [
                Query(
                    total(rate("tree_number_conflicts_total"), "number", "mount", "holder"),
                    "{{mount}} and {{holder}}: {{number}}",
                )
            ],
        ),
        Lines(
            "Lookups that failed",
            "The share of questions that brought no answer to be used.",
            "percentunit",
            [
                Query(
                    ratio(
                        total(
                            rate(
                                "tree_lookups_total",
                                'peer=~"$peer"',
                                'outcome=~"unreachable|denied|rejected|lied|number_conflict"',
                            ),
                            "peer",
                        ),
                        total(lookups, "peer"),
                        A_LITTLE,
                    ),
                    "{{peer}}",
                )
            ],
        ),
        Lines(
            "Time of lookups for clients",
            "The slowest of 100 requests that name things: time in the gateway, and at brokers and "
            "other gateways.",
            "s",
            [
                Query(
                    quantile(0.99, "gateway_seconds", "api", matchers=[NAMING]), "{{api}}, gateway"
                ),
                Query(
                    quantile(0.99, "broker_seconds", "api", matchers=[NAMING]), "{{api}}, others"
                ),
            ],
        ),
    ]


def page() -> Page:
    """The dashboard "Tree"."""
    return Page(
        "kafka-gateway-tree",
        "Kafka gateway: tree",
        "The clusters of a tree side by side, and what the gateways of the tree ask each other.",
        [("Clusters", _clusters()), ("Other gateways of the tree", _lookups())],
        [
            Variable(
                "cluster",
                "the clusters, by their names in the configuration",
                state("requests_total", 'cluster!=""'),
                "cluster",
            ),
            Variable(
                "peer",
                "the other gateways, by their names in `tree`",
                state("tree_lookups_total"),
                "peer",
            ),
        ],
    )
