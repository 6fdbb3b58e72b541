"""Cliff explorer: a metric over a parameter, revisions as lines."""

from grafana_foundation_sdk.builders.common import ScaleDistributionConfig, VizLegendOptions
from grafana_foundation_sdk.builders.xychart import MatcherConfig, XychartXYSeriesConfigX, XYSeriesConfig
from grafana_foundation_sdk.builders.xychart import Panel as XYChart
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement, ScaleDistribution
from grafana_foundation_sdk.models.dashboard import DataTransformerConfig, DynamicConfigValue
from grafana_foundation_sdk.models.xychart import SeriesMapping, XYShowMode

from builders import choices
from builders.parts import (
    ANY,
    SOURCE,
    CliffwatchDashboard,
    SqlQuery,
    chosen,
    listed,
    table,
    thresholds,
)

_CASE = "suite = '$suite' AND benchmark = '$benchmark' AND metric_in_unit = '$metric'"
_TARGET = f"{_CASE} AND platform = '$platform' AND mode = '$mode'"
_MEASURED = "FROM dashboard.revision WHERE branch_id = $branch AND platform = '$platform' AND mode = '$mode'"
_CURVES = f"""
WITH chosen AS MATERIALIZED (
    SELECT ordinal, commit, array_agg(arm_id) AS arms {_MEASURED}
      AND (commit = ANY (ARRAY[$also]::text[]) OR ordinal >= (SELECT min(ordinal) FROM
           (SELECT DISTINCT ordinal {_MEASURED} ORDER BY ordinal DESC LIMIT $last) AS newest))
    GROUP BY ordinal, commit
), swept AS MATERIALIZED (
    SELECT series_id, series, value FROM dashboard.sweep
    WHERE {_TARGET} AND parameter = '$parameter' AND others = '$others'
)
SELECT ordinal, left(chosen.commit, 12) AS commit, value, centre, low, high, n, run, series
FROM chosen CROSS JOIN swept CROSS JOIN LATERAL (
    SELECT centre, low, high, n, run FROM dashboard.measurement
    WHERE series_id = swept.series_id AND arm_id = ANY (arms) ORDER BY arm_id DESC LIMIT 1) AS newest
ORDER BY ordinal DESC, value"""

_ALONG = r"value\commit"
"""The field of the matrix with the values of the parameter: Grafana names it after rows and columns."""


def cliffs() -> CliffwatchDashboard:
    answers = (
        "Where a benchmark climbs or falls as one parameter grows, and whether the newest revisions moved"
        " that place."
    )
    shown = CliffwatchDashboard("cliffs", "Cliffwatch: cliff explorer", answers, days=90)
    swept = ("dashboard.sweep", "count(DISTINCT value) DESC")
    for variable in (choices.suite(*swept), choices.benchmark(*swept), choices.metric(*swept), *_chosen()):
        shown.with_variable(variable)
    return shown.show(_curves(), _ratios(), _values())


def _chosen() -> tuple[object, ...]:
    sweep = "FROM dashboard.sweep WHERE"
    return (
        choices.platform(after=_CASE),
        choices.mode(after=_CASE),
        chosen(
            "parameter",
            "Parameter",
            f"SELECT parameter {sweep} {_TARGET} GROUP BY 1 ORDER BY count(DISTINCT value) DESC, 1",
            "The parameter along which to look, the one with most values first",
        ),
        chosen(
            "others",
            "Other parameters",
            f"SELECT others {sweep} {_TARGET} AND parameter = '$parameter' GROUP BY 1 ORDER BY count(*)"
            " DESC, 1",
            "What the parameters beside it are; none where there are none",
        ),
        _branch(),
        listed(
            "last",
            "Newest revisions",
            ("2", "4", "8", "16"),
            "How many of the newest measured revisions are lines",
            "4",
        ),
        chosen(
            "also",
            "Also",
            "SELECT left(commit, 12) || ' ' || coalesce(subject, '') AS __text, commit AS __value FROM"
            " (SELECT DISTINCT ON (ordinal) ordinal, commit, subject FROM dashboard.revision WHERE branch_id"
            " = $branch AND platform = '$platform' AND mode = '$mode' ORDER BY ordinal DESC LIMIT 200) AS"
            " measured",
            "Further revisions as lines, of the newest 200 that were measured",
        ).multi(True),
    )


def _branch() -> object:
    query = """
SELECT name AS __text, branch_id AS __value FROM dashboard.branch
WHERE branch_id = 0 OR EXISTS (SELECT FROM dashboard.revision WHERE revision.branch_id = branch.branch_id
                               AND platform = '$platform' AND mode = '$mode')
ORDER BY branch_id = 0, followed DESC, name""".strip()
    return chosen(
        "branch",
        "Branch",
        query,
        "Branches that were measured on this target; the last entry is of no branch",
    )


def _curves() -> XYChart:
    query = f"SELECT value, centre, commit FROM ({_CURVES}) AS curves ORDER BY value, ordinal DESC"
    return _chart(
        "$benchmark: $metric over $parameter",
        "A line for each revision: medians over boots. Where all lines climb together is the hardware's or"
        " the algorithm's cliff; a line that climbs elsewhere moved it.",
        query,
        "centre",
        "none",
    )


def _ratios() -> XYChart:
    query = f"""
SELECT value, centre / first_value(centre) OVER (PARTITION BY value ORDER BY ordinal) - 1 AS change, commit
FROM ({_CURVES}) AS curves ORDER BY value, ordinal DESC"""
    return _chart(
        "Against the oldest of these revisions",
        "The same points as fractions of the oldest revision shown here, at the same value of the parameter."
        " No verdict: those are on the comparison's page.",
        query,
        "change",
        "percentunit",
    )


def _chart(title: str, description: str, query: str, column: str, unit: str) -> XYChart:
    """A line of `column` for each commit."""
    panel = (
        XYChart()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .with_target(SqlQuery(query))
        .with_transformation(
            DataTransformerConfig(
                id_val="groupingToMatrix",
                options={
                    "columnField": "commit",
                    "rowField": "value",
                    "valueField": column,
                    "emptyValue": "null",
                },
            )
        )
        .legend(
            VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(True)
        )
        .mapping(SeriesMapping.AUTO)
        .series(
            [
                XYSeriesConfig().x(
                    XychartXYSeriesConfigX().matcher(MatcherConfig().id("byName").options(_ALONG))
                )
            ]
        )
        .show(XYShowMode.POINTS_AND_LINES)
        .unit(unit)
        .thresholds(thresholds(ANY))
        .height(11)
        .span(24)
    )
    logarithmic = ScaleDistributionConfig().type(ScaleDistribution.LOG).log(2).build()
    plain = DynamicConfigValue(id_val="unit", value="none")
    return panel.override_by_name(
        _ALONG, [plain, DynamicConfigValue(id_val="custom.scaleDistribution", value=logarithmic)]
    )


def _values() -> object:
    query = f"SELECT commit, value, centre, low, high, n, run, series FROM ({_CURVES}) AS curves"
    return table(
        "Values",
        "What the lines are drawn from; low and high hold the median at 95 %, n is how many boots.",
        query,
        links={
            "commit": ("Revision", "${site}/revisions/${__value.raw}"),
            "run": ("Run", "${site}/runs/${__value.raw}"),
            "centre": ("Series", "${site}/series/${__data.fields.series}"),
        },
        hide=("series",),
    )
