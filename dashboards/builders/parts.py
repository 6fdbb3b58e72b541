"""What dashboards are made of: the data source, queries, variables, panels with their units and links."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders.dashboard import (
    AnnotationQuery,
    CustomVariable,
    Dashboard,
    DashboardLink,
    QueryVariable,
    ThresholdsConfig,
)
from grafana_foundation_sdk.builders.stat import Panel as Stat
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
from grafana_foundation_sdk.cog import builder, variants
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    DataSourceRef,
    GraphDrawStyle,
    GraphThresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    StackingMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    VariableHide,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

ON_HARDWARE = "NOT starts_with(platform, 'rehearsal-')"
"""Leaves out rehearsals: what an emulator shows of itself says nothing about a bench host."""

SOURCE = DataSourceRef(type_val="grafana-postgresql-datasource", uid="cliffwatch")
TAG = "cliffwatch"

Steps = Sequence[tuple[float | None, str]]
"""Colours from a value on; the first one has no value."""

NONE_IS_GOOD: Steps = ((None, "green"), (1, "red"))
ANY: Steps = ((None, "blue"),)

INTERVAL_COLOUR = "#8e8e8e"
"""Of what accompanies a line: the ends of its interval, its threshold."""

TIMES = ("made", "opened", "found", "at", "created", "started", "newest", "seen", "oldest", "last_seen",
         "busy_since", "received", "updated", "judged")  # fmt: skip
"""Columns with a time, which is shown to the minute."""

WIDTHS: Mapping[str, int] = {
    **dict.fromkeys(TIMES, 130),
    **dict.fromkeys(("head", "base", "commit", "run", "job", "host", "epoch"), 110),
    **dict.fromkeys(("centre", "low", "high", "size", "ci_low", "ci_high", "largest", "smallest"), 80),
    **dict.fromkeys(("largest_on_one", "largest_on_other"), 135),
    **dict.fromkeys(("regressions", "unchanged", "inconclusive", "base_value", "head_value"), 96),
    **dict.fromkeys(("published", "hours", "value", "kind"), 105),
    **dict.fromkeys(("changed", "mode", "profile", "offline", "waiting", "running", "followed"), 82),
    **dict.fromkeys(("ordinal", "rows", "n", "leases", "failed", "changes", "series"), 70),
    "absent": 65,
    "improvements": 108,
    "state": 120,
    "platform": 130,
}
"""Pixels of a column, as its values need: others share what is left. Identities show their beginning."""

APART = "at + interval '1 ms' * (row_number() OVER (PARTITION BY at ORDER BY ordinal) - 1)"
"""When a revision was written. Revisions of one moment are set a millisecond apart: Grafana keeps one value a
moment and series.
"""


class Sql(variants.Dataquery):
    """A query of the PostgreSQL data source, as text."""

    def __init__(self, text: str, form: str, ref_id: str) -> None:
        self.text, self.form, self.ref_id = text, form, ref_id

    def to_json(self) -> dict[str, object]:
        return {
            "refId": self.ref_id,
            "datasource": {"type": SOURCE.type_val, "uid": SOURCE.uid},
            "format": self.form,
            "rawQuery": True,
            "editorMode": "code",
            "rawSql": self.text.strip(),
        }


class SqlQuery(builder.Builder[Sql]):
    """`form` is `table` or `time_series`."""

    def __init__(self, text: str, form: str = "table", ref_id: str = "A") -> None:
        self._internal = Sql(text, form, ref_id)

    def build(self) -> Sql:
        return self._internal


class CliffwatchDashboard(Dashboard):
    """A dashboard of ours: its name, what it answers, the way to the others and to the pages."""

    def __init__(self, uid: str, title: str, answers: str, *, days: int) -> None:
        super().__init__(title)
        self.uid(f"cliffwatch-{uid}").description(answers).tags([TAG]).timezone("browser").editable()
        self.time(f"now-{days}d", "now").refresh("5m")
        self.link(
            DashboardLink("Dashboards")
            .type(DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .as_dropdown(True)
            .keep_time(True)
        )
        self.link(
            DashboardLink("Cliffwatch")
            .type(DashboardLinkType.LINK)
            .url("${site}")
            .target_blank(True)
            .icon("external link")
        )
        self.with_variable(hidden("site", "SELECT url FROM dashboard.site", "Where Cliffwatch's pages are"))

    def show(self, *panels: Any) -> Self:
        for panel in panels:
            self.with_panel(panel)
        return self


def chosen(
    name: str,
    label: str,
    query: str,
    description: str,
    *,
    many: bool = False,
    first: str | None = None,
    sort: VariableSort = VariableSort.DISABLED,
) -> QueryVariable:
    """A variable with the values of a query; `many` can be chosen where so said, all of them at first."""
    variable = QueryVariable(name).label(label).description(description).datasource(SOURCE).query(query)
    variable.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).sort(sort).multi(many).include_all(many)
    if many:
        variable.current(VariableOption(selected=True, text="All", value="$__all"))
    elif first is not None:
        variable.current(VariableOption(selected=True, text=first, value=first))
    return variable


def hidden(name: str, query: str, description: str) -> QueryVariable:
    return chosen(name, name, query, description).hide(VariableHide.HIDE_VARIABLE)


def listed(name: str, label: str, values: Sequence[str], description: str, first: str) -> CustomVariable:
    options = [VariableOption(selected=value == first, text=value, value=value) for value in values]
    return (
        CustomVariable(name)
        .label(label)
        .description(description)
        .values(",".join(values))
        .options(options)
        .current(VariableOption(selected=True, text=first, value=first))
    )


def annotation(name: str, query: str, colour: str) -> AnnotationQuery:
    """Of a query with time, text and tags."""
    return (
        AnnotationQuery()
        .name(name)
        .datasource(SOURCE)
        .enable(True)
        .icon_color(colour)
        .target(SqlQuery(query, ref_id="Anno"))
    )


def thresholds(steps: Steps) -> ThresholdsConfig:
    return (
        ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=value, color=colour) for value, colour in steps])
    )


def stat(title: str, description: str, query: str, unit: str, steps: Steps = ANY) -> Stat:
    """One number; 6 of 24 columns wide."""
    return (
        Stat()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .with_target(SqlQuery(query))
        .unit(unit)
        .thresholds(thresholds(steps))
        .color_mode(BigValueColorMode.VALUE)
        .height(4)
        .span(6)
    )


def lines(
    title: str,
    description: str,
    query: str,
    unit: str,
    *,
    steps: Steps = ANY,
    bars: bool = False,
    least: str | None = None,
    colours: Mapping[str, str] | None = None,
    wide: int = 12,
    high: int = 9,
) -> TimeSeries:
    """Values over time: lines with points, or stacked bars. `least` is the shortest interval that values are
    grouped by; `colours` are of series by name.
    """
    legend = (
        common_builders.VizLegendOptions()
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
    )
    panel = (
        TimeSeries()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .with_target(SqlQuery(query, "time_series"))
        .unit(unit)
        .thresholds(thresholds(steps))
        .legend(legend.show_legend(True))
        .height(high)
        .span(wide)
    )
    if least:
        panel.interval(least)
    for name, colour in (colours or {}).items():
        panel.override_by_name(name, [fixed(colour)])
    if bars:
        panel.axis_soft_min(0).decimals(0)
        stacked = common_builders.StackingConfig().mode(StackingMode.NORMAL)
        return panel.draw_style(GraphDrawStyle.BARS).fill_opacity(70).stacking(stacked)
    return panel.show_points(VisibilityMode.ALWAYS).point_size(5).span_nulls(True)


def dashed() -> common_builders.GraphThresholdsStyleConfig:
    """Thresholds as dashed lines."""
    return common_builders.GraphThresholdsStyleConfig().mode(GraphThresholdsStyleMode.DASHED)


def fixed(colour: str) -> DynamicConfigValue:
    return DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": colour})


def hidden_from(where: str) -> DynamicConfigValue:
    """`where` is legend, tooltip or viz: the panel itself."""
    places = {place: place == where for place in ("legend", "tooltip", "viz")}
    return DynamicConfigValue(id_val="custom.hideFrom", value=places)


def accompanying() -> list[DynamicConfigValue]:
    """Of a series that stands beside another: dashed, without points, not in the legend."""
    return [
        fixed(INTERVAL_COLOUR),
        DynamicConfigValue(id_val="custom.lineStyle", value={"fill": "dash", "dash": [4, 4]}),
        DynamicConfigValue(id_val="custom.showPoints", value="never"),
        hidden_from("legend"),
    ]


def words_of(query: str) -> set[str]:
    """Of a query: its columns are among them."""
    return set(re.findall(r"\w+", query))


def table(
    title: str,
    description: str,
    query: str,
    *,
    links: Mapping[str, tuple[str, str]] | None = None,
    units: Mapping[str, str] | None = None,
    steps: Mapping[str, Steps] | None = None,
    hide: Sequence[str] = (),
    wide: int = 24,
    high: int = 9,
) -> Table:
    """Rows; `links` are title and address by column, `units` by column; `hide` are columns that only links
    need. There is no unit for all columns: with one, Grafana takes hashes of digits for numbers.
    """
    panel = (
        Table()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .with_target(SqlQuery(query))
        .height(high)
        .span(wide)
    )
    properties: dict[str, list[DynamicConfigValue]] = {}
    shown = words_of(query) - set(hide)
    for column in sorted(shown & WIDTHS.keys()):
        properties[column] = [DynamicConfigValue(id_val="custom.width", value=WIDTHS[column])]
    for column in sorted(shown & set(TIMES)):
        properties[column].append(DynamicConfigValue(id_val="unit", value="time:YYYY-MM-DD HH:mm"))
    for column, (text, address) in (links or {}).items():
        link = {"title": text, "url": address, "targetBlank": True}
        properties.setdefault(column, []).append(DynamicConfigValue(id_val="links", value=[link]))
    for column, unit in (units or {}).items():
        properties.setdefault(column, []).append(DynamicConfigValue(id_val="unit", value=unit))
    for column, colours in (steps or {}).items():
        properties.setdefault(column, []).extend(
            [
                DynamicConfigValue(id_val="thresholds", value=thresholds(colours).build()),
                DynamicConfigValue(id_val="custom.cellOptions", value={"type": "color-text"}),
            ]
        )
    for column in hide:
        properties.setdefault(column, []).append(hidden_from("viz"))
    for column, values in properties.items():
        panel.override_by_name(column, values)
    return panel
