"""`cliffwatch releases`: several releases, one report; resumed where it ended; nothing blamed on the kernel
that the bench did.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from toy import change
from toy_audit import audit, release, report_only, three_releases

from cliffwatch.failure import Exit, wrong_usage
from cliffwatch.parsers.table.parquet import has_parquet
from cliffwatch_runner.command.releases import measure
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.run.run import run

pytestmark = pytest.mark.usefixtures("stand_in")


@pytest.fixture
def history(repository: Path) -> Path:
    """Three releases: 6.13 is slower, and in 6.14 a benchmark kills the kernel."""
    return three_releases(repository)


def test_every_release_is_a_column_and_every_step_has_its_change(audited: tuple[Result, Path]) -> None:
    done, out = audited

    assert done.exit_code == Exit.DONE, done.output
    assert "BPF from linux 6.12.1 to 6.14.1" in done.output
    report = (out / "report.md").read_text()
    row = "| local-storage-cache-seq-get/nr_maps=16 | insns/op | 200.000 | 250.000 | 200.000 | ▲ +25.00 % | ▼ -20.00 % | 6.14 |"
    assert row in report
    assert "6.12 to 6.13: 5 slower or worse, 0 faster or better, 0 changed, 2 unchanged" in report


def test_a_case_that_one_release_cannot_measure_says_why_and_keeps_its_other_values(
    audited: tuple[Result, Path],
) -> None:
    _, out = audited

    report = (out / "report.md").read_text()
    assert (
        "| local-storage-cache-int-get/nr_maps=16 | insns/op | 200.000 | 250.000 | - | ▲ +25.00 % | - | 6.14 |"
        in report
    )
    assert "6.14: 2 cases, such as local-storage-cache-int-get/nr_maps=16: " in report


def test_a_case_that_fails_with_the_shared_bench_is_measured_with_the_releases_own(
    history: Path, tmp_path: Path
) -> None:
    done = audit(history, tmp_path, "--bench-from", "6.13", "--cpus", "2")

    assert done.exit_code == Exit.DONE, done.output
    record = json.loads((tmp_path / "out" / "releases.json").read_text())
    assert [(each["folder"], each["bench"]) for each in record["runs"] if each["own"]] == [
        ("runs/local-storage.6.14", "6.14")
    ]
    assert not record["failures"]
    assert record["settings"]["cpus"] == 2
    own = json.loads((tmp_path / "out" / "runs" / "local-storage.6.14" / "run.json").read_text())
    assert [arm["name"] for arm in own["arms"]] == ["6.14"]
    assert own["guest"]["cpus"] == 2


def test_a_suite_that_the_newest_bench_has_no_case_of_takes_the_next_older_one(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_newest(request: RunRequest, *others: Any) -> Any:
        gone = wrong_usage("no case of the chosen suites can run on this tree", "choose other suites")
        return (gone,) if request.bench_from == "6.14" else run(request, *others)

    monkeypatch.setattr(measure, "run", without_newest)
    done = audit(history, tmp_path)

    assert done.exit_code == Exit.DONE, done.output
    record = json.loads((tmp_path / "out" / "releases.json").read_text())
    assert [(each["folder"], each["bench"]) for each in record["runs"] if not each["own"]] == [
        ("runs/local-storage", "6.13")
    ]
    assert "Not measured" not in done.output


def test_a_case_is_measured_in_the_suites_that_have_it(history: Path, tmp_path: Path) -> None:
    done = audit(history, tmp_path, "--suite", "all", "--case", "seq-get", "--case", "hashmap-control")

    assert done.exit_code == Exit.DONE, done.output
    record = json.loads((tmp_path / "out" / "releases.json").read_text())
    assert record["suites"] == ["local-storage"]
    assert not record["failures"]
    run_of = json.loads((tmp_path / "out" / "runs" / "local-storage" / "run.json").read_text())
    planned = {case["benchmark"] for case in run_of["plan"]["cases"]}
    assert {"local-storage-cache-seq-get", "local-storage-cache-hashmap-control"} <= planned
    assert "local-storage-cache-int-get" not in planned


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ((), {"bloom": (), "hashmap": (), "veristat": ()}),
        (("bloom-lookup",), {"bloom": ("bloom-lookup",)}),
        (("bloom-lookup", "cgroup_iter"), {"bloom": ("bloom-lookup",), "veristat": ("cgroup_iter",)}),
        (("hashmap",), {"bloom": ("hashmap",), "hashmap": ("hashmap",)}),
    ],
)
def test_a_pattern_goes_to_the_suites_that_know_it_or_else_to_those_of_objects(
    patterns: tuple[str, ...], found: Any
) -> None:
    assert measure.patterns_of(patterns, ("bloom", "hashmap", "veristat"), "standard") == found


@pytest.mark.parametrize(
    ("suite", "words", "cpus", "attempts"),
    [
        ("sockmap", (), 3, 3),
        ("sockmap", ("--cpus", "4"), 4, 3),
        ("htab-mem", (), None, 3),
        ("cilium-ebpf", (), None, 1),
    ],
)
def test_guests_have_the_cpus_that_all_cases_of_a_suite_need(
    history: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suite: str,
    words: Any,
    cpus: int | None,
    attempts: int,
) -> None:
    asked: list[int | None] = []

    def note(request: RunRequest, *_: Any) -> Any:
        asked.append(request.cpus)
        return (wrong_usage("not measured here", "do"),)

    monkeypatch.setattr(measure, "run", note)
    audit(history, tmp_path, "--suite", suite, *words)
    assert set(asked) == {cpus}
    assert len(asked) == attempts, "with the newest bench, then with each older one; a program has its own"


def test_an_audit_is_resumed_without_naming_its_trees(history: Path, tmp_path: Path) -> None:
    audit(history, tmp_path)
    record = tmp_path / "out" / "releases.json"
    first = json.loads(record.read_text())
    again = audit(history, tmp_path, tags=())

    assert again.exit_code == Exit.DONE, again.output
    assert json.loads(record.read_text())["runs"] == first["runs"]


@pytest.mark.parametrize(
    ("tags", "words", "message"),
    [
        (("v6.12",), (), "an audit takes 2 to 15 releases, not 1"),
        (("v6.12", "v6.12"), (), "are the same revision"),
        (("v6.12", "v9.99"), (), "has no revision 'v9.99'"),
        (("v6.12", "v6.13"), ("--suite", "nothing"), "there is no suite 'nothing'"),
        (("v6.12", "v6.13"), ("--bench-from", "5.15"), "there is no release 5.15"),
    ],
)
def test_what_cannot_be_audited_is_refused_before_anything_is_built(
    history: Path, tmp_path: Path, tags: tuple[str, ...], words: tuple[str, ...], message: str
) -> None:
    refused = audit(history, tmp_path, *words, tags=tags)

    assert refused.exit_code == Exit.USAGE
    assert message in " ".join(refused.stderr.split())
    assert not (tmp_path / "cache" / "kernels").exists()


def test_a_release_that_does_not_build_costs_its_column_alone(history: Path, tmp_path: Path) -> None:
    change(
        history, "kernel/bpf/core.c", "int bpf_prog_run(void)\n{\n\treturn 42\n}\n", "bpf: Forget a semicolon"
    )
    release(history, 15, "slow\n")
    done = audit(history, tmp_path, tags=("v6.12", "v6.13", "v6.15"))

    assert done.exit_code == Exit.DONE, done.output
    report = (tmp_path / "out" / "report.md").read_text()
    assert "| 200.000 | 250.000 | - | ▲ +25.00 % | - | 6.13 |" in report
    assert re.search(r"- 6\.15: it does not build.*core\.c.* error: expected", report)


def test_a_step_over_a_release_without_values_names_the_releases_that_were_compared(
    history: Path, tmp_path: Path
) -> None:
    good = (history / "kernel/bpf/core.c").read_text()
    change(history, "kernel/bpf/core.c", "int bpf_prog_run(void)\n{\n\treturn 42\n}\n", "bpf: Break it")
    release(history, 15, "good\n")
    change(history, "kernel/bpf/core.c", good, "bpf: Mend it")
    release(history, 16, "slow\n")
    done = audit(history, tmp_path, tags=("v6.12", "v6.15", "v6.16"))

    assert done.exit_code == Exit.DONE, done.output
    assert "6.15: nothing is compared with it." in done.stdout
    assert "6.12 to 6.16: 5 slower or worse" in done.stdout
    assert "6.15 to 6.16" not in done.stdout


def test_where_nothing_could_be_measured_the_reason_is_the_end(history: Path, tmp_path: Path) -> None:
    change(history, "kernel/bpf/core.c", "int bpf_prog_run(void)\n{\n\treturn 42\n}\n", "bpf: Break it")
    for number, behaviour in ((15, "good\n"), (16, "slow\n")):
        release(history, number, behaviour)
    done = audit(history, tmp_path, tags=("v6.15", "v6.16"))

    assert done.exit_code == Exit.KERNEL_FAILED, done.output
    assert "cliffwatch: 6.15: it does not build" in done.stderr
    assert "kernel/bpf/core.c" in done.stderr
    failures = json.loads((tmp_path / "out" / "releases.json").read_text())["failures"]
    assert {each["bench"] for each in failures} == {"6.16"}, "no other bench makes a kernel build"
    assert "error: expected" in (tmp_path / "out" / "report.md").read_text()
    assert audit(history, tmp_path / "other", "--case", "zzz").exit_code == Exit.USAGE


def test_the_site_needs_no_service_and_asks_no_other_host(audited: tuple[Result, Path]) -> None:
    _, out = audited
    site = out / "site"

    assert sorted(page.name for page in site.iterdir()) == ["index.html", "local-storage.html"]
    for page in site.iterdir():
        text = page.read_text()
        assert "default-src 'none'" in text
        assert "://" not in text
        assert "<script" not in text
    assert 'href="local-storage.html"' in (site / "index.html").read_text()


def test_every_sample_is_in_the_data(audited: tuple[Result, Path]) -> None:
    _, out = audited

    names = sorted(path.name for path in (out / "data").iterdir())
    suffix = "parquet" if has_parquet() else "csv"
    assert names[0] == f"local-storage.{suffix}"


@pytest.mark.parametrize(
    "changed", [{"suites": ["../../elsewhere"]}, {"runs": [{"folder": "../../etc"}]}, {"runs": "none"}]
)
def test_a_record_from_elsewhere_writes_and_reads_nothing_outside_its_folder(
    audited: tuple[Result, Path], tmp_path: Path, changed: dict[str, object]
) -> None:
    record = json.loads((audited[1] / "releases.json").read_text())
    if isinstance(changed.get("runs"), list):
        changed = {"runs": [record["runs"][0] | {"folder": "../../etc"}]}
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "releases.json").write_text(json.dumps(record | changed))
    read = report_only(folder)

    assert read.exit_code == Exit.USAGE
    assert "releases.json cannot be read" in " ".join(read.stderr.split())
    assert [path.name for path in tmp_path.rglob("*")] == ["given", "releases.json"]
