"""Panels and pages: what the dashboards are made of, and the JSON that Grafana imports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as models

DATASOURCE: Final = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
TAG: Final = "kafka-gateway"
WIDTH: Final = 24
"""Columns of Grafana's grid."""

_HEIGHT_LINES, _HEIGHT_NUMBER = 8, 4
_AREA: Final = common.BigValueGraphMode.AREA


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel: PromQL, and how its series are called."""

    expression: str
    legend: str = "__auto"


@dataclass(frozen=True, slots=True)
class Lines:
    """A panel of lines over time. ``about`` is what it tells, ``unit`` one of Grafana's;
    ``stacked``: the lines add up to something."""

    title: str
    about: str
    unit: str
    queries: Sequence[Query]
    width: int = WIDTH // 2
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """What a gauge of 0 and 1 says: ``one`` and ``zero`` in words. ``good`` is the value of all is
    well."""

    one: str
    zero: str
    good: int = 1


REACHED: Final = Words("reached", "not reached")
FRESH: Final = Words("fresh", "stale")


@dataclass(frozen=True, slots=True)
class States:
    """A panel of bars over time, of gauges of 0 and 1: a line would be read as a number."""

    title: str
    about: str
    queries: Sequence[Query]
    words: Words
    width: int = WIDTH // 2


@dataclass(frozen=True, slots=True)
class Number:
    """A panel of the number of now. From ``bad`` on it is red; with ``low`` it is red below it.
    ``words`` stand for 0 and 1."""

    title: str
    about: str
    unit: str
    expression: str
    bad: float | None = None
    low: bool = False
    width: int = WIDTH // 6
    legend: str = "__auto"
    words: Words | None = None


Panel = Lines | Number | States


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top of a page: the values of a ``label`` of ``metric``, which is a selector.
    ``several``: all values, or any number of them, can be chosen."""

    name: str
    about: str
    metric: str
    label: str
    several: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """One dashboard: rows of panels, by their headings, and its variables besides job and
    instance."""

    uid: str
    title: str
    about: str
    rows: Sequence[tuple[str, Sequence[Panel]]]
    variables: Sequence[Variable] = ()


GATEWAYS: Final = (
    Variable("job", "the job of the scrape configuration", "kafka_gateway_build_info", "job"),
    Variable("instance", "the gateway", 'kafka_gateway_build_info{job=~"$job"}', "instance"),
)


def to_json(page: Page) -> str:
    """The page as Grafana imports it."""
    built = _dashboard(page).build()
    return json.dumps(built, cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _dashboard(page: Page) -> builders.Dashboard:
    others = builders.DashboardLink("Other dashboards of the gateway")
    others.type(models.DashboardLinkType.DASHBOARDS).tags([TAG]).as_dropdown(True)
    others.include_vars(True).keep_time(True)
    board = builders.Dashboard(page.title).uid(page.uid).description(page.about)
    board.tags([TAG]).refresh("30s").time("now-1h", "now").timezone("browser")
    board.tooltip(models.DashboardCursorSync.CROSSHAIR).link(others)
    board.with_variable(
        builders.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
    )
    for variable in (*GATEWAYS, *page.variables):
        board.with_variable(_variable(variable))
    numbers = iter(range(1, 1_000))
    for title, panels in page.rows:
        board.with_row(builders.Row(title).id(next(numbers)))
        for panel in panels:
            board.with_panel(_drawn(panel).id(next(numbers)))
    return board


def _variable(variable: Variable) -> builders.QueryVariable:
    query = f"label_values({variable.metric}, {variable.label})"
    made = builders.QueryVariable(variable.name).label(variable.name.replace("_", " "))
    made.description(variable.about).datasource(DATASOURCE)
    made.query({"query": query, "refId": variable.name})
    made.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
    made.sort(models.VariableSort.ALPHABETICAL_ASC)
    if variable.several:
        # ".*" also matches what lacks the label, such as a cluster where there is no tree.
        made.multi(True).include_all(True).all_value(".*")
        made.current(models.VariableOption(selected=True, text=["All"], value=["$__all"]))
    return made


def _targets(queries: Sequence[Query]) -> list[prometheus.Dataquery]:
    return [
        prometheus.Dataquery()
        .expr(query.expression)
        .legend_format(query.legend)
        .range()
        .ref_id(chr(ord("A") + index))
        for index, query in enumerate(queries)
    ]


def _drawn(panel: Panel) -> stat.Panel | statetimeline.Panel | timeseries.Panel:
    match panel:
        case Lines():
            return _lines(panel)
        case States():
            return _states(panel)
        case Number():
            return _number(panel)


def _lines(panel: Lines) -> timeseries.Panel:
    drawn = timeseries.Panel().title(panel.title).description(panel.about).unit(panel.unit)
    drawn.datasource(DATASOURCE).span(panel.width).height(_HEIGHT_LINES).min(0)
    drawn.fill_opacity(30 if panel.stacked else 5).show_points(common.VisibilityMode.NEVER)
    if panel.stacked:
        drawn.stacking(common_builders.StackingConfig().mode(common.StackingMode.NORMAL))
    legend = common_builders.VizLegendOptions().show_legend(True)
    legend.display_mode(common.LegendDisplayMode.LIST)
    drawn.legend(legend.placement(common.LegendPlacement.BOTTOM))
    tooltip = common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI)
    drawn.tooltip(tooltip.sort(common.SortOrder.DESCENDING))
    for target in _targets(panel.queries):
        drawn.with_target(target)
    return drawn


def _states(panel: States) -> statetimeline.Panel:
    drawn = statetimeline.Panel().title(panel.title).description(panel.about).unit("short")
    drawn.datasource(DATASOURCE).span(panel.width).height(_HEIGHT_LINES)
    drawn.mappings([_mapping(panel.words)]).show_value(common.VisibilityMode.NEVER)
    drawn.color_scheme(builders.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
    drawn.thresholds(builders.ThresholdsConfig().steps(_steps(1, low=panel.words.good == 1)))
    legend = common_builders.VizLegendOptions().show_legend(True)
    legend.display_mode(common.LegendDisplayMode.LIST)
    drawn.legend(legend.placement(common.LegendPlacement.BOTTOM))
    for target in _targets(panel.queries):
        drawn.with_target(target)
    return drawn


def _mapping(words: Words) -> models.ValueMap:
    texts = {"0": words.zero, "1": words.one}
    return models.ValueMap(
        {
            value: models.ValueMappingResult(
                text=text, color="green" if int(value) == words.good else "red", index=index
            )
            for index, (value, text) in enumerate(texts.items())
        }
    )


def _number(panel: Number) -> stat.Panel:
    drawn = stat.Panel().title(panel.title).description(panel.about).unit(panel.unit)
    drawn.datasource(DATASOURCE).span(panel.width).height(_HEIGHT_NUMBER)
    # What grew in the time shown is one number: a curve of it would be a sum that slides.
    of_range = "$__range" in panel.expression
    graph = common.BigValueGraphMode.NONE if of_range or panel.words else _AREA
    drawn.color_mode(common.BigValueColorMode.VALUE).graph_mode(graph)
    if panel.legend != "__auto":
        # Of one series alone Grafana would leave out the name, such as the version.
        drawn.text_mode(common.BigValueTextMode.VALUE_AND_NAME)
    drawn.reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]))
    if panel.words is not None:
        drawn.mappings([_mapping(panel.words)])
        steps = _steps(1, low=panel.words.good == 1)
    else:
        steps = _steps(panel.bad, low=panel.low)
    drawn.thresholds(builders.ThresholdsConfig().steps(steps))
    for target in _targets([Query(panel.expression, panel.legend)]):
        drawn.with_target(target.instant() if of_range else target)
    return drawn


def _steps(bad: float | None, *, low: bool) -> list[models.Threshold]:
    if bad is None:
        return [models.Threshold(value=None, color="blue")]
    first, then = ("red", "green") if low else ("green", "red")
    return [models.Threshold(value=None, color=first), models.Threshold(value=bad, color=then)]
