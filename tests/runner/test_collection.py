"""What a first real host sends back: one file, complete as far as the host allows, without anybody's name."""

import json
import os
import pwd
import socket
import tarfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main
from cliffwatch.failure import host_failed
from cliffwatch_runner.doctor import collection
from cliffwatch_runner.doctor.anonymous import Names, anonymous, names_of_this_host
from cliffwatch_runner.doctor.collection import Part, collect, pack, results_part, run_part
from cliffwatch_runner.host import tuning_rights
from cliffwatch_runner.host.tuning import KnobOutcome, TuningOutcome

RUN = Path(__file__).parents[1] / "data/runs/uninlined"
NAMES = Names(
    words={"alice": "USER", "Alice Example": "USER", "rome-1": "HOST"}, folders={"/home/alice": "HOME"}
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cache /home/alice/.cache is full", "cache HOME/.cache is full"),
        ("user alice on rome-1", "user USER on HOST"),
        ("malice and rome-12 stay", "malice and rome-12 stay"),
        ('"author": "Bob \\"B\\" <bob@example.org>",', '"author": "removed",'),
        ("by bob@example.org", "by MAIL"),
        ("UUID=0c1f1c3a-8a0b-4a53-9d1f-2f7a0c1e5b11 ro", "UUID=UUID ro"),
        ('"root=/dev/mapper/rome--1--vg-root ro quiet"', '"root=removed ro quiet"'),
        ("ip=192.0.2.7::192.0.2.1:::eno1 isolcpus=4-7", "ip=removed isolcpus=4-7"),
        ("rd.lvm.lv=rome-vg/root nohz_full=4-7", "rd.lvm.lv=removed nohz_full=4-7"),
        ("eno1 at 3c:ec:ef:12:34:56, UP", "eno1 at CARD, UP"),
        ("at 12:34:56 of 2026", "at 12:34:56 of 2026"),
    ],
)
def test_names_are_replaced(text: str, expected: str) -> None:
    assert anonymous(text.encode(), NAMES) == expected.encode()


def test_what_is_no_text_is_not_sent() -> None:
    assert anonymous(b"alice\xff\x00", NAMES) is None


def test_the_names_are_those_of_user_and_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "carol")
    carol = pwd.struct_passwd(("carol", "x", 1234, 1234, "Carol Example,,,", "/data/people/c", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwnam", {"carol": carol}.__getitem__)
    monkeypatch.setattr(socket, "gethostname", lambda: "rome-1.example.org")
    names = names_of_this_host()
    assert (names.words["carol"], names.words["rome-1"]) == ("USER", "HOST")
    assert (names.words["Carol Example"], names.folders["/data/people/c"]) == ("USER", "HOME")
    assert "root" not in names.words


def broken() -> collection.Files:
    raise ValueError("a table of alice is odd")


def test_a_part_that_fails_is_named_and_the_others_are_there(tmp_path: Path) -> None:
    parts = [
        Part("good", "one", lambda: {"good.txt": b"of alice"}),
        Part("bad", "two", broken),
        Part("refused", "three", lambda: host_failed("not here", "send the rest")),
        results_part(RUN, "results-1"),
        results_part(tmp_path, "results-2"),
    ]
    collected = collect(parts, NAMES, lambda _: None)
    assert list(collected.files) == ["good", "results-1"]
    assert pack(collected, NAMES, tmp_path / "host.tar.gz") is None

    with tarfile.open(tmp_path / "host.tar.gz") as archive:
        names, members = archive.getnames(), archive.getmembers()
        texts = {name: (archive.extractfile(name) or archive).read() for name in names}
    assert {(each.uname, each.uid, each.mtime) for each in members} == {("", 0, 0)}
    assert texts["cliffwatch-host/good.txt"] == b"of USER"
    assert "cliffwatch-host/results-1/run.json" in names
    left_out = json.loads(texts["cliffwatch-host/left-out.json"])
    assert left_out["bad"] == "ValueError: a table of USER is odd: send the rest, and this message"
    assert list(left_out) == ["bad", "refused", "results-2"]


@pytest.mark.parametrize("lines", ["no KVM here", "cliffwatch: no KVM here\n  give it a right"])
def test_a_run_without_results_says_how_it_ended_and_its_output_is_sent(tmp_path: Path, lines: str) -> None:
    script = f"echo 'a line of alice before'; echo '{lines}'; exit 4"
    shown: list[str] = []
    part = run_part(["sh", "-c", script], tmp_path / "run", dict(os.environ), 60, shown.append)
    collected = collect([part], NAMES, lambda _: None)
    assert str(collected.left_out["run"]).startswith("the run ended without results: no KVM here: ")
    assert "".join(shown).endswith(f"{lines}\n")
    assert pack(collected, NAMES, tmp_path / "host.tar.gz") is None
    assert "a line of USER before" in left_out(tmp_path / "host.tar.gz")["run"]


def test_files_that_are_not_sent_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in {"run.json": b"{}", "console": b"alice\xff", "dmesg": b"x" * 100}.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(collection, "_LARGEST_FILE", 99)
    collected = collect([results_part(tmp_path, "run")], NAMES, lambda _: None)
    assert list(collected.files["run"]) == ["run/run.json"]
    assert pack(collected, NAMES, tmp_path / "host.tar.gz") is None
    assert list(left_out(tmp_path / "host.tar.gz")) == ["run/console", "run/dmesg"]


def left_out(archive: Path) -> dict[str, str]:
    with tarfile.open(archive) as opened:
        reasons: dict[str, str] = json.load(opened.extractfile("cliffwatch-host/left-out.json") or opened)
    return reasons


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "nowhere/host.tar.gz"), "nowhere/host.tar.gz cannot be written"),
        (("--out", "host.tar.gz", "--results", "."), ". has no run.json"),
    ],
)
def test_what_cannot_be_written_or_read_is_said_before_anything_is_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(main, ["host", "collect", "--no-tune", *words], catch_exceptions=False)
    assert (ended.exit_code, message in ended.stderr) == (2, True)
    assert "collecting" not in ended.stderr


def test_the_settings_that_a_host_refused_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = KnobOutcome(
        name="boost",
        target="no_turbo",
        state="refused",
        before="0",
        after="0",
        reason="Operation not permitted",
    )
    facts = SimpleNamespace(may_tune=True, word=lambda *_: "2-3")
    tuned = TuningOutcome(outcomes=(refused,))
    asked: list[frozenset[int]] = []

    def tune(cpus: frozenset[int], **_: object) -> nullcontext[TuningOutcome]:
        asked.append(cpus)
        return nullcontext(tuned)

    monkeypatch.setattr(collection, "host_lock", lambda *_, **__: nullcontext())
    monkeypatch.setattr(collection, "lock_state", lambda: SimpleNamespace(locked=False))
    monkeypatch.setattr(collection, "tune_as_allowed", tune)
    part = collection.tuning_part(facts)  # type: ignore[arg-type] # two facts are read
    collected = collect([part], NAMES, lambda _: None)

    (outcome,) = json.loads(collected.files["tuning"]["tuning.json"])["outcomes"]
    assert (outcome["name"], outcome["state"]) == ("boost", "refused")
    assert asked == [frozenset({2, 3})]
    monkeypatch.setattr(collection, "lock_state", lambda: SimpleNamespace(locked=True))
    assert "a run holds this host" in str(collect([part], NAMES, lambda _: None).left_out["tuning"])


def test_the_command_prints_what_is_in_the_file_and_does_not_tune_where_it_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "tune_as_allowed", tuning_rights)  # calling a module would fail
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    monkeypatch.setenv("USER", "alice-of-the-test")
    out, cache = tmp_path / "host.tar.gz", tmp_path / "alice-of-the-test"
    words = ["host", "collect", "--out", out, "--cache", cache, "--results", RUN, "--accel", "tcg"]
    ended = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)

    assert ended.exit_code == 0
    *lines, last = ended.stdout.splitlines()
    assert last == f"Look at it (tar -xzf {out}), then attach it to an issue of Cliffwatch."
    rows = {line.split()[0]: line for line in lines[1:]}
    assert list(rows) == ["versions", "host", "doctor", "topology", "tuning", "results-1"]
    assert "left out: this user may not tune" in rows["tuning"]
    with tarfile.open(out) as archive:
        doctor = json.load(archive.extractfile("cliffwatch-host/doctor-walltime.json") or archive)
        whole = b"".join((archive.extractfile(each) or archive).read() for each in archive.getnames())
    assert doctor["mode"] == "walltime"
    assert b"alice-of-the-test" not in whole
