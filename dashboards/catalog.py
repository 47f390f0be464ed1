"""The catalog and the policies: is the catalog read and whole, what is decided, what is logged."""

from __future__ import annotations

from dashboards.panels import Lines, Number, Page, Panel, Query
from dashboards.queries import growth, highest, lowest, rate, state, total


def _catalog() -> list[Panel]:
    return [
        Number(
            "Fresh",
            "1: every worker has read the catalog within `catalog.max_staleness`.",
            "short",
            lowest(state("catalog_fresh")),
            bad=1,
            low=True,
        ),
        Number(
            "Damaged records",
            "Records in whose place there is junk, or nothing: the log says what to do.",
            "short",
            highest(state("catalog_damaged_records")),
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
        Number("Topics", "Topics of the clusters.", "short", highest(state("topics"))),
        Number(
            "Version",
            "The oldest version of the catalog that a worker has.",
            "short",
            lowest(state("catalog_version")),
        ),
        Lines(
            "Freshness by gateway",
            "Which gateway cannot read the catalog (0).",
            "short",
            [Query(lowest(state("catalog_fresh"), "instance"), "{{instance}}")],
        ),
        Lines(
            "Version by gateway",
            "Gateways of one cluster have the same line; one below the others lags behind.",
            "short",
            [
                Query(
                    lowest(state("catalog_version"), "instance", "cluster"),
                    "{{instance}} {{cluster}}",
                )
            ],
        ),
        Lines(
            "Junk by kind",
            "Why records of the catalog's topic were skipped, once by each worker.",
            "short",
            [Query(total(rate("catalog_skipped_records_total"), "reason"), "{{reason}}")],
        ),
        Lines(
            "Audit events",
            "Catalog changes, denials and failed logins, by type, as the audit log has them.",
            "short",
            [Query(total(rate("audit_events_total"), "type"), "{{type}}")],
        ),
    ]


def _policies() -> list[Panel]:
    return [
        Lines(
            "Violations by rule",
            "Rules that topics did not satisfy: refused (enforce), or only reported (warn).",
            "short",
            [Query(total(rate("policy_violations_total"), "rule", "mode"), "{{rule}} {{mode}}")],
        ),
        Lines(
            "Violations by namespace",
            "Where that was asked for.",
            "short",
            [Query(total(rate("policy_violations_total"), "namespace"), "{{namespace}}")],
        ),
        Lines(
            "Failures of policy classes",
            "Calls that raised, or took too long, so that topics were refused.",
            "short",
            [
                Query(
                    total(rate("policy_failures_total"), "class_name", "reason"),
                    "{{class_name}}: {{reason}}",
                )
            ],
        ),
        Lines(
            "Reloads",
            "Reloads of the policies in the time shown; `failed` changed nothing.",
            "short",
            [Query(total(growth("policy_reloads_total"), "outcome"), "{{outcome}}")],
        ),
        Lines(
            "Deprecated grants",
            "ACLs made, in the time shown, that allow a deprecated operation (KIP-679).",
            "short",
            [Query(total(growth("deprecated_grants_total"), "operation"), "{{operation}}")],
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
