"""What is exported in the Go benchmark format is compared again as what it was: two arms of one run."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from arms import INT_GET, exact, noisy
from click.testing import CliRunner, Result
from measured_runs import STAGES, measured

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.command.main import main
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.thresholds import Method
from cliffwatch.formats.comparison import ComparisonDocument
from cliffwatch.importing import ImportedFile, import_file
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.exports.go_bench import go_bench_report, run_settings
from cliffwatch.reports.json_report import comparison_document
from cliffwatch.samples import Arm, CaseKey, MetricTraits, Mode
from cliffwatch.stats.stages import Stages


def cliffwatch(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def some_noisy(case: CaseKey, *_: object) -> MetricTraits:
    return noisy() if case == INT_GET else exact()


def imported(path: Path) -> ImportedFile:
    found = import_file(path)
    assert isinstance(found, ImportedFile), found
    return found


@pytest.mark.parametrize("mode", ["icount", "walltime"])
@pytest.mark.parametrize(("notable", "stages"), [(None, None), (0.03, STAGES)])
def test_a_round_trip_changes_no_row(
    tmp_path: Path, mode: Mode, notable: float | None, stages: Stages | None
) -> None:
    traits = load_catalogue().traits if mode == "walltime" else some_noisy
    arms = [measured("base", mode, 1), measured("head", mode, 10, 1.05), measured("control", mode, 20)]
    (tmp_path / "run.txt").write_text(go_bench_report(arms, traits, settings=run_settings(notable, stages)))
    back = imported(tmp_path / "run.txt")

    def written(found: list[Arm], method: Method) -> ComparisonDocument:
        compared = compare(found[0], found[1], traits, method, control=found[2])
        assert isinstance(compared, ComparisonSet)
        return comparison_document(compared, NO_CONTEXT)

    assert (back.notable, back.stages, back.one_run) == (notable, stages, True)
    assert [replace(each, assumed={}) for each in back.arms.values()] == arms
    method = Method(notable=back.notable, stages=back.stages, one_run=back.one_run)
    assert written(list(back.arms.values()), method) == written(arms, Method(notable=notable, stages=stages))


def test_what_is_amiss_with_the_host_makes_the_round_trip(tmp_path: Path) -> None:
    faults = ("smt: on", "boost: on")
    arms = [replace(measured(name, "walltime", 1), host_faults=faults) for name in ("base", "head")]
    path = tmp_path / "run.txt"
    path.write_text(
        go_bench_report(arms, load_catalogue().traits, settings=run_settings(None, None, arms=arms))
    )

    assert {each.host_faults for each in imported(path).arms.values()} == {faults}
    assert "no bench host (smt: on; boost: on)" in " ".join(cliffwatch("compare", path).stdout.split())


@pytest.fixture
def export(tmp_path: Path) -> Path:
    arms = [measured("base", "icount", 1), measured("head", "icount", 10, 1.05)]
    path = tmp_path / "export.txt"
    path.write_text(go_bench_report(arms, load_catalogue().traits, settings=run_settings(0.0025, None)))
    return path


def test_a_file_with_two_arms_is_compared_alone_by_its_own_threshold(export: Path) -> None:
    ended = cliffwatch("compare", export)

    assert ended.exit_code == 0
    assert "1 slower" in ended.stdout.splitlines()[0]
    assert (
        "6 boots per kernel, in 6 layouts, icount (instructions, not time), emulated-x86-64, config"
        " abea2d6b9145, gcc 12.2.0" in ended.stdout
    )
    assert "Changes below 0.25 % are not reported" in ended.stdout
    assert "bpf: Some head" in ended.stdout
    assert "Changes below 60 % are not reported" in cliffwatch("compare", export, "--threshold", 60).stdout


def test_as_one_side_of_two_such_a_file_names_its_arm(export: Path) -> None:
    other = export.with_name("other.txt")
    shutil.copy(export, other)
    refused = cliffwatch("compare", export, other)
    compared = cliffwatch("compare", f"{export}:base", f"{other}:head")

    assert refused.exit_code == 2
    assert f"{export} holds 2 arms: base, head" in refused.stderr
    assert f"name one of them: {export}:base or {export}:head" in refused.stderr
    assert compared.exit_code == 0
    assert "1 slower" in compared.stdout.splitlines()[0]
    assert "icount (instructions, not time), emulated-x86-64" in compared.stdout
    assert "0 slower" not in cliffwatch("compare", f"{export}:base", f"{other}:base").stdout.splitlines()[0]
    unknown = cliffwatch("compare", f"{export}:haed", other)
    assert (unknown.exit_code, "choose among: base, head" in unknown.stderr) == (2, True)


def test_modes_are_not_compared_across_after_the_way_through_the_format(tmp_path: Path) -> None:
    for mode in ("icount", "walltime"):
        text = go_bench_report([measured("head", mode, 1)], load_catalogue().traits)
        (tmp_path / mode).write_text(text)
    ended = cliffwatch("compare", tmp_path / "icount", tmp_path / "walltime")

    assert ended.exit_code == 2
    assert "the two sides are of different modes: icount and walltime" in ended.stderr


def test_heads_of_two_runs_are_exported_as_base_and_head(tmp_path: Path) -> None:
    """Both arms are called head in their own run; under one name their boots would be pooled."""
    for name, slower in (("before", 1.0), ("after", 1.05)):
        text = go_bench_report([measured("head", "walltime", 10, slower)], load_catalogue().traits)
        (tmp_path / name).write_text(text)
    exported = cliffwatch("compare", tmp_path / "before", tmp_path / "after", "--format", "go-bench")
    (tmp_path / "both").write_text(exported.stdout)
    back = imported(tmp_path / "both")

    assert list(back.arms) == ["base", "head"]
    assert not back.one_run
    both, two = (
        cliffwatch("compare", tmp_path / "both"),
        cliffwatch("compare", tmp_path / "before", tmp_path / "after"),
    )
    assert verdicts(both) == verdicts(two)


def verdicts(ended: Result) -> list[str]:
    return [line.rsplit("  ", 1)[-1] for line in ended.stdout.splitlines() if "ns/op" in line]


GO = "goos: linux\npkg: example.org/maps\n" + "BenchmarkLookup-8 100 50.1 ns/op\n" * 6


def test_a_file_without_arms_is_one_side(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(GO)
    alone = cliffwatch("compare", tmp_path / "a.txt")

    assert alone.exit_code == 2
    assert "holds one side" in alone.stderr
    assert "cliffwatch compare" in alone.stderr
    assert cliffwatch("compare", tmp_path / "a.txt", tmp_path / "b.txt").exit_code == 0


def test_arms_of_other_names_are_compared_in_their_order_or_asked_for(tmp_path: Path) -> None:
    def of(*names: str) -> Path:
        path = tmp_path / "-".join(names)
        path.write_text("".join(f"arm: {name}\n" + "BenchmarkX 1 5 ns/op\n" * 6 for name in names))
        return path

    two, three = cliffwatch("compare", of("old", "new")), cliffwatch("compare", of("a", "b", "c"))

    assert two.stdout.index(":old") < two.stdout.index(":new")
    assert three.exit_code == 2
    assert "holds 3 arms, and none of them is base" in three.stderr


def test_what_is_said_beside_the_results_may_be_nonsense(tmp_path: Path) -> None:
    path = tmp_path / "odd.txt"
    path.write_text(
        "arm: base\nmode: sundial\nnotable: lots\nstages: {\nguest: [\n# base label: \x1b[31mred\n# boot 1 of"
        " block 0, screen\nBenchmarkX 1 5 ns/op\n#   ns/op step nan\n#   ns/op step 1 readings x\n# boot 1 of"
        " block 0, screen\nBenchmarkX 1 6 ns/op\n"
    )
    found = imported(path)

    assert (found.notable, found.stages, found.arms["base"].mode) == (None, None, None)
    assert [len(boot.samples) for boot in found.arms["base"].boots] == [1, 1]


def test_benchstat_makes_one_table_of_the_arms(export: Path) -> None:
    program = shutil.which("benchstat") or shutil.which("benchstat", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("benchstat is not installed: make test-programs")
    read = subprocess.run([program, "-col", "arm", export], check=True, capture_output=True, text=True)

    assert len(re.findall(r"│ +base +│ +head +│", read.stdout)) == 1
    assert "base-commit: cdcdcd" in read.stdout
    assert read.stderr == ""
