"""A compiler in /opt or in a home builds kernels like one in /usr, and what lies beside it stays hidden."""

import os
from pathlib import Path

import pytest
from isolation_here import leave_out_root

from cliffwatch.failure import Failure
from cliffwatch_runner import process
from cliffwatch_runner.sandbox.isolation import choose_sandbox
from cliffwatch_runner.sandbox.programs import add_programs, show_programs
from cliffwatch_runner.sandbox.sandbox import HOME, Sandbox

pytestmark = pytest.mark.namespaces


@pytest.fixture
def sandbox() -> Sandbox:
    leave_out_root()
    chosen = choose_sandbox("auto", None)
    assert isinstance(chosen, Sandbox), chosen
    return chosen


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a compiler in ~/llvm and a key beside it."""
    write_program(tmp_path / "llvm" / "bin" / "clang-30", 'cat "$(dirname "$0")/../lib/version"')
    (tmp_path / "llvm" / "lib").mkdir()
    (tmp_path / "llvm" / "lib" / "version").write_text("clang version 30.1.0\n")
    (tmp_path / "llvm" / "key").write_text("hidden\n")
    return tmp_path


def write_program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def search(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def run_in(sandbox: Sandbox, *command: str) -> process.Finished:
    argv = sandbox.argv(command, env={"PATH": sandbox.search_path}, mounts=(), workdir=HOME)
    return process.run(argv, env=sandbox.process_input(), deadline=60)


def test_a_compiler_on_path_in_a_home_runs_in_the_sandbox(
    sandbox: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search(monkeypatch, home / "llvm" / "bin")

    shown = show_programs(sandbox, ["clang-30", "gcc"], ["make"])

    assert isinstance(shown, Sandbox), shown
    assert run_in(shown, "clang-30", "--version").output == "clang version 30.1.0\n"


def test_a_compiler_named_by_its_path_runs_in_the_sandbox(sandbox: Sandbox, home: Path) -> None:
    clang = str(home / "llvm" / "bin" / "clang-30")

    shown = show_programs(sandbox, [clang], [])

    assert isinstance(shown, Sandbox), shown
    assert run_in(shown, clang, "--version").ok
    # Kernel's make calls the other tools of LLVM by name.
    assert run_in(shown, "clang-30", "--version").ok


def test_a_link_in_usr_local_style_leads_to_its_target(
    sandbox: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "clang").symlink_to(home / "llvm" / "bin" / "clang-30")
    write_program(home / "llvm" / "bin" / "clang-30", "echo clang version 30.1.0")
    search(monkeypatch, home / "bin")

    shown = show_programs(sandbox, ["clang"], [])

    assert isinstance(shown, Sandbox), shown
    assert run_in(shown, "clang", "--version").ok


def test_only_programs_and_their_libraries_are_shown(sandbox: Sandbox, home: Path) -> None:
    shown = show_programs(sandbox, [str(home / "llvm" / "bin" / "clang-30")], [])

    assert isinstance(shown, Sandbox), shown
    assert not run_in(shown, "cat", str(home / "llvm" / "key")).ok
    assert not run_in(shown, "touch", str(home / "llvm" / "bin" / "clang-31")).ok


def test_of_a_program_in_a_home_itself_only_the_program_is_shown(
    sandbox: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(home / "pahole", "echo v1.31")
    (home / "key").write_text("hidden\n")
    monkeypatch.setenv("HOME", str(home))
    search(monkeypatch, home)

    shown = show_programs(sandbox, ["pahole"], [])

    assert isinstance(shown, Sandbox), shown
    assert run_in(shown, "pahole", "--version").output == "v1.31\n"
    assert not run_in(shown, "cat", str(home / "key")).ok


def test_a_script_that_calls_a_hidden_program_is_refused_before_a_build(
    sandbox: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(home / "hidden" / "real-pahole", "echo v1.31")
    write_program(home / "tools" / "pahole", f"exec {home}/hidden/real-pahole")
    search(monkeypatch, home / "tools")

    refused = show_programs(sandbox, ["gcc", "pahole"], ["make"])

    assert isinstance(refused, Failure)
    assert refused.message == (
        f"pahole ({home}/tools/pahole) runs here, but not in the sandbox of builds, which can read /usr,"
        f" {home}/tools"
    )
    assert "give the path of the program it calls" in refused.next_step
    assert "real-pahole" in refused.evidence


def test_an_emulator_in_a_home_is_found_with_its_firmware(
    sandbox: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(home / "qemu" / "bin" / "qemu-system-x86_64", 'ls "$(dirname "$0")/../share/qemu"')
    (home / "qemu" / "share" / "qemu").mkdir(parents=True)
    (home / "qemu" / "share" / "qemu" / "bios.bin").touch()
    search(monkeypatch, home / "qemu" / "bin")

    shown = add_programs(sandbox, ["qemu-system-x86_64"])

    assert run_in(shown, "qemu-system-x86_64").output == "bios.bin\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's builds are another user's")
def test_without_a_sandbox_a_program_must_be_one_of_the_user_who_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path / "pahole", "echo v1.31")
    (tmp_path / "pahole").chmod(0o700)
    search(monkeypatch, tmp_path)
    without = choose_sandbox("none", None)
    assert isinstance(without, Sandbox)

    refused = show_programs(without, ["pahole"], [])

    assert isinstance(refused, Failure)
    assert refused.message.endswith(f"runs here, but not as user {without.uid}, which builds run as")
