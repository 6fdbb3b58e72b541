"""Sides of different machines are not compared unless somebody says so by name; and where only the kernel may
differ, all else refuses.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cliffwatch.command.compare import compare

OUTSIDE = Path(__file__).parents[1] / "data/outside/go-other-cpu"
RUN = Path(__file__).parents[1] / "data/runs/uninlined"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(compare, [str(each) for each in arguments])


def words(ended: Result) -> str:
    return " ".join(ended.output.split())


@pytest.mark.parametrize(
    ("other", "named"), [("arm.txt", "goarch: amd64 and arm64"), ("intel.txt", "cpu: AMD Ryzen")]
)
def test_machines_are_not_compared(other: str, named: str) -> None:
    ended = run(OUTSIDE / "amd.txt", OUTSIDE / other, "--fail-on", "regression")
    assert ended.exit_code == 0
    assert words(ended).startswith("nothing comparable: 1 invalid")
    assert named in words(ended)


def test_they_are_where_it_is_said() -> None:
    ended = run(OUTSIDE / "amd.txt", OUTSIDE / "intel.txt", "--varying", "cpu", "--fail-on", "regression")
    assert ended.exit_code == 1
    assert "+50.25 %" in ended.output
    refused = run(OUTSIDE / "amd.txt", OUTSIDE / "arm.txt", "--varying", "cpu")
    assert refused.exit_code == 2
    assert "goarch: amd64 and arm64" in words(refused)
    assert run(OUTSIDE / "amd.txt", OUTSIDE / "arm.txt", "--varying", "cpu,goarch").exit_code == 0


def test_one_file_of_two_machines_is_two(tmp_path: Path) -> None:
    both = tmp_path / "both.txt"
    both.write_text((OUTSIDE / "amd.txt").read_text() + (OUTSIDE / "intel.txt").read_text())
    refused = run(both, OUTSIDE / "amd.txt")
    assert refused.exit_code == 2
    assert "amd-ryzen-7-3700x-8-core-processor" in words(refused)
    named = run(f"{both}:amd-ryzen-7-3700x-8-core-processor", OUTSIDE / "amd.txt")
    assert "1 inconclusive" in words(named)
    assert "invalid" not in words(named)
    assert words(run(both)).startswith("nothing comparable: 1 invalid")


def test_a_failure_is_of_the_machine_it_happened_on(tmp_path: Path) -> None:
    both = tmp_path / "both.txt"
    failed = "--- FAIL: BenchmarkSub\n    ring_test.go:7: no such ring\nFAIL\n"
    both.write_text((OUTSIDE / "amd.txt").read_text() + (OUTSIDE / "intel.txt").read_text() + failed)
    assert "ring_test.go:7" in run(f"{both}:intel-r-xeon-r-gold-6138", OUTSIDE / "intel.txt").output
    assert (
        "ring_test.go:7" not in run(f"{both}:amd-ryzen-7-3700x-8-core-processor", OUTSIDE / "amd.txt").output
    )


def test_packages_of_one_machine_are_one_side(tmp_path: Path) -> None:
    """`go test ./...` says the machine again for each package."""
    both = tmp_path / "both.txt"
    text = (OUTSIDE / "amd.txt").read_text()
    both.write_text(text + text.replace("example.com/ring", "example.com/queue"))
    text = words(run(both, both))
    assert "2 inconclusive" in text
    assert "invalid" not in text


@pytest.mark.parametrize(
    "key", ["goos", "goamd64", "go", "host", "cores", "memory", "toolchain", "note-of-ours"]
)
def test_any_line_of_a_go_file_that_differs_is_named(tmp_path: Path, key: str) -> None:
    for side in ("base", "head"):
        (tmp_path / side).write_text(f"{key}: value of {side}\nBenchmarkA 1 10 ns/op\n")
    ended = run(tmp_path / "base", tmp_path / "head", "--varying", "kernel")
    assert ended.exit_code == 2
    assert f"{key}: value of base and value of head" in words(ended)
    assert run(tmp_path / "base", tmp_path / "head", "--varying", f"kernel,{key}").exit_code == 0


@pytest.mark.parametrize("key", ["commit", "branch", "kernel", "date"])
def test_what_names_the_kernel_may_differ(tmp_path: Path, key: str) -> None:
    for side in ("base", "head"):
        (tmp_path / side).write_text(f"{key}: value of {side}\nBenchmarkA 1 10 ns/op\n")
    assert run(tmp_path / "base", tmp_path / "head", "--varying", "kernel").exit_code == 0


def _set(*path: Any) -> Callable[[Any], None]:
    *way, last, value = path

    def change(record: Any) -> None:
        for name in way:
            record = record[name]
        record[last] = value

    return change


PLANTED: dict[str, Callable[[Any], None]] = {
    "compiler": _set("toolchain", "gcc", "gcc 14"),
    "toolchain.pahole": _set("toolchain", "pahole", "v1.29"),
    "toolchain.ld": _set("toolchain", "ld", "GNU ld 2.44"),
    "toolchain.bpf-clang": _set("toolchain", "bpf-clang", "clang 21"),
    "bench": _set("bench", "source_digest", "0" * 32),
    "bench.fixed_seed": _set("bench", "fixed_seed", False),
    "guest.cpus": _set("guest", "cpus", 4),
    "guest.memory_mib": _set("guest", "memory_mib", 4096),
    "guest.machine": _set("guest", "machine", "microvm"),
    "guest.accelerator": _set("guest", "accelerator", "kvm"),
    "guest.kernel_arguments": _set("guest", "kernel_arguments", ["mitigations=off"]),
    "guest.root_file_system": _set("guest", "root_file_system", "virtiofs"),
    "guest.pin": _set("guest", "pin", [2, 3]),
    "host.cpu.model_name": _set("host", "cpu", "model_name", "AMD EPYC 7763"),
    "host.cpu.microcode": _set("host", "cpu", "microcode", ["0xa0011d5"]),
    "host.kernel.release": _set("host", "kernel", "release", "6.18.0"),
    "host.kernel.command_line": _set("host", "kernel", "command_line", "isolcpus=2-3"),
    "host.programs.qemu": _set("host", "programs", "qemu", "10.1.0"),
    "host.smt": _set("host", "smt", "off"),
    "host.idle.driver": _set("host", "idle", "driver", "intel_idle"),
    "host.frequency.governors": _set("host", "frequency", "governors", ["performance"]),
    "host.memory.transparent_hugepage": _set("host", "memory", "transparent_hugepage", "always"),
    "host.numa.balancing": _set("host", "numa", "balancing", "1"),
    "host.clocksource": _set("host", "clocksource", "hpet"),
    "profile": _set("profile", "full"),
    "isolation": _set("isolation", "none"),
    "config": _set("arms", 1, "facts", "config", "c" * 64),
}


def planted(folder: Path, change: Callable[[Any], None]) -> Path:
    """The run with a difference in its record."""
    import shutil  # noqa: PLC0415 - of this helper alone

    shutil.copytree(RUN, folder)
    record = json.loads((folder / "run.json").read_text())
    change(record)
    (folder / "run.json").write_text(json.dumps(record))
    return folder


@pytest.mark.parametrize("name", PLANTED)
def test_each_planted_difference_is_named(tmp_path: Path, name: str) -> None:
    other = planted(tmp_path / "other", PLANTED[name])
    ended = run(f"{RUN}:base", f"{other}:head", "--varying", "kernel")
    assert ended.exit_code == 2, ended.output
    assert f" {name}: " in words(ended)


@pytest.mark.parametrize(
    "name", ["command_line", "bpf_jit_harden", "clocksource", "lsm", "randomize_va_space"]
)
def test_what_a_guest_says_of_itself_is_named_too(tmp_path: Path, name: str) -> None:
    other = planted(tmp_path / "other", lambda _: None)
    for path in (other / "boots").glob("*/environment.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), name: "another"}))
    ended = run(f"{RUN}:base", f"{other}:head", "--varying", "kernel")
    assert ended.exit_code == 2
    assert f"booted.{name}: " in words(ended)


def test_kernels_of_one_host_differ_in_their_kernel_alone() -> None:
    assert run(RUN, "--varying", "kernel").exit_code in (0, 1)
    refused = run(RUN, "--varying", "config")
    assert refused.exit_code == 2
    assert "kernel: commit f95f0ea68aba" in words(refused)


def test_modes_are_never_compared(tmp_path: Path) -> None:
    other = planted(tmp_path / "other", _set("mode", "walltime"))
    assert "different modes" in words(run(f"{RUN}:base", f"{other}:head", "--varying", "kernel,mode"))


@pytest.mark.parametrize("platform", ["amd-rome", None])
@pytest.mark.parametrize("varying", [(), ("--varying", "kernel,platform,guest.accelerator")])
def test_a_rehearsal_is_never_compared_with_hardware(
    tmp_path: Path, platform: str | None, varying: tuple[str, ...]
) -> None:
    """Nor with what may be hardware: a file that names no platform."""
    lines = ["mode: walltime", *([f"platform: {platform}"] if platform else [])]
    value = "BenchmarkLookup 1000 100 ns/op"
    (tmp_path / "rehearsal.txt").write_text(f"mode: walltime\nplatform: rehearsal-x86-64\n{value}\n")
    (tmp_path / "hardware.txt").write_text("\n".join([*lines, value, ""]))
    for sides in (("rehearsal.txt", "hardware.txt"), ("hardware.txt", "rehearsal.txt")):
        refused = run(*(tmp_path / side for side in sides), *varying)

        assert refused.exit_code == 2, refused.output
        assert "one side is a rehearsal and the other is not" in words(refused)


def test_an_imported_rehearsal_keeps_its_warning(tmp_path: Path) -> None:
    file = tmp_path / "rehearsal.txt"
    file.write_text("mode: walltime\nplatform: rehearsal-x86-64\nBenchmarkLookup 1000 100 ns/op\n")

    assert words(run(file, file)).count("This is a rehearsal: QEMU emulated the processor") == 1
