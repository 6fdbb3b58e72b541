"""A tree tries to get out of its build: it reaches nothing of the host, stops nothing, and what it did is a
recorded outcome.

The links are not listed: each file that the host takes from a build is replaced by each thing that could
stand in its place.
"""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import toy
from toy import change, request, run_toy

from cliffwatch.formats.result_directory import Run
from cliffwatch_runner.build import kernel
from cliffwatch_runner.build.cache.listing import list_cache
from cliffwatch_runner.build.outputs import Output
from cliffwatch_runner.build.selftests import bench
from cliffwatch_runner.run import build, measure
from cliffwatch_runner.run import run as running
from cliffwatch_runner.sandbox.untrusted_files import UntrustedFolder

pytestmark = [pytest.mark.timeout(120), pytest.mark.namespaces]

SECRET = "the-secret-of-the-host"
BENCH_MAKEFILE = "tools/testing/selftests/bpf/Makefile"
BENCH_SOURCE = "tools/testing/selftests/bpf/bench.c"
OUTPUTS = (*kernel.OUTPUTS, *bench.OUTPUTS)

INSTEAD = {
    "a link to a file": "ln -s {secret} {path}",
    "a link to nothing": "ln -s {secret}.new {path}",
    "a link to a device": "ln -s /dev/zero {path}",
    "a pipe": "mkfifo {path}",
    "a folder": "mkdir -p {path}/below",
    "a huge file": "truncate --size=10G {path}",
    "nothing": "true",
}


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "guest_programs", lambda: (toy.FAKEVNG,))
    monkeypatch.setattr(build, "_NEEDED_BYTES", 0)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return toy.toy_repository(tmp_path)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(SECRET)
    path.chmod(0o600)
    return path


def after(repository: Path, target: str, *commands: str) -> None:
    """The tree's `target` does this besides, once it has made what it is to make."""
    file = repository / ("Makefile" if target != "bench" else BENCH_MAKEFILE)
    lines = file.read_text().splitlines()
    rule = {"bench": "$(OUTPUT)/bench:", "allnoconfig": "allnoconfig:", "bzImage": "bzImage:"}[target]
    start = next(number for number, line in enumerate(lines) if line.startswith(rule))
    end = next(
        (number for number in range(start + 1, len(lines)) if not lines[number].startswith("\t")), len(lines)
    )
    lines[end:end] = [f"\t{command.replace('$', '$$')}" for command in commands]
    change(repository, str(file.relative_to(repository)), "\n".join(lines) + "\n", f"Do more in {target}")


def worktree(tmp_path: Path) -> Path:
    (only,) = (tmp_path / "cache" / "worktrees").iterdir()
    return only


def seen(tmp_path: Path) -> str:
    return (worktree(tmp_path) / "output" / "seen").read_text()


def texts(*folders: Path) -> Iterator[tuple[Path, bytes]]:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 26:
                yield path, path.read_bytes()


def assert_kept(secret: Path, tmp_path: Path) -> None:
    """Nothing of the host is changed, and its secret is nowhere where somebody could read it."""
    assert secret.read_text() == SECRET
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert not secret.with_name("secret.new").exists()
    shown = [tmp_path / "cache" / name for name in ("kernels", "benches", "failures")] + [
        tmp_path / "results"
    ]
    assert [path for path, content in texts(*shown) if SECRET.encode() in content] == []


@contextmanager
def opened_paths() -> Iterator[list[str]]:
    """Every path that this process opens by its name from the root, whoever opens it."""
    _OPENED.append([])
    try:
        yield _OPENED[-1]
    finally:
        _OPENED.pop()


_OPENED: list[list[str]] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if _OPENED and event in (
        "open",
        "os.listdir",
        "os.scandir",
        "shutil.copyfile",
        "os.chmod",
        "os.rename",
        "os.remove",
    ):
        _OPENED[-1] += [str(each) for each in arguments[:2] if isinstance(each, str | os.PathLike)]


sys.addaudithook(_note)


def replace_output(repository: Path, output: Output, instead: str, secret: Path) -> None:
    """The tree's build leaves something else where one of its outputs belongs."""
    of_bench = output in bench.OUTPUTS
    path = f"$(O)/{output.path}"
    after(
        repository,
        "bench" if of_bench else "bzImage",
        f"rm -rf {path}",
        instead.format(secret=secret, path=path),
    )
    makefile = BENCH_MAKEFILE if of_bench else "Makefile"
    change(
        repository,
        makefile,
        (repository / makefile).read_text().replace("$$(O)", "$(O)"),
        "As make writes it",
    )


def test_the_host_opens_nothing_of_a_build_but_its_outputs(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a build could have written is its output folder and its ccache: nobody opens a path into them, and
    one module a file.
    """
    taken: list[str] = []
    plain = UntrustedFolder._opened

    def noted(self: UntrustedFolder, name: str, **more: Any) -> object:
        if self.mount_source.is_relative_to(tmp_path / "cache"):  # the repository is another one
            taken.append(name)
        return plain(self, name, **more)

    monkeypatch.setattr(UntrustedFolder, "_opened", noted)
    with opened_paths() as opened:
        assert isinstance(run_toy(request(repository, tmp_path)), Run)

    assert set(taken) == {output.path for output in OUTPUTS}
    written = (str(worktree(tmp_path) / "output"), str(tmp_path / "cache" / "ccaches" / "local" / "files"))
    assert len(opened) > 100
    assert [path for path in opened if path.startswith(tuple(f"{folder}/" for folder in written))] == []


def test_only_the_sandbox_learns_where_a_builds_output_lies() -> None:
    """The contract behind it: who has no path opens none."""
    sources = Path(running.__file__).parents[1].rglob("*.py")
    assert {path.name for path in sources if "mount_source" in path.read_text()} == {
        "untrusted_files.py",
        "worktree.py",
    }


@pytest.mark.parametrize("instead", INSTEAD)
@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: output.name)
def test_whatever_stands_in_the_place_of_an_output_is_taken_as_no_file(
    repository: Path, tmp_path: Path, secret: Path, output: Output, instead: str
) -> None:
    of_bench = output in bench.OUTPUTS
    replace_output(repository, output, INSTEAD[instead], secret)

    ended = run_toy(request(repository, tmp_path))

    assert_kept(secret, tmp_path)
    assert isinstance(ended, Run)
    if output.name == "bench":
        assert any("bench is from base" in note for note in ended.record.notes)
    if not of_bench:
        # What our own steps make anew is as good as ever; what the tree's have replaced is its failure.
        failure = ended.record.arm_by_name["head"].failure
        assert (failure is None) == (output.name == "btf"), failure
        assert failure is None or failure.whose == "kernel"


@pytest.mark.parametrize("instead", ["a link to a file", "a folder"])
def test_what_stands_in_the_place_of_an_output_is_in_no_other_trees_way(
    repository: Path, tmp_path: Path, secret: Path, instead: str
) -> None:
    (symbols,) = (output for output in OUTPUTS if output.name == "System.map")
    replace_output(repository, symbols, INSTEAD[instead], secret)
    hostile = run_toy(request(repository, tmp_path))
    toy.git(repository, "checkout", "--quiet", "v6.12")
    change(repository, "kernel/bpf/core.c", "int bpf_prog_run(void)\n{\n\treturn 7;\n}\n", "Return seven")

    honest = run_toy(request(repository, tmp_path, out=tmp_path / "honest"))

    assert isinstance(hostile, Run)
    assert "System.map in its output is" in hostile.record.arm_by_name["head"].failure.message
    assert isinstance(honest, Run)
    assert honest.record.arm_by_name["head"].failure is None


def test_a_build_that_writes_into_its_source_gets_a_copy_of_it(
    repository: Path, tmp_path: Path, secret: Path
) -> None:
    victim = tmp_path / "home"
    victim.mkdir()
    victim.chmod(0o777)
    after(
        repository,
        "allnoconfig",
        "touch made-by-the-build",
        f"rm -rf kernel && ln -s {victim} kernel && mkdir -p kernel",
    )
    head = change(
        repository,
        "kernel/bpf/core.c",
        "int bpf_prog_run(void)\n{\n\treturn 7;\n}\n",
        "Change a file behind the link",
    )

    run_toy(request(repository, tmp_path, head=head))
    assert isinstance(run_toy(request(repository, tmp_path, head="v6.12", out=tmp_path / "again")), Run)

    assert list(victim.iterdir()) == []
    assert not (worktree(tmp_path) / "source" / "made-by-the-build").exists()
    assert (worktree(tmp_path) / "source" / "kernel" / "bpf" / "core.c").is_file()
    assert list(worktree(tmp_path).glob("scratch-*")) == []


def test_a_tree_that_only_notes_something_in_its_source_is_measured(repository: Path, tmp_path: Path) -> None:
    after(repository, "allnoconfig", "date > generated-by-make")

    run = run_toy(request(repository, tmp_path))

    assert isinstance(run, Run)
    assert run.record.arm_by_name["head"].failure is None


def test_a_tree_with_a_name_of_ours_is_refused(repository: Path, tmp_path: Path, secret: Path) -> None:
    (repository / ".cliffwatch").symlink_to(secret.parent)
    change(repository, "behaviour", "good\n", "Take the output's place")

    run = run_toy(request(repository, tmp_path))

    assert isinstance(run, Run)
    assert "has a .cliffwatch of its own" in run.record.arm_by_name["head"].failure.message
    assert_kept(secret, tmp_path)


LOOK = """\
{ id -u; grep -E 'CapEff|NoNewPrivs' /proc/self/status; cat /proc/1/environ /proc/self/environ | tr '\\0' '\\n';
for file in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /proc/sysrq-trigger /sys/kernel/uevent_helper; do
  (: >> $file) 2> /dev/null && echo WRITABLE $file; done;
find / -xdev -writable ! -type l ! -path '/proc/*' 2> /dev/null | sed 's/^/writable /'; echo looked; } > seen.txt 2>&1
"""


def test_a_build_is_nobody_and_writes_its_output_ccache_and_memory_alone(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLIFFWATCH_TOKEN", SECRET)
    (repository / "look.sh").write_text(LOOK.replace("seen.txt", '"$1"'))
    after(repository, "bzImage", "sh look.sh .cliffwatch/seen; true")

    assert isinstance(run_toy(request(repository, tmp_path)), Run)

    text = seen(tmp_path)
    lines = text.splitlines()
    assert lines[-1] == "looked"
    assert lines[0] != "0"
    assert "CapEff:\t0000000000000000" in lines
    assert "NoNewPrivs:\t1" in lines
    assert SECRET not in text
    assert not [line for line in lines if line.startswith("WRITABLE")]
    writable = {line.split(" ", 1)[1] for line in lines if line.startswith("writable ")}
    allowed = ("/cliffwatch/tree/src/.cliffwatch", "/cliffwatch/ccache", "/tmp", "/dev")
    assert {path for path in writable if not path.startswith(allowed)} == set()


SWAPPER = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A bench that changes what lies beside it when it is asked for its list. */
int main(int argc, char **argv)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[length] = 0;
	*strrchr(path, '/') = 0;
	if (!chdir(path) && !chdir("..") && !remove("fixed_seed.so"))
		puts("removed");
	if (!symlink("SECRET", "fixed_seed.so") || !symlink("SECRET", "bench/list"))
		puts("linked");
	puts("Available benchmarks:\\n- local-storage-cache-seq-get\\n- local-storage-cache-int-get");
	puts("- local-storage-cache-hashmap-control");
	return 0;
}
"""


def test_a_bench_that_is_asked_for_its_list_changes_nothing(
    repository: Path, tmp_path: Path, secret: Path
) -> None:
    change(repository, BENCH_SOURCE, SWAPPER.replace("SECRET", str(secret)), "Swap what lies beside me")

    run = run_toy(request(repository, tmp_path))

    assert isinstance(run, Run)
    assert_kept(secret, tmp_path)
    (entry,) = (tmp_path / "cache" / "benches").iterdir()
    assert (entry / "fixed_seed.so").read_bytes()[:4] == b"\x7fELF"
    assert (worktree(tmp_path) / "output" / "fixed_seed.so").is_file()


def test_a_log_without_end_is_kept_in_part_and_the_error_at_its_end_is_shown(
    repository: Path, tmp_path: Path
) -> None:
    after(
        repository,
        "bzImage",
        "yes | head -c 200000000",
        "echo 'kernel/fork.c:1:1: error: at the very end'; false",
    )

    run = run_toy(request(repository, tmp_path))

    assert isinstance(run, Run)
    assert "at the very end" in run.record.arm_by_name["head"].failure.evidence
    assert (worktree(tmp_path) / "build.log").stat().st_size < 20 << 20
    assert all(path.stat().st_size < 20 << 20 for path in (tmp_path / "cache" / "failures").iterdir())


DEEP = "python3 -c \"import os; [(os.mkdir('d'), os.chdir('d')) for _ in range(3000)]\""


@pytest.mark.parametrize("trust", ["local", "outside"])
def test_folders_deeper_than_any_path_are_counted_and_removed(
    repository: Path, tmp_path: Path, trust: str
) -> None:
    after(
        repository,
        "bzImage",
        f"cd .cliffwatch && {DEEP}",
        "mkdir .cliffwatch/shut && touch .cliffwatch/shut/x && chmod 0 .cliffwatch/shut",
    )

    assert isinstance(run_toy(request(repository, tmp_path, trust=trust)), Run)

    left = list_cache(tmp_path / "cache", ("worktree",)).entries
    assert [each.kind for each in left] == ([] if trust == "outside" else ["worktree"])
    assert all(each.bytes > 3000 * 4096 for each in left)
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "cliffwatch.command",
            "cache",
            "prune",
            "--keep",
            "0",
            "--cache",
            str(tmp_path / "cache"),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (
        not (tmp_path / "cache" / "worktrees").exists()
        or list((tmp_path / "cache" / "worktrees").iterdir()) == []
    )
