"""The catalog and the policies: is the catalog read and whole, what is decided, what is logged."""

from __future__ import annotations

from typing import Final

from dashboards.panels import FRESH, Lines, Number, Page, Panel, Query, States, Words
from dashboards.queries import growth, highest, lowest, of_clusters, rate, state, total

EACH: Final = "{{instance}} {{cluster}}"


def _catalog() -> list[Panel]:
    return [
        Number(
            "Fresh",
            "Whether every worker has read the catalog within `catalog.max_staleness`.",
            "short",
            lowest(state("catalog_fresh")),
            words=FRESH,
        ),
        Number(
            "Damaged records",
            "Records in whose place there is junk, or nothing: the log says what to do.",
            "short",
            of_clusters("catalog_damaged_records"),
            bad=1,
        ),
        Number(
            "Junk",
            "Records in the catalog's topic that no gateway wrote, found in the time shown.",
            "short",
            total(growth("catalog_skipped_records_total")) + " or vector(0)",
            bad=1,
        ),
        Number(
            "Mended",
            "Records written again since junk had replaced them, in the time shown.",
            "short",
            total(growth("catalog_mended_records_total")),
            bad=1,
        ),
        Number("Topics", "Topics of all clusters.", "short", of_clusters("topics")),
        Number(
            "Version",
            "The oldest version of each cluster's catalog that a worker has.",
            "short",
            lowest(state("catalog_version"), "cluster"),
            legend="{{cluster}}",
        ),
        States(
            "Freshness by gateway",
            "Which gateway cannot read which catalog.",
            [Query(lowest(state("catalog_fresh"), "instance", "cluster"), EACH)],
            FRESH,
        ),
        States(
            "Lost by gateway",
            "Which gateway has a catalog in memory whose topic is gone or empty: restart none.",
            [Query(highest(state("catalog_lost"), "instance", "cluster"), EACH)],
            Words("lost", "there", good=0),
        ),
        Lines(
            "Version by gateway",
            "Gateways of one cluster have the same line; one below the others lags behind.",
            "short",
            [
                Query(
                    lowest(state("catalog_version"), "instance", "cluster"),
                    EACH,
                )
            ],
        ),
        Lines(
            "Junk by kind",
            "Why records of the catalog's topic were skipped, once by each worker.",
            "eps",
            [Query(total(rate("catalog_skipped_records_total"), "reason"), "{{reason}}")],
        ),
        Lines(
            "Audit events",
            "Catalog changes, denials and failed logins, by type, as the audit log has them.",
            "eps",
            [Query(total(rate("audit_events_total"), "type"), "{{type}}")],
        ),
    ]


def _policies() -> list[Panel]:
    return [
        Lines(
            "Violations by rule",
            "Rules that topics did not satisfy: refused (enforce), or only reported (warn).",
            "eps",
            [Query(total(rate("policy_violations_total"), "rule", "mode"), "{{rule}} {{mode}}")],
        ),
        Lines(
            "Violations by namespace",
            "Where that was asked for.",
            "eps",
            [Query(total(rate("policy_violations_total"), "namespace"), "{{namespace}}")],
        ),
        Lines(
            "Failures of policy classes",
            "Calls that raised, or took too long, so that topics were refused.",
            "eps",
            [
                Query(
                    total(rate("policy_failures_total"), "class_name", "reason"),
                    "{{class_name}}: {{reason}}",
                )
            ],
        ),
        Number(
            "Reloads",
            "Reloads of the policies in the time shown; `failed` changed nothing.",
            "short",
            total(growth("policy_reloads_total"), "outcome"),
            width=6,
            legend="{{outcome}}",
        ),
        Number(
            "Deprecated grants",
            "ACLs made, in the time shown, that allow a deprecated operation (KIP-679).",
            "short",
            total(growth("deprecated_grants_total"), "operation"),
            width=6,
            legend="{{operation}}",
        ),
    ]


def page() -> Page:
    """The dashboard "Catalog and policies"."""
    return Page(
        "kafka-gateway-catalog",
        "Kafka gateway: catalog and policies",
        "Whether the catalog is read, current and whole; what policies refuse; audit events.",
        [("Catalog", _catalog()), ("Policies", _policies())],
    )
