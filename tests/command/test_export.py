"""What is exported reads back: a comparison of the file has the rows of the comparison of the run."""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from arms import CONTROL, INT_GET, SEQ_GET
from click.testing import CliRunner, Result
from golden import assert_golden
from hypothesis import given
from hypothesis import strategies as st
from measured_runs import STAGES, measured

from cliffwatch.command.main import main
from cliffwatch.formats.boot_record import BootRecord, SamplesRecord, sample_record
from cliffwatch.formats.reading import document_text as document
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.formats.run_reading import read_run_record
from cliffwatch.formats.run_record import (
    ArmFacts,
    ArmRecord,
    FailureRecord,
    PlannedCaseRecord,
    PlanRecord,
    RunRecord,
    stages_record,
)
from cliffwatch.formats.values import outcome_record
from cliffwatch.importing import ImportedFile, import_file
from cliffwatch.parsers.detect import parse_any
from cliffwatch.parsers.documents.bencher import parse_bencher
from cliffwatch.parsers.table.comma_separated import csv_lines, read_csv_table
from cliffwatch.parsers.table.parquet import read_parquet_table, write_parquet
from cliffwatch.parsers.table.reading import Table
from cliffwatch.parsers.table.rows import rows_of_arm
from cliffwatch.reports.exports.bencher import format_bencher
from cliffwatch.reports.exports.kcidb import Reported, format_kcidb
from cliffwatch.reports.exports.matrix import Layout, format_matrix
from cliffwatch.samples import LUCK, REHEARSAL_PLATFORM, Arm, Boot, CaseKey, CaseOutcome, Sample

DATA = Path(__file__).parents[1] / "data"
OURS = ("csv", "parquet", "go-bench")
FAULTS = ("smt: on", "boost: on")


def cliffwatch(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def written(
    folder: Path,
    arms: Sequence[Arm],
    *,
    notable: float | None = None,
    staged: bool = False,
    host_faults: tuple[str, ...] = (),
) -> Path:
    """A result directory of these arms, as the runner writes one."""
    like = read_run_record((DATA / "runs/uninlined/run.json").read_bytes())
    assert isinstance(like, RunRecord)
    cases = dict.fromkeys(sample.case for each in arms for boot in each.boots for sample in boot.samples)
    plan = PlanRecord(
        seed=1,
        notable=notable,
        stages=stages_record(STAGES if staged else None),
        cases=tuple(
            PlannedCaseRecord(suite=case.suite, benchmark=case.benchmark, params=dict(case.params), argv=())
            for case in cases
        ),
        boots=(),
    )
    measured_by = {"mode": arms[0].mode, "platform": arms[0].platform}
    record = msgspec.structs.replace(
        like, arms=tuple(map(arm_record, arms)), plan=plan, host_faults=host_faults, **measured_by
    )
    for each in arms:
        for boot in each.boots:
            place = folder / "boots" / f"{boot.index:03d}-{each.name}"
            place.mkdir(parents=True)
            when = "2026-11-21T10:00:00+00:00"
            about = BootRecord(
                index=boot.index,
                block=boot.block,
                arm=each.name,
                stage=boot.stage,
                layout=boot.layout,
                began=when,
                ended=when,
                status="complete",
            )
            samples = SamplesRecord(
                samples=tuple(map(sample_record, boot.samples)),
                outcomes=tuple(map(outcome_record, boot.outcomes)),
            )
            (place / "boot.json").write_bytes(document(about))
            (place / "samples.json").write_bytes(document(samples))
    (folder / "run.json").write_bytes(document(record))
    return folder


def arm_record(arm: Arm) -> ArmRecord:
    failed = {"whose": "kernel", "next_step": "", "evidence": "vmlinux: undefined symbol"}
    failure = None if arm.failure is None else FailureRecord(**failed, message=arm.failure)
    return ArmRecord(name=arm.name, label=arm.label, facts=ArmFacts(**arm.facts), failure=failure)


def dies(each: Arm, case: CaseKey, numbers: range, status: Any, reason: str) -> Arm:
    """The arm whose boots of these places ended so in a case; in the others the case is ok."""

    def boot(place: int, of: Boot) -> Boot:
        before = {one.case: one for one in of.outcomes}
        cases = dict.fromkeys([*before, *(sample.case for sample in of.samples)])
        bad = CaseOutcome(case=case, status=status, reason=reason)
        outcomes = [
            bad if one == case and place in numbers else before.get(one, CaseOutcome(case=one, status="ok"))
            for one in cases
        ]
        samples = tuple(one for one in of.samples if one.case != case or place not in numbers)
        return replace(of, samples=samples, outcomes=tuple(outcomes))

    return replace(each, boots=tuple(boot(place, of) for place, of in enumerate(each.boots)))


def runs(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Result directories of every sort, and whether all of what decides their rows has a place in the Go
    benchmark format.
    """
    yield DATA / "runs/uninlined", True
    base, head, control = (
        measured("base", "icount", 1),
        measured("head", "icount", 10, 1.05),
        measured("control", "icount", 20),
    )
    yield written(folder / "icount", [base, head]), True
    walltime = [
        measured("base", "walltime", 1),
        measured("head", "walltime", 10, 1.05),
        measured("control", "walltime", 20),
    ]
    yield written(folder / "walltime", walltime, notable=0.03, staged=True, host_faults=FAULTS), True
    panics = dies(head, SEQ_GET, range(12), "panic", "=HYPERLINK: kernel BUG at 'mm'")
    yield written(folder / "panics", [base, panics, control]), False
    some = dies(
        dies(base, INT_GET, range(7), "timeout", "no output\nfor 60 s"),
        CONTROL,
        range(12),
        "unsupported",
        "too old",
    )
    yield written(folder / "some", [some, head]), False
    yield (
        written(folder / "unbuilt", [base, replace(head, boots=(), failure="the kernel does not build")]),
        False,
    )


def rows(*arguments: object) -> Any:
    ended = cliffwatch("compare", *arguments, "--format", "json")
    assert ended.exit_code in (0, 3), ended.output
    found = json.loads(ended.stdout)
    return {
        name: found[name]
        for name in ("comparisons", "means", "control", "sweeps", "notable", "warnings", "left_out")
    }


@pytest.mark.parametrize("form", OURS)
def test_a_comparison_of_the_export_has_the_rows_of_the_comparison_of_the_run(
    form: str, tmp_path: Path
) -> None:
    for number, (folder, carried) in enumerate(runs(tmp_path)):
        if form == "go-bench" and not carried:
            continue
        out = tmp_path / f"{number}.{form}"
        assert cliffwatch("export", folder, "--format", form, "--out", out).exit_code == 0
        assert rows(out) == rows(folder), folder
        assert rows(f"{out}:base", f"{out}:head") == rows(f"{folder}:base", f"{folder}:head")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_arms_come_back_whole(form: str, tmp_path: Path) -> None:
    for number, (folder, _) in enumerate(runs(tmp_path)):
        out = tmp_path / f"{number}.{form}"
        cliffwatch("export", folder, "--format", form, "--out", out)
        run, back = read_run(folder), import_file(out)
        assert isinstance(run, Run)
        assert isinstance(back, ImportedFile)
        assert {name: in_order(arm) for name, arm in back.arms.items()} == {
            name: in_order(arm) for name, arm in run.arms.items()
        }
        assert (back.stages, back.run, back.one_run) == (run.stages, run.record.identity, True)


def in_order(arm: Arm) -> Arm:
    """Outcomes in one order: those of cases without a sample stand last in a table, which has not all that a
    run recorded of its host.
    """
    boots = (replace(boot, outcomes=tuple(sorted(boot.outcomes, key=str))) for boot in arm.boots)
    return replace(arm, boots=tuple(boots), recorded={})


def test_files_are_converted(tmp_path: Path) -> None:
    run = DATA / "runs/uninlined"
    before = run
    for form in ("parquet", "csv", "go-bench", "csv", "parquet"):
        after = tmp_path / f"{before.name}.{form}"
        assert cliffwatch("export", before, "--format", form, "--out", after).exit_code == 0
        before = after
    assert rows(before) == rows(run)
    veristat = tmp_path / "veristat.csv"
    veristat.write_text("file_name,prog_name,verdict,total_insns\na.o,p,success,100\n")
    table = tmp_path / "table.csv"
    assert cliffwatch("export", veristat, "--format", "csv", "--out", table).exit_code == 0
    assert cliffwatch("compare", veristat, table).exit_code == 0


text = st.text(st.characters(blacklist_categories=("Cs",)), max_size=12)
named = text.filter(bool)
numbers = st.floats(allow_nan=False, allow_infinity=False)
cases = st.builds(
    CaseKey, named, named, st.dictionaries(text, text, max_size=2).map(lambda params: tuple(params.items()))
)


@st.composite
def some_arms(draw: Any) -> list[Arm]:
    arms = []
    for name in draw(st.lists(named, min_size=1, max_size=3, unique=True)):
        boots = []
        for index in draw(st.lists(st.integers(0, 999), max_size=3, unique=True)):
            keys = draw(st.lists(st.tuples(cases, named, named), max_size=3, unique=True))
            samples = [
                Sample(
                    case=case,
                    metric=metric,
                    unit=unit,
                    value=draw(numbers),
                    readings=tuple(draw(st.lists(numbers, max_size=2))),
                    resolution=draw(st.floats(0, 1e9)),
                )
                for case, metric, unit in keys
            ]
            ended = (
                draw(st.lists(cases, max_size=2, unique=True))
                + list(dict.fromkeys(each.case for each in samples))[:1]
            )
            status = st.sampled_from(["ok", "failed", "panic", "timeout", "unsupported", "not-run"])
            outcomes = [
                CaseOutcome(case=case, status=draw(status), reason=draw(text))
                for case in dict.fromkeys(ended)
            ]
            layout = draw(st.none() | named)
            boots.append(
                Boot(
                    index=index,
                    block=draw(st.integers(0, 99)),
                    samples=tuple(samples),
                    outcomes=tuple(outcomes),
                    layout=layout,
                )
            )
        boots.sort(key=lambda boot: boot.index)
        arms.append(
            Arm(
                name=name,
                label=draw(text),
                mode=draw(st.sampled_from([None, "icount", "walltime"])),
                platform=draw(st.none() | named),
                boots=tuple(boots),
                facts=draw(st.dictionaries(st.sampled_from(["commit", "subject"]), named)),
                failure=draw(st.none() | text),
                environment=draw(st.dictionaries(st.sampled_from(["config", "guest"]), text)),
            )
        )
    return arms


@given(some_arms())
def test_any_arms_come_back_from_csv_and_parquet(arms: list[Arm]) -> None:
    """Texts of every sort, formulas and quotes among them."""
    pieces = [piece for arm in arms for piece in rows_of_arm("r1", arm, arm.boots, {"notable": "0.01"})]
    wanted = {arm.name: in_order(arm) for arm in arms}
    from_csv = read_csv_table(b"".join(csv_lines(pieces)).decode())
    assert from_csv.problems == ()
    assert {name: in_order(arm) for name, arm in from_csv.arms.items()} == wanted
    assert from_csv.settings == {"notable": "0.01"}


def test_any_text_comes_back_from_parquet(tmp_path: Path) -> None:
    arm = measured("base", "icount", 1)
    odd = replace(arm, label="'=cmd|' /C calc'!A0", facts={"subject": "\ud800 half a pair"})
    write_parquet(tmp_path / "a", rows_of_arm("r1", odd, odd.boots, {}))
    table = read_parquet_table((tmp_path / "a").read_bytes(), "a")
    assert isinstance(table, Table)
    assert table.arms["base"].label == odd.label
    assert table.arms["base"].boots == odd.boots


def test_what_is_exported_again_keeps_its_layouts(tmp_path: Path) -> None:
    arms = [
        replace(arm, boots=tuple(replace(boot, layout=f"{arm.name}-{boot.block % 2}") for boot in arm.boots))
        for arm in (measured("base", "walltime", 1), measured("head", "walltime", 10))
    ]
    run, out = written(tmp_path / "run", arms), tmp_path / "export.csv"
    assert cliffwatch("export", run, "--format", "csv", "--out", out).exit_code == 0

    assert "\nlayouts: 2\n" in cliffwatch("export", out).stdout


NO_BENCH_HOST = "no bench host (smt: on; boost: on)"


@pytest.fixture
def on_no_bench_host(tmp_path: Path) -> Path:
    arms = [measured("base", "walltime", 1), measured("head", "walltime", 10)]
    return written(tmp_path / "faulty", arms, host_faults=FAULTS)


@pytest.mark.parametrize("form", OURS)
def test_what_is_amiss_with_the_host_comes_back(form: str, tmp_path: Path, on_no_bench_host: Path) -> None:
    out = tmp_path / f"export.{form}"
    assert cliffwatch("export", on_no_bench_host, "--format", form, "--out", out).exit_code == 0

    back = import_file(out)

    assert isinstance(back, ImportedFile)
    assert {arm.host_faults for arm in back.arms.values()} == {FAULTS}
    assert NO_BENCH_HOST in " ".join(cliffwatch("compare", out).stdout.split())


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_each_of_several_runs_keeps_what_is_amiss_with_its_host(
    form: str, tmp_path: Path, on_no_bench_host: Path
) -> None:
    fine = replace(measured("base", "walltime", 1), label="fine")
    rows_ = [*rows_of_arm("a" * 32, fine, fine.boots, {})]
    read = read_run(on_no_bench_host)
    assert isinstance(read, Run)
    head = read.arms["head"]
    rows_ += rows_of_arm("b" * 32, head, head.boots, {"host-faults": "; ".join(FAULTS)})
    out = tmp_path / f"two.{form}"
    with out.open("wb") as file:
        if form == "parquet":
            write_parquet(file, rows_)
        else:
            file.writelines(csv_lines(rows_))

    back = import_file(out)

    assert isinstance(back, ImportedFile)
    assert [arm.host_faults for arm in back.arms.values()] == [(), FAULTS]


def test_a_matrix_and_the_standard_error_of_bencher_say_what_is_amiss(
    on_no_bench_host: Path, tmp_path: Path
) -> None:
    bencher = cliffwatch("export", on_no_bench_host, "--format", "bmf", "--out", tmp_path / "out.json")
    assert NO_BENCH_HOST in bencher.stderr
    run = written(tmp_path / "run", [published_string_maps()], host_faults=FAULTS)
    words = ("--format", "matrix", "--down", "threads", "--across", "map", "--metric", "total")
    assert NO_BENCH_HOST in cliffwatch("export", run, *words).stdout.splitlines()[0]


def test_spreadsheets_run_nothing_of_an_export(tmp_path: Path) -> None:
    case = CaseKey("s", "=HYPERLINK(1)", (("@a", "+1"),))
    boot = Boot(index=1, block=0, samples=(Sample(case=case, metric="-m", unit="\tu", value=-1.5),))
    arm = Arm(name="+arm", label="=l", mode=None, platform="@p", boots=(boot,))
    raw = b"".join(csv_lines(rows_of_arm("=r", arm, arm.boots, {}))).decode()
    cells = [cell.strip('"') for cell in raw.splitlines()[1].split(",")]
    assert not [
        cell for cell in cells if cell[:1] in ("=", "+", "@", "\t") or (cell[:1] == "-" and cell != "-1.5")
    ]
    assert read_csv_table(raw).arms["+arm"] == arm


def test_one_arm_alone_is_one_side(tmp_path: Path) -> None:
    for name in ("base", "head"):
        out = tmp_path / f"{name}.csv"
        assert (
            cliffwatch(
                "export", DATA / "runs/uninlined", "--format", "csv", "--arm", name, "--out", out
            ).exit_code
            == 0
        )
    run = DATA / "runs/uninlined"
    assert rows(tmp_path / "base.csv", tmp_path / "head.csv") == rows(f"{run}:base", f"{run}:head")
    assert "holds one side" in cliffwatch("compare", tmp_path / "head.csv").stderr


def test_parquet_says_what_it_is(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "run.parquet"
    cliffwatch("export", DATA / "runs/uninlined", "--format", "parquet", "--out", out)
    schema = pyarrow.read_schema(out)
    assert (schema.metadata[b"format"], schema.metadata[b"format_version"]) == (b"cliffwatch-samples", b"1")


def test_without_parquet_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    for module in ("cliffwatch.command.export", "cliffwatch.parsers.table.parquet"):
        monkeypatch.setattr(f"{module}.has_parquet", lambda: False)
    exported = cliffwatch("export", DATA / "runs/uninlined", "--format", "parquet", "--out", tmp_path / "b")
    read = cliffwatch("compare", tmp_path / "a.parquet", tmp_path / "a.parquet")
    for ended in (exported, read):
        assert ended.exit_code == 2
        assert "pip install 'cliffwatch[parquet]'" in ended.stderr
    assert not (tmp_path / "b").exists()


def test_bencher_gets_the_medians_of_one_arm_and_the_cases_come_back(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "run", [measured("base", "walltime", 1), measured("head", "walltime", 10, 1.05)]
    )
    ended = cliffwatch("export", folder, "--format", "bmf")
    assert "medians of 12 boots of head" in ended.stderr
    content = json.loads(ended.stdout)
    run = read_run(folder)
    assert isinstance(run, Run)
    values = sorted(
        each.value for boot in run.arms["head"].boots for each in boot.samples if each.case == SEQ_GET
    )
    name = "BPF/suite=local-storage/bench=local-storage-cache-seq-get/nr_maps=16"
    middle = (values[5] + values[6]) / 2
    assert content[name] == {
        "latency (ns/op)": {"value": middle, "lower_value": values[0], "upper_value": values[-1]}
    }
    (tmp_path / "head.json").write_text(ended.stdout)
    back = import_file(tmp_path / "head.json")
    assert isinstance(back, ImportedFile)
    (arm,) = back.arms.values()
    assert {(each.case, each.metric, each.unit) for boot in arm.boots for each in boot.samples} == {
        (each.case, each.metric, each.unit) for boot in run.arms["head"].boots for each in boot.samples
    }


@given(some_arms())
def test_every_case_comes_back_from_bencher(arms: list[Arm]) -> None:
    arm = replace(arms[0], boots=tuple(each for each in arms[0].boots))
    keys = {(each.case, each.metric, each.unit) for boot in arm.boots for each in boot.samples}
    plain = {key for key in keys if "(" not in key[2] and ")" not in key[2] and "\n" not in key[1] + key[2]}
    parsed = parse_bencher(format_bencher(arm))
    back = {(each.case, each.metric, each.unit) for each in parsed.samples}
    assert parsed.problems == ()
    assert plain <= back


def test_bencher_has_room_for_one_arm(tmp_path: Path) -> None:
    arms = [replace(measured("base", "icount", 1), name=name) for name in ("old", "new")]
    ended = cliffwatch("export", written(tmp_path / "run", arms), "--format", "bmf")
    assert (ended.exit_code, "--arm NAME" in ended.stderr) == (2, True)


KCIDB = json.loads((DATA / "kcidb/v05_03.schema.json").read_text())


def kcidb(*arguments: object) -> Any:
    ended = cliffwatch("export", *arguments, "--format", "kcidb")
    assert ended.exit_code == 0, ended.stderr
    found = json.loads(ended.stdout)
    jsonschema.validate(found, KCIDB, format_checker=jsonschema.FormatChecker())
    return found


def test_every_report_for_kcidb_fits_its_schema(tmp_path: Path) -> None:
    for folder, _ in runs(tmp_path):
        found = kcidb(folder, "--origin", "my_lab2")
        builds, checkouts = ({each["id"] for each in found[name]} for name in ("builds", "checkouts"))
        assert {each["checkout_id"] for each in found["builds"]} == checkouts
        assert {each["build_id"] for each in found["tests"]} <= builds
        assert len({each["id"] for each in found["tests"]}) == len(found["tests"])
        assert {each["origin"] for name in ("checkouts", "builds", "tests") for each in found[name]} == {
            "my_lab2"
        }


def test_kcidb_is_told_how_cases_and_builds_ended(tmp_path: Path) -> None:
    found = {folder.name: kcidb(folder) for folder, _ in runs(tmp_path)}

    def ended(name: str, arm: str) -> set[tuple[str, str]]:
        of_arm = [each for each in found[name]["tests"] if each["misc"]["arm"] == arm]
        return {(each["misc"]["benchmark"].rpartition("cache-")[2], each["status"]) for each in of_arm}

    done = {("seq-get", "DONE"), ("int-get", "DONE"), ("hashmap-control", "DONE")}
    assert ended("walltime", "base") == ended("panics", "base") == done
    assert ended("walltime", "control") == set()
    assert ended("panics", "head") == {("seq-get", "FAIL"), *done} - {("seq-get", "DONE")}
    assert ended("some", "base") == {("seq-get", "DONE"), ("int-get", "FAIL"), ("hashmap-control", "SKIP")}
    assert [each["status"] for each in found["unbuilt"]["builds"]] == ["PASS", "FAIL"]
    assert (
        found["unbuilt"]["builds"][1]["log_excerpt"] == "the kernel does not build\nvmlinux: undefined symbol"
    )


def test_the_number_of_a_test_is_the_median_of_its_primary_metric() -> None:
    found = kcidb(DATA / "runs/uninlined", "--arm", "head")
    first = found["tests"][0]
    assert first["path"] == "bpf.local-storage.local-storage-cache-hashmap-control.hashmap_nr_keys_used_10"
    assert first["number"] == {"value": pytest.approx(275.7, abs=0.1), "unit": "insns/op"}
    assert [each["metric"] for each in first["misc"]["metrics"]] == ["insns/op"]
    assert "author" not in json.dumps(found).replace("author_date", "")


def test_kcidb_is_told_of_a_rehearsal_and_of_one_layout() -> None:
    caution = f"each kernel has one layout: {LUCK}"
    arm = replace(measured("base", "walltime", 1), platform=REHEARSAL_PLATFORM, cautions=(caution,))
    found = json.loads(format_kcidb([arm], Reported(origin="my_lab", run="a" * 32), lambda *_: True))

    (environment,) = {json.dumps(test["environment"]) for test in found["tests"]}
    assert "rehearsal-x86-64, walltime (a rehearsal: time of an emulator)" in environment
    assert json.loads(environment)["misc"]["caution"] == caution


@given(some_arms())
def test_kcidb_takes_any_arm(arms: list[Arm]) -> None:
    text = format_kcidb(
        arms, Reported(origin="o", run="r", tree="https://git.example.org/linux.git"), lambda *_: True
    )
    jsonschema.validate(json.loads(text), KCIDB)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | text,
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "misc",
                        "number",
                        "value",
                        "suite",
                        "arm",
                        "benchmark",
                        "metrics",
                        "boots",
                        "environment",
                        "params",
                    ]
                ),
                inner,
            )
        ),
    )
)
def test_any_report_is_read_without_an_exception(odd: Any) -> None:
    for test in (odd, {"status": "FAIL", "misc": odd, "number": {"value": 1}}):
        report = json.dumps({"version": {"major": 5}, "tests": [test], "builds": odd})
        assert all(isinstance(sample.value, float) for sample in parse_any(report).samples)


def test_an_origin_that_kcidb_does_not_know_is_refused() -> None:
    ended = cliffwatch("export", DATA / "runs/uninlined", "--format", "kcidb", "--origin", "My Lab")
    assert (ended.exit_code, "no origin of KCIDB" in ended.stderr) == (2, True)


def published_string_maps() -> Arm:
    """What was published of maps for strings, as one boot."""
    with (DATA / "published" / "string-map-2022.csv").open() as file:
        rows = list(csv.DictReader(file))
    samples = tuple(
        Sample(
            CaseKey(
                "string-maps",
                f"string-{row['operation']}",
                tuple((name, row[name]) for name in ("data_set", "threads", "map")),
            ),
            "total",
            "ms",
            float(row["total_ms"]),
        )
        for row in rows
    )
    return Arm(
        name="head",
        label="qp-trie",
        mode="walltime",
        platform="guest",
        boots=[Boot(index=1, block=1, samples=samples)],
    )


def test_a_matrix_has_the_shape_in_which_the_figures_were_published(tmp_path: Path) -> None:
    run = written(tmp_path / "run", [published_string_maps()])
    exported = cliffwatch(
        "export", run, "--format", "matrix", "--down", "threads", "--across", "map", "--metric", "total"
    )

    assert exported.exit_code == 0
    assert_golden("string-map-2022.md", exported.stdout)


def test_a_matrix_has_the_metrics_that_decide_and_medians_of_what_there_is() -> None:
    def boot(index: int, *values: tuple[str, str, float]) -> Boot:
        samples = [
            Sample(
                CaseKey("s", "b", (("threads", threads), ("map", map_), ("set", "x|y"))),
                metric,
                "ns/op",
                value,
            )
            for threads, map_, value in values
            for metric in ("ns/op", "p99")
        ]
        return Boot(index=index, block=index, samples=tuple(samples))

    boots = [boot(1, ("10", "hash", 30.0), ("2", "trie", 50.0)), boot(2, ("2", "trie", 52.0))]
    arm = Arm(name="base", label="", mode="icount", platform=None, boots=boots)
    layout = Layout(down="threads", across="map", metric=None)
    text = format_matrix(arm, layout, lambda _, metric, unit: (metric, unit) == ("ns/op", "ns/op"))

    assert text.splitlines() == [
        "### b set=x\\|y",
        "",
        "ns/op; medians of 1 to 2 boots of base",
        "",
        "| threads | hash | trie |",
        "| --: | --: | --: |",
        "| 2 | - | 51.000 |",
        "| 10 | 30.000 | - |",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--format", "matrix"), "a matrix has two parameters"),
        (("--format", "matrix", "--down", "map", "--across", "map"), "a matrix has two parameters"),
        (("--format", "csv", "--down", "map"), "--down, --across and --metric are of a matrix"),
        (
            ("--format", "matrix", "--down", "cpus", "--across", "map"),
            "parameters there: data_set, threads, map",
        ),
        (
            ("--format", "matrix", "--down", "threads", "--across", "map", "--metric", "ns"),
            "metrics: total",
        ),
    ],
)
def test_a_matrix_that_would_be_empty_is_a_wrong_usage(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    ended = cliffwatch("export", written(tmp_path / "run", [published_string_maps()]), *words)

    assert (ended.exit_code, ended.stdout) == (2, "")
    assert message in ended.stderr


def test_a_file_that_cannot_be_written_is_named_with_its_option(data: Path) -> None:
    ended = CliRunner().invoke(main, ["export", str(data / "runs/uninlined"), "--out", "/proc/export.csv"])

    assert ended.exit_code == 2
    assert "--out: /proc/export.csv cannot be written" in ended.stderr
