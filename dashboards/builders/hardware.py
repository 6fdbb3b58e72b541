"""Cross-hardware: what a change does on AMD Rome and on Intel Skylake."""

from builders import choices
from builders.parts import APART, CliffwatchDashboard, chosen, lines, table

_CASE = "suite = '$suite' AND benchmark = '$benchmark' AND metric_in_unit = '$metric'"
_BOTH = "platform IN ('$one', '$other') AND mode = '$mode'"


def hardware() -> CliffwatchDashboard:
    answers = (
        "Whether a change shows on both kinds of machine. Each platform is drawn against itself: costs of two"
        " machines are not compared with each other, only what became of them."
    )
    shown = CliffwatchDashboard("hardware", "Cliffwatch: AMD Rome and Intel Skylake", answers, days=90)
    one, other = (
        _platform("one", "Platform", "amd-rome"),
        _platform("other", "Other platform", "intel-skylake", but="$one"),
    )
    on_both = (
        "(SELECT * FROM dashboard.series WHERE platform IN ('$one', '$other')) AS series",
        "count(DISTINCT platform) DESC, count(*) DESC",
    )
    case = (choices.suite(*on_both), choices.benchmark(*on_both), choices.metric(*on_both))
    for variable in (one, other, *case, _mode(), _parameters(), choices.branch()):
        shown.with_variable(variable)
    return shown.show(_courses(), _found_on_one(), _found_on_both(), _latest())


def _platform(name: str, label: str, first: str, *, but: str = "") -> object:
    query = (
        f"SELECT DISTINCT platform FROM dashboard.target WHERE newest IS NOT NULL AND platform <> '{but}'"
        " ORDER BY 1"
    )
    return chosen(name, label, query, "A kind of machine", first=first)


def _mode() -> object:
    query = (
        f"SELECT DISTINCT mode FROM dashboard.series WHERE {_CASE} AND platform IN ('$one', '$other') ORDER"
        " BY 1 DESC"
    )
    return chosen("mode", "Mode", query, "walltime or icount; never compared with each other")


def _parameters() -> object:
    query = f"""
SELECT parameters FROM dashboard.series WHERE {_CASE} AND {_BOTH} GROUP BY 1 ORDER BY count(DISTINCT platform) DESC, 1""".strip()
    return chosen("parameters", "Parameters", query, "The parameters that make the case")


def _courses() -> object:
    def course(platform: str) -> str:
        series = f"SELECT series_id FROM dashboard.series WHERE {_CASE} AND parameters = '$parameters'"
        return f"""
SELECT {APART} AS time, '{platform} ' || left(epoch, 8) AS metric, centre / first_value(centre) OVER (PARTITION BY epoch ORDER BY ordinal) - 1
       AS change
FROM dashboard.point WHERE series_id = ({series} AND platform = '{platform}' AND mode = '$mode') AND branch_id = $branch
  AND $__timeFilter(at)"""

    return lines(
        "$benchmark $parameters: $metric, each platform against itself",
        "Each point is the change since the platform's oldest point in this time. Lines that part show a"
        " change that only one kind of machine feels. A new environment begins anew at 0.",
        f"{course('$one')}\nUNION ALL {course('$other')}\nORDER BY time",
        "percentunit",
        wide=24,
        high=11,
    )


def _changes(where: str, columns: str) -> str:
    return f"""
SELECT min(head) AS head, min(subject) AS subject, count(*) AS series, {columns}, min(base) AS base, max(found) AS found
FROM dashboard.change WHERE state = 'confirmed' AND {_BOTH} AND $__timeFilter(found)
GROUP BY base_revision_id, head_revision_id HAVING count(DISTINCT platform) {where} ORDER BY max(found) DESC LIMIT 100"""


def _found_on_one() -> object:
    columns = "min(platform) AS platform, min(size) AS smallest, max(size) AS largest"
    return table(
        "Found on one platform only",
        "Revisions with confirmed changes on one of the two platforms and none on the other, of all suites."
        " Sizes are fractions of base.",
        _changes("= 1", columns),
        links={"head": ("Compare", "${site}/compare/${__data.fields.base}...${__data.fields.head}")},
        units={"smallest": "percentunit", "largest": "percentunit"},
        hide=("base",),
        high=7,
    )


def _found_on_both() -> object:
    columns = (
        "max(abs(size)) FILTER (WHERE platform = '$one') AS largest_on_one,"
        " max(abs(size)) FILTER (WHERE platform = '$other') AS largest_on_other"
    )
    return table(
        "Found on both",
        "Revisions with confirmed changes on both platforms; the largest size on each, as a fraction of"
        " base.",
        _changes("= 2", columns),
        links={"head": ("Compare", "${site}/compare/${__data.fields.base}...${__data.fields.head}")},
        units={"largest_on_one": "percentunit", "largest_on_other": "percentunit"},
        hide=("base",),
        high=7,
    )


def _latest() -> object:
    query = f"""
SELECT series.parameters, series.platform, latest.centre, latest.low, latest.high, latest.n, latest.commit, latest.run, series.series
FROM dashboard.series JOIN dashboard.latest USING (series_id)
WHERE {_CASE} AND {_BOTH} AND branch_id = $branch ORDER BY parameters, platform LIMIT 500"""
    return table(
        "What each case reads now",
        "The newest measurement of each case of this benchmark on this branch; the first 500 rows. Two"
        " platforms stand side by side to be looked at, not to be ranked.",
        query,
        links={
            "centre": ("Series", "${site}/series/${__data.fields.series}"),
            "run": ("Run", "${site}/runs/${__value.raw}"),
            "commit": ("Revision", "${site}/revisions/${__value.raw}"),
        },
        hide=("series",),
    )
