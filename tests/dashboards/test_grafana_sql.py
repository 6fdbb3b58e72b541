"""Variables and macros are expanded as Grafana does it: examples of its documentation and of the data
source's own tests.
"""

from datetime import UTC, datetime

import pytest
from grafana_sql import TimeRange, UnknownMacroError, expanded, interpolated

SPAN = TimeRange(datetime(2018, 4, 12, 18, tzinfo=UTC), datetime(2018, 4, 12, 18, 5, tzinfo=UTC))


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("select $__time(time_column)", 'select time_column AS "time"'),
        ("$__timeEpoch(t)", 'extract(epoch from t) as "time"'),
        ("WHERE $__timeFilter(t)", "WHERE t BETWEEN '2018-04-12T18:00:00Z' AND '2018-04-12T18:05:00Z'"),
        ("select $__timeFrom()", "select '2018-04-12T18:00:00Z'"),
        ("select $__timeTo()", "select '2018-04-12T18:05:00Z'"),
        (
            "SELECT $__timeGroup(t,'5m'), value",
            'SELECT floor(extract(epoch from t)/300)*300 AS "time", value',
        ),
        ("GROUP BY $__timeGroup(t , '5m')", "GROUP BY floor(extract(epoch from t)/300)*300"),
        ("$__timeGroupAlias(t,$__interval)", 'floor(extract(epoch from t)/3600)*3600 AS "time"'),
        ("$__timeGroupAlias(t,'5m',previous)", 'floor(extract(epoch from t)/300)*300 AS "time"'),
        ("$__interval_ms", "3600000"),
        ("$__unixEpochFilter(t)", "t >= 1523556000 AND t <= 1523556300"),
        ("$__unixEpochNanoFilter(t)", "t >= 1523556000000000000 AND t <= 1523556300000000000"),
        ("$__unixEpochFrom() $__unixEpochTo()", "1523556000 1523556300"),
        ("$__unixEpochNanoFrom() $__unixEpochNanoTo()", "1523556000000000000 1523556300000000000"),
        ("$__unixEpochGroupAlias(a+b,'5m')", 'floor((a+b)/300)*300 AS "time"'),
        ("$__unixEpochGroup(a+b,'5m')", "floor((a+b)/300)*300"),
    ],
)
def test_macros(query: str, sent: str) -> None:
    assert expanded(query, SPAN) == sent


def test_fractions_of_a_second_are_kept() -> None:
    span = TimeRange(datetime(1960, 2, 1, 7, 0, 0, 500000, tzinfo=UTC), SPAN.end)
    assert expanded("$__timeFrom()", span) == "'1960-02-01T07:00:00.5Z'"


@pytest.mark.parametrize("query", ["$__timeGroup(t)", "$__nosuch(t)", "$__timeGroup(t, 'soon')"])
def test_what_the_data_source_does_not_have_is_refused(query: str) -> None:
    with pytest.raises(UnknownMacroError):
        expanded(query, SPAN)


def test_variables() -> None:
    values = {"one": "it's", "many": ["a", "b'c"], "number": "3"}
    assert interpolated("x = '$one' AND y IN ($many) AND z = ${number}", values) == (
        "x = 'it''s' AND y IN ('a','b''c') AND z = 3"
    )
    assert interpolated("$__timeFilter($number) $nosuch", values) == "$__timeFilter(3) $nosuch"
