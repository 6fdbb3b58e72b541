"""`cliffwatch run` on a toy kernel: what it prints, and how it ends."""

import errno
import json
import re
from pathlib import Path

import pytest
from isolation_here import ISOLATION
from made_documents import made_record
from run_command import cliffwatch, run
from toy import change

from cliffwatch.formats.run_reading import read_run_record
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import Part
from cliffwatch_runner.build import toolchain
from cliffwatch_runner.results import files
from cliffwatch_runner.run import run as running

pytestmark = pytest.mark.usefixtures("stand_in")


def test_a_run_ends_with_its_report(repository: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    ended = run(repository)

    assert ended.exit_code == 0
    assert ended.stdout.startswith("5 slower (up to 25.0 % more instructions), 2 unchanged\n")
    assert "measure: 2 boots" in ended.stderr


def test_a_range_is_short_for_base_and_head(repository: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    printed = run(repository).stdout
    folders = ["--cache", repository.parent / "cache", "--out", repository.parent / "results"]
    plan = ["--suite", "local-storage", "--mode", "icount", "--boots", 1, "--isolation", ISOLATION]
    assert cliffwatch("run", "v6.12..HEAD", "--tree", repository, *plan, *folders).stdout == printed


def test_a_misspelt_suite_is_guessed(repository: Path) -> None:
    ended = run(repository, "--suite", "local-storag")
    assert ended.exit_code == 2
    assert "there is no suite 'local-storag'; did you mean 'local-storage'?" in ended.stderr


def test_fail_on_makes_it_end_with_1(repository: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")

    assert run(repository, "--fail-on", "regression").exit_code == 1
    assert run(repository, "--fail-on", "failed").exit_code == 0


def test_json_for_programs_is_nothing_but_json(repository: Path) -> None:
    ended = run(repository, "--format", "json")

    assert len(json.loads(ended.stdout)["comparisons"]) == 7


def test_a_dry_run_prints_the_plan_and_builds_nothing(repository: Path) -> None:
    ended = run(repository, "--dry-run")

    assert ended.exit_code == 0
    assert "boots (2), each with its cases in order:" in ended.stdout
    assert "local-storage: --nr_maps 16 local-storage-cache-seq-get" in ended.stdout
    assert not (repository.parent / "cache" / "kernels").exists()
    assert not (repository.parent / "results").exists()


@pytest.mark.parametrize(
    ("base", "message", "next_step"),
    [
        ("nonsense", "has no revision 'nonsense'", "check the spelling"),
        ("v6.1", "has no revision 'v6.1'", "did you mean v6.12?"),
        ("v6.12..HEAD", "--base v6.12..HEAD is a range, which names base and head", "leave out --head"),
        ("--upload-pack=true", "is no name of a revision", "a branch, a tag or a hash"),
    ],
)
def test_a_revision_that_is_none_is_usage(repository: Path, base: str, message: str, next_step: str) -> None:
    ended = run(repository, "--base", base) if base.startswith("--") else run(repository, base=base)
    if base.startswith("--"):
        ended = run(repository, base=base)

    assert ended.exit_code == 2
    assert message in ended.stderr
    assert next_step in ended.stderr


def test_tags_short_hashes_and_head_are_revisions(repository: Path) -> None:
    commit = change(repository, "behaviour", "slow\n", "bpf: Make it slow")

    for name in ("HEAD", commit, commit[:9], "master", "HEAD~0"):
        assert (
            run(repository, "--dry-run", head=name).stdout.splitlines()[1].startswith(f"head  {commit[:12]}")
        )


def test_a_tree_that_is_none_is_usage(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    for tree, message in ((tmp_path / "none", "there is no tree"), (tmp_path / "empty", "is no kernel tree")):
        ended = cliffwatch(
            "run", "--tree", tree, "--base", "HEAD", "--head", "HEAD", "--cache", tmp_path / "cache"
        )
        assert ended.exit_code == 2
        assert message in ended.stderr


def test_an_unpacked_folder_is_one_revision(repository: Path, tmp_path: Path) -> None:
    (repository / ".git").rename(tmp_path / "away")

    assert run(repository, base="HEAD").exit_code == 0
    assert "has one revision: HEAD" in run(repository, base="v6.12").stderr


def test_a_patch_makes_head(repository: Path, tmp_path: Path) -> None:
    patch = tmp_path / "slow.patch"
    patch.write_text(
        "Subject: [PATCH] bpf: Slow\n---\n--- a/behaviour\n+++ b/behaviour\n@@ -1 +1 @@\n-good\n+slow\n"
    )
    ended = run(repository, "--patch", patch, base="HEAD")

    assert ended.exit_code == 0
    assert "(bpf: Slow)" in ended.stdout
    assert "5 slower" in ended.stdout


def test_a_patch_that_does_not_apply_is_usage(repository: Path, tmp_path: Path) -> None:
    patch = tmp_path / "other.patch"
    patch.write_text("--- a/behaviour\n+++ b/behaviour\n@@ -1 +1 @@\n-bad\n+slow\n")
    ended = run(repository, "--patch", patch)

    assert ended.exit_code == 2
    assert "other.patch does not apply to" in ended.stderr


def test_a_kernel_that_does_not_build_ends_with_3_and_its_error_on_top(repository: Path) -> None:
    change(repository, "kernel/bpf/core.c", "int broken(void) { return x; }\n", "bpf: Break it")
    ended = run(repository)

    assert ended.exit_code == 3
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("nothing was compared: head: it does not build: ")
    assert "7 cases without a value" in lines
    assert "cliffwatch: head: it does not build\n  fix the tree\n" in ended.stderr
    assert "error: 'x' undeclared" in ended.stdout.replace("\u2018", "'").replace("\u2019", "'")


def test_a_kernel_that_panics_ends_with_3(repository: Path) -> None:
    change(repository, "behaviour", "panic-in local-storage-cache-int-get\n", "bpf: Break int-get")
    ended = run(repository)

    assert ended.exit_code == 3
    assert "2 failed" in ended.stdout.splitlines()[0]
    assert "the kernel panicked while it ran: " in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "message", "next_step"),
    [
        (
            ("--pahole", "pahole-of-tomorrow"),
            "--pahole: there is no program 'pahole-of-tomorrow'",
            "install dwarves",
        ),
        (("--cc", "gcc-of-tomorrow"), "--cc: there is no program 'gcc-of-tomorrow'", "install gcc"),
        (
            ("--clang", "clang-of-tomorrow"),
            "--clang: there is no program 'clang-of-tomorrow'",
            "install clang",
        ),
        (
            ("--suite", "local-storge"),
            "there is no suite 'local-storge'; did you mean 'local-storage'?",
            "choose among: ",
        ),
        (("--suite", ","), "there is no suite ''", "choose among: "),
        (("--platform", ""), "--platform: '' is no name of a platform", "such as amd-rome"),
        (
            ("--platform", "amd\trome"),
            "--platform: 'amd\\trome' is no name of a platform",
            "such as amd-rome",
        ),
        (
            ("--platform", "AMD-Rome"),
            "'AMD-Rome' would be a different platform from 'amd-rome'",
            "did you mean amd-rome?",
        ),
        (
            ("--case", "seq-get", "--case", "hashmep"),
            "--case: no case of the plan matches 'hashmep'",
            "hashmap-control",
        ),
        (
            ("--explain", "seq-gte"),
            "--explain: no case of the plan matches 'seq-gte'",
            "local-storage-cache-seq-get",
        ),
        (
            ("--report-out", "/nosuch/report.txt"),
            "/nosuch/report.txt cannot be written",
            "a folder that you may write to",
        ),
        (
            ("--report-out", "/proc/report.txt"),
            "/proc/report.txt cannot be written",
            "a folder that you may write to",
        ),
        (("--out", "/proc/results"), "results cannot be written to /proc/results", "--out"),
        (("--config", "/nosuch.config"), "/nosuch.config", "does not exist"),
        (("--upload", "nonsense"), "--upload: 'nonsense' is not a service URL", "https://"),
        (("--threshold", "nan"), "--threshold", "a number of per cent"),
        (("--limit", "x=1"), "'x=1' is no limit", "memory=32G"),
    ],
)
def test_wrong_arguments_are_told_before_anything_begins(
    repository: Path, arguments: tuple[str, str], message: str, next_step: str
) -> None:
    for dry in ((), ("--dry-run",)):
        ended = run(repository, *arguments, *dry)

        assert ended.exit_code == 2
        assert message in ended.stderr
        assert next_step in ended.stderr
        assert ended.stdout == ""
    assert not (repository.parent / "cache" / "kernels").exists()
    assert not (repository.parent / "results").exists()


def test_all_that_is_wrong_with_the_arguments_is_told_at_once(repository: Path) -> None:
    ended = run(repository, "--suite", "local-storge", "--pahole", "pahole-of-tomorrow", "--platform", " ")

    assert [line for line in ended.stderr.splitlines() if line.startswith("cliffwatch: ")] == [
        "cliffwatch: there is no suite 'local-storge'; did you mean 'local-storage'?",
        "cliffwatch: --platform: ' ' is no name of a platform",
        "cliffwatch: --pahole: there is no program 'pahole-of-tomorrow' here that prints its version",
    ]


def test_a_report_goes_to_the_file_that_was_named(repository: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    ended = run(repository, "--report-out", report, "--format", "json")

    assert (ended.exit_code, ended.stdout) == (0, "")
    assert json.loads(report.read_text())["format"] == "cliffwatch-comparison"
    assert cliffwatch("compare", repository.parent / "results", "--report-out", tmp_path).exit_code == 2


def test_tools_that_a_newer_tree_needs_are_told_before_anything_is_built(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    makefile = (
        (repository / "Makefile")
        .read_text()
        .replace("VERSION = 6", "VERSION = 7")
        .replace("LEVEL = 12", "LEVEL = 2")
    )
    change(repository, "Makefile", makefile, "Linux 7.2")
    old = {"pahole": ("v1.24", (1, 24)), "bpf-clang": ("clang version 19.1.7", (19, 1, 7))}
    ask = toolchain.query_tool

    def asked(name: str, program: str, image: str | None = None) -> object:
        if name not in old:
            return ask(name, program, image)
        return toolchain.Tool(name=name, program=program, version_line=old[name][0], version=old[name][1])

    monkeypatch.setattr(toolchain, "query_tool", asked)
    ended = run(repository)

    assert ended.exit_code == 4
    assert "linux 7.2.1 needs pahole 1.27 or newer" in ended.stderr
    assert "linux 7.2.1 needs clang 20 or newer" in ended.stderr
    assert "--build-image" in ended.stderr
    assert not (repository.parent / "cache" / "kernels").exists()


def test_a_fragment_that_debugs_is_refused(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "debug.config").write_text("CONFIG_KASAN=y\n")
    ended = run(repository, "--config", tmp_path / "debug.config")

    assert ended.exit_code == 2
    assert "CONFIG_KASAN would be measured instead of the kernel" in ended.stderr


def test_a_configuration_that_kconfig_drops_is_told(repository: Path) -> None:
    change(repository, "scripts/dropped", "CONFIG_DEBUG_INFO_BTF\n", "Kconfig: Drop BTF")
    ended = run(repository)

    assert ended.exit_code == 3
    assert "the configuration came out without CONFIG_DEBUG_INFO_BTF" in ended.stdout
    assert len(list((repository.parent / "results" / "boots").iterdir())) == 1


def test_a_full_disk_is_the_hosts_failure_and_keeps_what_is_done(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = files.write_document

    def full(path: Path, content: Part) -> None:
        if path.name == "samples.json" and path.parent.name.startswith("004"):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(files, "write_document", full)
        ended = run(repository, "--boots", 2)
        assert ended.exit_code == 4
        assert "the disk is full" in ended.stderr

    again = run(repository, "--boots", 2)
    assert again.exit_code == 0
    assert re.search(r"[23] of 4 boots are done", again.stderr)


def test_a_record_that_could_not_be_read_again_is_refused_before_anything_is_measured(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a host says of itself: types check what is read, and a record is read when all is measured."""
    monkeypatch.setattr(running, "record", lambda *_, **__: made_record(host={"cpu": {"model_name": 7}}))
    ended = run(repository)

    assert ended.exit_code == 2
    assert "could not be read back: host.cpu.model_name" in ended.stderr
    assert not list((repository.parent / "results").glob("boots/*"))


def test_a_release_longer_than_any_is_none(repository: Path) -> None:
    """A tree's Makefile is anybody's, and the release stands in the record that all arms share."""
    change(repository, "Makefile", f"VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = {'1' * 500}\n", "bpf: Count on")
    ended = run(repository)

    assert ended.exit_code == 3, ended.stderr  # the toy's Makefile is what builds it
    record = read_run_record((repository.parent / "results/run.json").read_bytes())
    assert isinstance(record, RunRecord), record
    assert record.arm_by_name["head"].facts.release == "6.12"


def test_a_run_is_compared_by_the_threshold_that_it_was_given(repository: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    ended = run(repository, "--threshold", 60)
    results = repository.parent / "results"

    assert ended.stdout.startswith("no change: 7 unchanged")
    assert "Changes below 60 % are not reported" in ended.stdout
    assert cliffwatch("compare", results).stdout == ended.stdout
    assert run(repository).stdout == ended.stdout
    assert cliffwatch("compare", results, "--threshold", 1).stdout.startswith(
        "5 slower (up to 25.0 % more instructions), 2 unchanged\n"
    )


def test_compare_and_export_read_the_same_folder_later(repository: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    printed = run(repository).stdout
    results = repository.parent / "results"

    assert cliffwatch("compare", results).stdout == printed
    assert "0 slower" not in cliffwatch("compare", f"{results}:base", f"{results}:head").stdout
    exported = repository.parent / "export.txt"
    exported.write_text(cliffwatch("export", results).stdout)
    first, second = (
        json.loads(cliffwatch("compare", each, "--format", "json").stdout) for each in (results, exported)
    )
    assert first.pop("notes")
    assert second.pop("notes") == []  # a file of samples has no notes on the run
    assert second == first
    assert (
        "BenchmarkBPF/bench=local-storage-cache-seq-get/nr_maps=16-1 1 "
        in cliffwatch("export", results).stdout
    )


def test_a_folder_that_is_no_run_is_usage(tmp_path: Path) -> None:
    for command in ("compare", "export"):
        ended = cliffwatch(command, tmp_path)

        assert ended.exit_code == 2
        assert "there is no run.json" in ended.stderr
