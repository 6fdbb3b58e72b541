"""A rehearsal: walltime on an emulated processor. It runs where KVM does not, is never chosen by itself, and
every report says what it is.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from made_documents import made_work
from test_modes import SMT, host_with, measured, run
from toy import change

from cliffwatch.command.main import main
from cliffwatch.formats.run_reading import run_record_of
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CONTROL
from cliffwatch_runner.command.options.measuring import make_request
from cliffwatch_runner.guest.boot import BootOrder, boot_guest
from cliffwatch_runner.guest.boot_end import BootEnd
from cliffwatch_runner.host.kvm_probe import KvmProbe
from cliffwatch_runner.plan import shapes
from cliffwatch_runner.run import measure
from cliffwatch_runner.worker.builder.messages import BuilderJob
from cliffwatch_runner.worker.host import WorkerHost
from cliffwatch_runner.worker.running import run_argv

pytestmark = pytest.mark.usefixtures("stand_in")

NO_KVM = KvmProbe(usable=False, reason="No such file or directory")
RECORD = Path(__file__).parents[1] / "data/runs/uninlined/run.json"
MARK = "This is a rehearsal: QEMU emulated the processor"


def rehearse(repository: Path, *words: object) -> Result:
    return run(repository, "--mode", "walltime", "--accel", "tcg", *words)


def test_it_runs_without_kvm_and_records_what_ran_its_guests(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_with(monkeypatch, SMT, kvm=NO_KVM)
    ended = rehearse(repository)
    record = measured(repository.parent / "results").record

    assert ended.exit_code == 0, ended.output
    assert (record.mode, record.platform) == ("walltime", "rehearsal-x86-64")
    assert record.guest_facts.accelerator == "tcg"
    assert CONTROL in record.arm_by_name
    assert record.host_faults == ("smt: on",)
    assert MARK in ended.stderr[: ended.stderr.index("build base")]


def test_without_kvm_walltime_stays_refused_and_the_refusal_names_the_rehearsal(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_with(monkeypatch, kvm=NO_KVM)
    ended = run(repository, "--mode", "walltime")

    assert ended.exit_code == 4
    assert "--accel tcg rehearses walltime without KVM" in ended.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--accel", "tcg"), "leave out --accel to count instructions"),
        (("--mode", "icount", "--accel", "tcg"), "or rehearse with --mode walltime --accel tcg"),
        (("--mode", "walltime", "--platform", "rehearsal-x86-64"), "is for rehearsals, and this is none"),
        (("--platform", "rehearsal-x86-64"), "is for rehearsals, and this is none"),
        (
            ("--mode", "walltime", "--accel", "tcg", "--platform", "amd-rome"),
            "emulated time under the name of a machine",
        ),
    ],
)
def test_what_would_pass_for_something_else_is_refused_before_anything_is_built(
    repository: Path, words: tuple[str, ...], message: str
) -> None:
    ended = run(repository, *words)

    assert ended.exit_code == 2
    assert message in ended.stderr
    assert not (repository.parent / "cache/kernels").exists()


def test_with_both_modes_only_walltime_is_rehearsed(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_with(monkeypatch, kvm=NO_KVM)
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    ended = run(repository, "--mode", "both", "--accel", "tcg")
    platforms = [
        measured(repository.parent / "results" / mode).record.platform for mode in ("icount", "walltime")
    ]

    assert ended.exit_code == 0, ended.output
    assert platforms == ["emulated-x86-64", "rehearsal-x86-64"]


def test_its_guests_have_no_more_cpus_than_this_host_can_pin(monkeypatch: pytest.MonkeyPatch) -> None:
    def shape(cores: int, accel: str = "tcg") -> tuple[int, tuple[int, ...]]:
        monkeypatch.setattr(shapes, "primary_threads", lambda: frozenset(range(cores)))
        asked = make_request(mode="walltime", accel=accel, **REQUEST)
        planned = shapes.guest_shape(asked, 2048)
        return planned.cpus, planned.pin

    assert shape(1) == (1, ())
    assert shape(2) == (1, (1,))
    assert shape(16) == (4, (12, 13, 14, 15))
    assert shape(2, "kvm") == (4, ())


def test_its_cases_may_take_ten_times_as_long_since_the_host_is_busy_on_the_guests_time(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[BootOrder] = []

    def boot(order: BootOrder, *arguments: Any, **more: Any) -> BootEnd:
        orders.append(order)
        return boot_guest(order, *arguments, **more)

    monkeypatch.setattr(measure, "boot_guest", boot)
    host_with(monkeypatch)
    for name, words in (("hardware", ()), ("rehearsed", ("--accel", "tcg"))):
        out = ("--out", repository.parent / name)
        ended = run(repository, "--mode", "walltime", "--case", "seq-get/nr_maps=16", *words, *out, out=False)
        assert ended.exit_code == 0, ended.output
    hardware, rehearsed = orders[0].cases[0], orders[-1].cases[0]

    assert rehearsed.deadline == 10 * hardware.deadline
    assert rehearsed.busy / orders[-1].shape.cpus == 10 * hardware.busy / orders[0].shape.cpus


REQUEST = {
    "tree": ".",
    "base": None,
    "head": None,
    "patch": None,
    "suites": (),
    "profile": "smoke",
    "boots": None,
    "cache": Path("cache"),
    "isolation": "auto",
}


def test_every_report_says_once_what_it_is(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host_with(monkeypatch, kvm=NO_KVM)
    ended = rehearse(repository)

    assert MARK in " ".join(ended.stdout.split())
    for form in ("text", "commit", "markdown", "mail", "html", "json", "benchstat"):
        words = ["compare", str(repository.parent / "results"), "--format", form]
        text = CliRunner().invoke(main, words, catch_exceptions=False).stdout
        assert " ".join(text.split()).count(MARK) == 1, form
        assert "what users feel" not in text, form


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--platform", "rehearsal-x86-64", "--mode", "walltime"), "is for rehearsals, and this is none"),
        (("--platform", "amd-rome", "--mode", "walltime", "--accel", "tcg"), "under the name of a machine"),
        (
            ("--platform", "rehearsal-x86-64", "--mode", "walltime", "--mode", "icount", "--accel", "tcg"),
            "icount is emulated anyway",
        ),
    ],
)
def test_a_worker_rehearses_only_if_its_operator_says_so(words: tuple[str, ...], message: str) -> None:
    ended = CliRunner().invoke(main, ["worker", "--url", "http://127.0.0.1:1", *words])

    assert ended.exit_code == 2
    assert message in ended.stderr


def test_no_bench_host_is_installed_for_rehearsals(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret-of-a-host\n")
    token.chmod(0o600)
    words = ["host", "install", "--url", "http://127.0.0.1:1", "--platform", "rehearsal-x86-64"]
    ended = CliRunner().invoke(
        main, [*words, "--mode", "walltime", "--token-file", str(token), "--root", str(tmp_path)]
    )

    assert ended.exit_code == 2
    assert "start `cliffwatch worker --mode walltime --accel tcg` by hand" in ended.stderr


@pytest.mark.parametrize(("platform", "accel"), [("rehearsal-x86-64", ["--accel", "tcg"]), ("amd-rome", [])])
def test_a_job_is_rehearsed_where_its_platform_says_so(
    platform: str, accel: list[str], tmp_path: Path
) -> None:
    host = WorkerHost(
        name="laptop", platform=platform, modes=("walltime",), cache=tmp_path, command=("cliffwatch",), env={}
    )
    offer = made_work(platform=platform, mode="walltime")
    job = BuilderJob(
        name="job",
        tree="tree",
        measured=(),
        profile="smoke",
        mode="walltime",
        platform=platform,
        boots="1",
        seed="1",
    )
    for argv in (run_argv(host, offer, tmp_path, ()), job.argv("results", "cache", "outside")):
        place = argv.index("--mode") + 2
        assert argv[place : argv.index("--platform")] == accel


@pytest.mark.parametrize(
    ("platform", "accelerator"),
    [("amd-rome", "tcg"), ("rehearsal-x86-64", "kvm"), ("rehearsal-x86-64", "tcg,icount")],
)
def test_a_record_whose_platform_hides_what_it_is_is_not_read(platform: str, accelerator: str) -> None:
    raw = json.loads(RECORD.read_text())
    raw["platform"], raw["guest"]["accelerator"] = platform, accelerator
    read = run_record_of(raw)

    assert isinstance(read, Problem)
    assert read.member == "platform"
    assert read.reason == f"{platform} cannot be the platform of a guest with accelerator {accelerator}"
