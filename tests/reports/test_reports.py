"""Reports are what people read: held as text."""

import csv
import json
import re
from pathlib import Path

from arms import CONTROL, INT_GET, SEQ_GET, arm, exact
from golden import assert_golden
from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import NO_CONTEXT, ArmFailure, ReportContext
from cliffwatch.reports.exports.go_bench import go_bench_report
from cliffwatch.reports.json_report import json_report
from cliffwatch.reports.text import text_report
from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome, Sample
from cliffwatch.shell_lines import WIDTH

CONTEXT = ReportContext(
    setting=("config abea2d6b9145", "gcc (Debian 12.2.0-14) 12.2.0", "bench of head (1af2ff43f14d)"),
    notes=("built in a sandbox without network or your home (bubblewrap)",),
    failures=(),
    folder="cliffwatch-results/base-head-icount",
)


def mixed() -> ComparisonSet:
    gone = CaseKey("htab-mem", "htab-mem", (("use-case", "overwrite"),))
    old = CaseOutcome(
        case=CaseKey("sockmap", "sockmap"), status="unsupported", reason="came with linux about 6.16"
    )
    base = arm(
        "base", {CONTROL: [275.701], SEQ_GET: [185.77], INT_GET: [173.387], gone: [26.54]}, outcomes=[old]
    )
    head = arm("head", {CONTROL: [275.704], SEQ_GET: [194.7], INT_GET: [168.2]}, outcomes=[old])
    compared = compare(base, head, exact)
    assert isinstance(compared, ComparisonSet)
    return compared


def test_text_is_aligned_and_says_what_it_could_have_seen() -> None:
    assert_golden("report.txt", text_report(mixed(), CONTEXT, colour=False))


def test_colour_is_for_verdicts_beyond_the_noise_alone() -> None:
    text = text_report(mixed(), CONTEXT, colour=True)
    coloured = re.findall(r"\x1b\[[\d;]*3[12]m([^\x1b]*)", text)

    assert [each.strip(" ▲▼") for each in coloured] == ["slower", "+4.81 %", "faster", "-2.99 %"]


def test_a_kernel_that_does_not_build_stands_on_top_with_its_first_error() -> None:
    error = "kernel/bpf/core.c:10:2: error: expected ';' before 'return'"
    failure = ArmFailure(arm="head", message="it does not build", evidence=error)
    context = ReportContext(setting=(), notes=(), failures=(failure,), folder=None)
    compared = compare(arm("base", {SEQ_GET: [1.0]}), arm("head", {}, failure="it does not build"), exact)

    assert isinstance(compared, ComparisonSet)
    lines = text_report(compared, context, colour=False).splitlines()
    assert lines[0] == f"nothing was compared: head: it does not build: {error}"
    assert "1 case without a value" in lines
    assert text_report(compared, context, colour=False).count("failed") == 0


def published(data: Path) -> tuple[Arm, Arm]:
    """The published table of 2024 as two arms of one value a row."""
    sides: dict[str, list[Sample]] = {"before": [], "after": []}
    with (data / "published" / "local-storage-2024-inline-lookup.csv").open() as file:
        for row in csv.DictReader(file):
            case = CaseKey("local-storage", row["benchmark"], ((row["param"], row["value"]),))
            for side, samples in sides.items():
                metric = row["metric"].replace(" ", "-").replace("_", "-")
                samples.append(Sample(case=case, metric=metric, unit=row["unit"], value=float(row[side])))
    before, after = (
        Arm(
            name=name,
            label=name,
            mode="icount",
            platform="emulated-x86-64",
            boots=(Boot(index=1, block=0, samples=tuple(sides[side])),),
        )
        for name, side in (("base", "before"), ("head", "after"))
    )
    return before, after


def test_a_commit_message_has_changed_rows_alone_before_and_after_in_thirty_lines(data: Path) -> None:
    before, after = published(data)
    compared = compare(before, after, load_catalogue().traits)

    assert isinstance(compared, ComparisonSet)
    text = commit_report(compared, CONTEXT)
    assert_golden("commit.txt", text)
    assert len(text.splitlines()) <= 30


def test_a_commit_message_on_nothing_changed_is_what_would_have_been_seen() -> None:
    compared = compare(arm("base", {SEQ_GET: [1.0]}), arm("head", {SEQ_GET: [1.0]}), exact)

    assert isinstance(compared, ComparisonSet)
    assert commit_report(compared, NO_CONTEXT) == (
        "no change: 1 unchanged (would have shown 0.2 %).\n"
        "1 boot per kernel, icount (instructions, not time), emulated-x86-64.\n"
    )


names = st.text(max_size=60)


@given(names, names, names, st.floats(1e-9, 1e12), st.floats(1e-9, 1e12))
def test_a_commit_message_is_never_wider_than_72_columns(
    benchmark: str, param: str, setting: str, before: float, after: float
) -> None:
    case = CaseKey("local-storage", benchmark, ((param, setting),))
    compared = compare(arm("base", {case: [before]}), arm("head", {case: [after]}), exact)

    assert isinstance(compared, ComparisonSet)
    text = commit_report(compared, ReportContext(setting=(setting,), notes=(), failures=(), folder=None))
    assert max(map(len, text.split("\n"))) <= WIDTH


def test_json_has_every_field_and_null_for_what_does_not_exist() -> None:
    def no_constant(name: str) -> None:
        raise AssertionError(name)

    content = json.loads(json_report(mixed(), NO_CONTEXT), parse_constant=no_constant)
    row = content["comparisons"][3]

    wanted = (
        "suite benchmark params metric unit better platform mode n_base n_head base head change ci_low"
        " ci_high p q mde verdict"
    )
    assert set(wanted.split()) <= row.keys()
    assert (row["verdict"], row["head"], row["change"], row["p"]) == ("missing", None, None, None)
    assert content["comparisons"][1]["change"] == 194.7 / 185.77 - 1


def test_the_go_benchmark_format_keeps_every_sample_and_says_what_may_be_assumed() -> None:
    text = go_bench_report(
        [arm("base", {SEQ_GET: [185.787, 185.788]}), arm("head", {SEQ_GET: [194.7]})], exact
    )

    assert "Unit latency-ns/op better=lower assume=exact" in text.splitlines()
    assert [sample.value for sample in parse_go_bench(text).samples] == [185.787, 185.788, 194.7]
