"""Parts of pages that need no browser: drawings, wording, formats, conditions."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from made_documents import made_arm, made_record, made_row

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.run_record import PlannedCaseRecord, PlanRecord
from cliffwatch_service.history.finding import words_of
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store.history.points import PointRow
from cliffwatch_service.web.compare.conditions import conditions
from cliffwatch_service.web.compare.curves import SweepPoint, curve
from cliffwatch_service.web.compare.formats import wanted_form
from cliffwatch_service.web.layout.boots import SHARES_HEIGHT, strips
from cliffwatch_service.web.layout.drawing import bar, common_scale, history
from cliffwatch_service.web.layout.render import commit_page
from cliffwatch_service.web.layout.session import own_address, session_key
from cliffwatch_service.web.layout.wording import ago, format_duration, parameters
from cliffwatch_service.web.work.runs import mark_lines, outputs_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def interval(
    low: float | None, change: float | None, high: float | None, verdict: str = "regression", **more: Any
) -> ComparisonRow:
    members = {
        "ci_low": low,
        "change": change,
        "ci_high": high,
        "verdict": verdict,
        "base": 100.0,
        "head": 105.0,
    }
    return made_row(**(members | more))


def test_bars_share_a_scale_that_one_outlier_does_not_spoil() -> None:
    rows = [interval(0.02, 0.03, 0.04)] * 19 + [interval(0.8, 0.9, 0.95)]
    scale = common_scale(rows, [0.01])
    assert scale.reach == 0.04
    assert bar(rows[0], scale) == "M89.0 7H118.0M103.5 2v10"
    assert bar(rows[-1], scale).endswith("M115 4l3 3l-3 3")


def test_a_scale_shows_the_threshold_where_nothing_changed() -> None:
    assert common_scale([], [0.002]).reach == 0.004
    assert common_scale([], []).reach == 0.001


def test_a_row_without_an_interval_has_a_stroke_and_one_without_a_change_nothing() -> None:
    scale = common_scale([], [0.05])
    assert bar(interval(None, 0.0, None), scale) == "M60.0 2v10"
    assert bar(interval(None, None, None), scale) == ""


def test_from_ten_boots_on_their_distribution_is_drawn() -> None:
    ten = [(float(value), "") for value in range(10)]
    drawn, _, _ = strips([("base", ten), ("head", ten)])
    assert all(each.shares.startswith(f"M0 {SHARES_HEIGHT}H") for each in drawn), "none of the boots"
    assert all("V0.0H" in each.shares for each in drawn), "all of them"
    assert drawn[0].shares.count("V") == 10
    few, _, _ = strips([("base", ten), ("head", ten[:9])])
    assert [each.shares for each in few] == ["", ""], "dots, while one side has fewer"


def test_equal_samples_lie_above_each_other_and_the_median_between() -> None:
    drawn, low, high = strips([("base", [(1.0, "a"), (1.0, "b")]), ("head", [(2.0, "c"), (3.0, "d")])])
    assert (low, high) == (1.0, 3.0)
    assert drawn[0].dots[0].y != drawn[0].dots[1].y
    assert drawn[1].median == (drawn[1].dots[0].x + drawn[1].dots[1].x) / 2


def test_a_sweep_of_thousands_is_drawn_by_a_hundred_and_keeps_its_ends() -> None:
    drawn = curve(
        [sweep_point(float(value)) for value in range(1, 3001)], {"base": (16.0, 17.0), "head": None}
    )
    assert len(drawn.dots) <= 122
    assert drawn.x_ticks[0].label == "1"
    assert drawn.x_ticks[-1].label == "3,000"
    assert [side for side, *_ in drawn.breakpoints] == ["base"]


def sweep_point(value: float, base: float = 100.0, head: float = 105.0) -> SweepPoint:
    row = interval(0.04, 0.05, 0.06, base=base, head=head)
    return SweepPoint(value, base, head, row, f"suite/case/nr_maps={value:g}?metric=latency")


def test_a_sweep_draws_head_against_base_where_a_log_axis_hides_it() -> None:
    """Costs over three decades: 5 % are less than a line is thick, and half of the axis below it."""
    points = [
        sweep_point(float(value), base=100.0 * value, head=105.0 * value) for value in (1, 10, 100, 1000)
    ]
    drawn = curve(points, {})
    assert abs(drawn.dots[0].y - float(drawn.base[1:].split("L")[0].split()[1])) < 2
    assert drawn.ratio.zero - drawn.ratio.dots[0].y > 30
    top, height = drawn.ratio.below
    assert top < drawn.ratio.zero < top + height, "the threshold lies around no change"
    assert "Z" in drawn.ratio.band
    assert [tick.label for tick in drawn.ratio.ticks] == ["+6 %", "0 %"]


def test_a_point_of_a_sweep_leads_to_its_row_and_says_its_values() -> None:
    dot = curve([sweep_point(float(value)) for value in (1, 2, 4)], {}).dots[1]
    assert dot.href == "suite/case/nr_maps=2?metric=latency"
    assert dot.title == "2: 100.000 → 105.000 ns/op, +5.00 %"


@pytest.mark.parametrize("largest", [9, 1000, 4_194_304])
def test_labels_of_a_sweep_lie_within_the_picture_and_on_no_other(largest: int) -> None:
    values = sorted({1, 2, 3, 10, 16, 17, 24, 100, 1000, 10_000, 1_000_000, 4_194_303, largest})
    points = [
        sweep_point(float(value), base=1e6 * value, head=1.05e6 * value)
        for value in values
        if value <= largest
    ]
    drawn = curve(points, {})
    spans = []
    for tick in drawn.x_ticks:
        width = 6.2 * len(tick.label)
        left = {"middle": tick.at - width / 2, "end": tick.at - width}[tick.anchor]
        spans.append((left, left + width))
    assert spans[0][0] > 0
    assert spans[-1][1] <= 460, "the picture ends there"
    assert all(ours[1] < theirs[0] for ours, theirs in pairwise(spans))
    assert all(drawn.left - 6 - 6.2 * len(tick.label) > 0 for tick in drawn.y_ticks)
    assert "e+" not in "".join(tick.label for tick in (*drawn.x_ticks, *drawn.y_ticks))


def test_history_breaks_at_epochs_and_survives_a_flat_line() -> None:
    points = [
        PointRow(
            ordinal=place,
            commit="c" * 40,
            release=None,
            n=8,
            centre=26.4914,
            low=None,
            high=None,
            epoch=epoch,
            run="1" * 32,
            at=NOW,
            anchor=None,
        )
        for place, epoch in enumerate("aabb")
    ]
    drawn = history(points, [(1.0, None, None)] * 4, "ns/op")
    assert len(drawn.lines) == 2
    assert len(drawn.epochs) == 1
    assert drawn.dots[0].title == "cccccccccccc of 2026-11-21: 26.4914 ns/op, n 8"
    assert drawn.dots[0].href == f"/revisions/{'c' * 40}"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "–"), (0, "0 s"), (119, "119 s"), (120, "2 min"), (7300, "2 h"), (200_000, "2 d")],
)
def test_lengths_of_time_have_one_unit(seconds: float | None, words: str) -> None:
    assert format_duration(seconds) == words


def test_times_are_told_from_the_services_clock() -> None:
    assert ago(NOW - timedelta(hours=3), NOW) == "3 h ago"
    assert ago(NOW + timedelta(minutes=5), NOW) == "in 5 min"
    assert ago(None, NOW) == "never"


def test_a_search_is_for_words_in_any_order() -> None:
    assert words_of("Seq-Get nr_maps=16, batch=4 · on") == ["seq-get", "nr_maps=16", "batch=4", "on"]


def test_the_kernels_log_comes_first_and_every_output_says_its_case() -> None:
    params = {"nr_maps": "16"}
    case = PlannedCaseRecord(
        suite="local-storage", benchmark="local-storage-cache-seq-get", params=params, argv=()
    )
    record = made_record(plan=PlanRecord(seed=1, cases=(case,), boots=()))
    names = ["1/000-local-storage-cache-seq-get.out", "1/002-other.out", "1/console", "1/dmesg"]
    outputs = outputs_of([{"name": name, "size": 1} for name in names], record)
    assert [(file["name"], of_case) for file, of_case in outputs] == [
        ("1/dmesg", None),
        ("1/002-other.out", None),
        ("1/console", None),
        ("1/000-local-storage-cache-seq-get.out", case),
    ]


def test_parameters_are_read_from_pairs_and_from_objects() -> None:
    assert parameters({"nr_maps": "16", "batch": "4"}) == "nr_maps=16, batch=4"
    assert parameters([["nr_maps", "16"]]) == "nr_maps=16"


@pytest.mark.parametrize(
    ("pair", "accept", "wanted"),
    [
        ("a...b", "", ("a...b", "html")),
        ("a...b", "*/*", ("a...b", "html")),
        ("a...b.md", "text/html", ("a...b", "markdown")),
        ("a...b", "text/plain;q=0.5, application/json", ("a...b", "json")),
        ("a...b", "text/html,application/xhtml+xml,*/*;q=0.8", ("a...b", "html")),
        ("a...b", "text/plain;q=x, text/markdown;q=0.1", ("a...b", "markdown")),
        ("a...b", "application/json;q=0", ("a...b", "html")),
    ],
)
def test_the_format_comes_from_the_suffix_then_from_accept(
    pair: str, accept: str, wanted: tuple[str, str]
) -> None:
    assert wanted_form(pair, accept) == wanted


def test_conditions_that_differ_come_first() -> None:
    ours, theirs = (
        made_record(arms=(made_arm(name, config="a" * 64),), host={"cpu": {"microcode": [microcode]}})
        for name, microcode in (("base", "0x1"), ("head", "0x2"))
    )
    items = conditions(ours, "base", theirs, "head")
    assert [(each.item, each.same) for each in items] == [
        ("host cpu microcode", False),
        ("kernel config", True),
    ]


@pytest.mark.parametrize(
    ("tree", "address"),
    [
        (
            "https://github.com/kernel-patches/bpf.git",
            "https://github.com/kernel-patches/bpf/commit/" + "a" * 40,
        ),
        (
            "git://git.kernel.org/pub/scm/linux/kernel/git/bpf/bpf-next.git",
            "https://git.kernel.org/pub/scm/linux/kernel/git/bpf/bpf-next.git/commit/?id=" + "a" * 40,
        ),
        ("https://github.com.elsewhere.example/x/y", None),
        ("javascript:alert(1)//github.com/x/y", None),
        (None, None),
    ],
)
def test_commits_are_linked_only_to_hosts_that_are_known_to_show_them(
    tree: str | None, address: str | None
) -> None:
    assert commit_page(tree, "a" * 40) == address


def test_splats_are_marked_line_by_line() -> None:
    text = (
        "[    1.0] quiet\n[    2.0] BUG: kernel NULL pointer dereference\n[    2.1] RIP: 0010:x\n[    2.2]"
        " ---[ end trace 0 ]---\n[    3.0] quiet"
    )
    assert [kind for kind, _ in mark_lines(text)] == ["", "first", "splat", "splat", ""]


@pytest.mark.parametrize(
    "address", ["//elsewhere", "https://elsewhere", "/\\elsewhere", "/a\r\nSet-Cookie: x", None, ""]
)
def test_only_addresses_of_this_site_are_gone_on_to(address: str | None) -> None:
    assert own_address(address) == "/"
    assert own_address("/runs?platform=amd-rome") == "/runs?platform=amd-rome"


def test_the_key_of_sessions_is_kept_and_readable_by_its_owner_alone(tmp_path: Any) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    key = session_key(settings)
    assert len(key) >= 48
    assert session_key(settings) == key
    assert (tmp_path / "data/session-key").stat().st_mode & 0o077 == 0
    assert session_key(Settings(data_dir=tmp_path, session_key="x" * 32)) == "x" * 32
