"""Kernels and benches are named by their content, built once, and isolated while they are built."""

import multiprocessing
from pathlib import Path

import pytest
from toy import FAKELINUX, change, git, request, run_toy

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run
from cliffwatch_runner.build.cache.entries import Stopped, hold_lock
from cliffwatch_runner.build.errors import failure_of, first_error
from cliffwatch_runner.build.kernel_config import Fragments, check_config, parse_config, read_fragments
from cliffwatch_runner.build.toolchain import ToolChoice, find_toolchain, needs_of
from cliffwatch_runner.sandbox.isolation import isolation_sentence
from cliffwatch_runner.sandbox.namespaces import bubblewrap_refusal
from cliffwatch_runner.sandbox.sandbox import Mount, Sandbox
from cliffwatch_runner.source.revision import Revision
from cliffwatch_runner.source.tree import Tree, open_mirror, open_tree

pytestmark = pytest.mark.usefixtures("stand_in")


def _run(repository: Path, folder: Path, out: str) -> None:
    run_toy(request(repository, folder, out=folder / out))


@pytest.mark.namespaces
def test_two_runs_at_once_build_a_kernel_once(repository: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=_run, args=(repository, tmp_path, out)) for out in ("one", "two")]
    for process in both:
        process.start()
    for process in both:
        process.join()

    assert [process.exitcode for process in both] == [0, 0]
    (worktree,) = (tmp_path / "cache" / "worktrees").iterdir()
    assert (worktree / "output" / "builds").read_text() == "built\n"


def test_commits_with_the_same_tree_share_a_kernel(repository: Path, tmp_path: Path) -> None:
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "Change nothing")
    run = run_toy(request(repository, tmp_path))

    assert isinstance(run, Run)
    assert run.arms["base"].facts["kernel"] == run.arms["head"].facts["kernel"]
    assert run.arms["base"].facts["commit"] != run.arms["head"].facts["commit"]


def test_half_a_file_of_a_killed_build_is_not_taken_for_a_whole_one(repository: Path, tmp_path: Path) -> None:
    assert isinstance(run_toy(request(repository, tmp_path)), Run)
    (worktree,) = (tmp_path / "cache" / "worktrees").glob("*/output")
    # As a killed build leaves it: begun, and a file that is newer than its source and no object.
    (worktree.parent / "unfinished").touch()
    (worktree / "main.o").write_text("half")
    change(repository, "behaviour", (repository / "behaviour").read_text() + "\n", "Build again")

    run = run_toy(request(repository, tmp_path, out=tmp_path / "again"))
    assert isinstance(run, Run)
    assert "kernel" in run.arms["head"].facts
    assert not (worktree.parent / "unfinished").exists()


def test_a_build_of_anybodys_tree_leaves_no_worktree_and_no_ccache(repository: Path, tmp_path: Path) -> None:
    assert isinstance(run_toy(request(repository, tmp_path, trust="outside")), Run)

    assert list((tmp_path / "cache" / "worktrees").iterdir()) == []
    assert not (tmp_path / "cache" / "ccaches").exists()


def test_each_trust_has_its_own_worktree_ccache_and_kernels(repository: Path, tmp_path: Path) -> None:
    names = set()
    for trust in ("local", "followed", "outside"):
        run = run_toy(request(repository, tmp_path, trust=trust, out=tmp_path / trust))
        assert isinstance(run, Run)
        names.add(run.arms["base"].facts["kernel"])

    assert len(names) == 3
    assert len(list((tmp_path / "cache" / "worktrees").iterdir())) == 2
    assert {path.name for path in (tmp_path / "cache" / "ccaches").iterdir()} == {"local", "followed"}


@pytest.mark.namespaces
def test_a_build_has_no_network_no_home_and_no_secret(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_text("hunter2")
    spy = (
        f"\t@{{ env; cat {tmp_path}/home/key; ls /root /home; cat /proc/net/dev /etc/shadow; }} > $(O)/seen"
        " 2>&1 || true\n"
    )
    makefile = (repository / "Makefile").read_text().replace("bzImage:\n", f"bzImage:\n{spy}")
    change(repository, "Makefile", makefile, "Look around")
    assert isinstance(run_toy(request(repository, tmp_path)), Run)

    (seen,) = (tmp_path / "cache" / "worktrees").glob("*/output/seen")
    text = seen.read_text()
    assert "hunter2" not in text
    assert "key: No such file or directory" in text
    assert "/etc/shadow: No such file or directory" in text
    interfaces = [
        line.split(":")[0].strip() for line in text.splitlines() if line.count(":") == 1 and line[:1] == " "
    ]
    assert set(interfaces) <= {"lo"}


@pytest.mark.namespaces
def test_the_strongest_isolation_is_found_by_trying() -> None:
    assert bubblewrap_refusal() is None
    assert "WITHOUT isolation" in isolation_sentence("none")


def test_a_container_image_brings_its_own_tools(tmp_path: Path) -> None:
    sandbox = Sandbox(level="container", user=None, image="kernels:7")
    mounts = [
        Mount(source=tmp_path / "out", target=Path("/out"), writable=True),
        Mount(source=tmp_path / "g", target=Path("/given")),
    ]
    argv = sandbox.argv(
        ["make", "bzImage"], env={"MAKEFLAGS": "-j4", "PATH": "/bin"}, mounts=mounts, workdir=Path("/out")
    )

    assert argv[:3] == ["docker", "run", "--rm"]
    assert argv[argv.index("--network") + 1] == "none"
    assert argv[argv.index("--cap-drop") + 1] == "ALL"
    assert argv[-3:] == ["kernels:7", "make", "bzImage"]
    assert f"{tmp_path / 'g'}:/given:ro" in argv
    assert f"{tmp_path / 'out'}:/out" in argv
    assert "MAKEFLAGS=-j4" in argv
    assert not any(word.startswith("PATH=") for word in argv)


GCC = """\
  CC      kernel/bpf/core.o
In file included from ./include/linux/bpf.h:12,
                 from kernel/bpf/core.c:3:
./include/linux/bpf_local_storage.h: In function 'bpf_local_storage_lookup':
./include/linux/bpf_local_storage.h:140:9: error: 'x' undeclared (first use in this function)
  140 |  return x;
      |         ^
  CC      kernel/fork.o
make[3]: *** [scripts/Makefile.build:229: kernel/bpf/core.o] Error 1
"""


def test_the_first_error_of_a_compiler_comes_with_its_lines() -> None:
    lines = first_error(GCC).splitlines()

    assert lines[0].startswith("In file included from")
    assert lines[3].endswith("error: 'x' undeclared (first use in this function)")
    assert lines[-1].strip() == "|         ^"


@pytest.mark.parametrize(
    ("log", "evidence"),
    [
        (
            (
                "ld: kernel/fork.o: in function `f':\nfork.c:(.text+0x1): undefined reference to `g'\nmake:"
                " *** [vmlinux] Error 1\n"
            ),
            "undefined reference to `g'",
        ),
        (
            "FAILED: load BTF from vmlinux: Invalid argument\nmake: *** [vmlinux] Error 255\n",
            "FAILED: load BTF",
        ),
        ("make[1]: *** No rule to make target 'bzImage'.  Stop.\n", "No rule to make target"),
        ("", ""),
    ],
)
def test_linkers_btf_and_make_have_errors_too(log: str, evidence: str) -> None:
    assert evidence in first_error(log)


def test_a_full_disk_is_the_hosts_failure_and_not_the_trees() -> None:
    assert failure_of("fatal error: error writing to /tmp/x.s: No space left on device\n").whose == "host"
    assert failure_of("gcc: fatal error: Killed signal terminated program cc1\n").whose == "host"
    assert failure_of(GCC).whose == "kernel"


@pytest.mark.parametrize(
    "line",
    [
        "make[3]: cpio: No such file or directory",
        "/bin/sh: 1: cpio: not found",
        "bash: line 7: cpio: command not found",
    ],
)
def test_a_program_that_the_host_lacks_is_named(line: str) -> None:
    failure = failure_of(
        f"  GEN     kernel/kheaders_data.tar.xz\n{line}\nmake[2]: *** [Makefile:7: x] Error 127\n"
    )

    assert failure.message == "it does not build: there is no program cpio here"
    assert failure.next_step.startswith("install cpio")
    assert line in failure.evidence


def test_a_script_of_the_tree_that_is_missing_is_the_trees_fault() -> None:
    log = "make: ./scripts/sorted: No such file or directory\nmake: *** [Makefile:7: x] Error 127\n"

    assert failure_of(log).next_step == "fix the tree"


def test_a_wanted_symbol_that_came_out_otherwise_is_told() -> None:
    fragments = read_fragments((), ())
    assert not isinstance(fragments, Failure)
    made = fragments.text.replace("CONFIG_HZ_1000=y", "# CONFIG_HZ_1000 is not set")

    failure, notes = check_config(fragments.wanted, made)
    assert failure is None
    assert notes == ("CONFIG_HZ_1000 is n, not y",)


def test_what_a_suite_needs_is_in_its_kernels_alone_and_in_any_order() -> None:
    suites = {suite.name: suite for suite in load_catalogue().suites}
    plain = read_fragments([suites["local-storage"]], ())
    both = read_fragments([suites["crypto"], suites["local-storage-create"]], ())
    other_order = read_fragments([suites["local-storage-create"], suites["crypto"]], ())
    assert isinstance(plain, Fragments)
    assert isinstance(both, Fragments)

    assert "CONFIG_IPV6" not in plain.wanted
    assert (both.wanted["CONFIG_IPV6"], both.wanted["CONFIG_CRYPTO_AES"]) == ("y", "y")
    assert both == other_order


def test_btf_that_was_dropped_points_to_pahole() -> None:
    fragments = read_fragments((), ())
    assert not isinstance(fragments, Failure)
    failure, _ = check_config(fragments.wanted, fragments.text.replace("CONFIG_DEBUG_INFO_BTF=y\n", ""))

    assert failure is not None
    assert "pahole is missing or too old" in failure.next_step


def test_a_config_is_read_whatever_is_in_it() -> None:
    assert parse_config('CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="x=y"\njunk\n') == {
        "CONFIG_A": "y",
        "CONFIG_B": "n",
        "CONFIG_C": '"x=y"',
    }


def test_what_a_tree_needs_is_read_from_the_tree(repository: Path, tmp_path: Path) -> None:
    script = (
        '#!/bin/sh\ncase "$1" in\ngcc)\n\tif [ "$ARCH" = parisc64 ]; then\n\t\techo 12.0.0\n\telse\n\t\techo'
        " 5.1.0\n\tfi\n\t;;\nllvm)\n\techo 13.0.1\n\t;;\nesac\n"
    )
    change(repository, "scripts/min-tool-version.sh", script, "Say what is needed")
    tree = open_tree(str(repository), tmp_path / "cache", "own")
    assert isinstance(tree, Tree)
    revision = tree.resolve("HEAD")
    assert isinstance(revision, Revision)

    found = {(name, version) for name, version, _ in needs_of(tree.mirror, revision).versions}
    assert found == {("pahole", (1, 22)), ("gcc", (5, 1, 0)), ("clang", (13, 0, 1))}


def test_all_missing_tools_are_told_at_once() -> None:
    missing = find_toolchain(
        ToolChoice(cc="no-gcc", clang="no-clang-7", pahole="no-pahole", build_image=None)
    )

    assert isinstance(missing, tuple)
    assert {"no-gcc is missing", "no-clang-7 is missing", "no-pahole is missing"} <= {
        each.message for each in missing
    }


def test_a_tool_that_is_there_and_does_not_run_is_not_told_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is an older clang taken for it, nor the plain name that nobody installed."""
    for name in ("clang-30", "llc-30", "llvm-strip-30"):
        tool = tmp_path / name
        tool.write_text("#!/bin/sh\necho 'cannot map its libraries' >&2\nexit 127\n")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    missing = find_toolchain(ToolChoice(cc=None, clang=None, pahole=None, build_image=None))

    assert isinstance(missing, tuple)
    broken = {each.message: each.evidence for each in missing if "-30" in each.message}
    assert "clang-30 is installed, but `clang-30 --version` fails with status 127" in broken
    assert len(broken) == 3
    assert all("cannot map its libraries" in each for each in broken.values())


def test_a_compiler_named_by_a_relative_path_is_found_from_any_folder_with_the_tools_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "llvm" / "bin"
    folder.mkdir(parents=True)
    for name in ("clang-30", "llc-30", "llvm-strip-30"):
        (folder / name).write_text("#!/bin/sh\necho clang version 30.1.0\n")
        (folder / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)

    found = find_toolchain(ToolChoice(cc=None, clang="llvm/bin/clang-30", pahole=None, build_image=None))

    assert not isinstance(found, tuple), found
    assert [tool.program for tool in (found.clang, found.llc, found.llvm_strip)] == [
        str(folder / name) for name in ("clang-30", "llc-30", "llvm-strip-30")
    ]


def test_an_import_of_the_same_content_is_the_same_commit(tmp_path: Path) -> None:
    one, two = (open_tree(str(FAKELINUX), tmp_path / name, "own") for name in ("one", "two"))
    assert isinstance(one, Tree)
    assert isinstance(two, Tree)

    assert one.location == two.location


def test_a_url_is_fetched_by_branch_tag_or_whole_hash(repository: Path, tmp_path: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    url = f"file://{repository}"
    tree = Tree(spec=url, kind="url", location=url, mirror=open_mirror(tmp_path / "mirror.git"), access="own")

    for name in ("master", "v6.12"):
        revision = tree.resolve(name)
        assert isinstance(revision, Revision)
        assert revision.commit == commit
    short = tree.resolve(commit[:9])
    assert isinstance(short, Failure)
    assert "whole hashes" in short.next_step


def test_who_waits_for_a_lock_says_so_and_can_be_stopped(tmp_path: Path) -> None:
    waits: list[str] = []

    def not_at_all() -> None:
        raise AssertionError("nobody holds it")

    with (
        hold_lock(tmp_path / "lock", waiting=not_at_all, should_stop=lambda: True),
        pytest.raises(Stopped),
        hold_lock(tmp_path / "lock", waiting=lambda: waits.append("w"), should_stop=lambda: True),
    ):
        pass
    with hold_lock(tmp_path / "lock", waiting=not_at_all, should_stop=lambda: True):
        pass

    assert waits == ["w"]


@pytest.mark.namespaces
@pytest.mark.parametrize("where", ["the source", "a common header"])
def test_a_binary_file_that_a_source_pulls_in_is_never_that_of_an_older_build(
    repository: Path, tmp_path: Path, where: str
) -> None:
    """In depend mode ccache knows a source by its headers alone, and would miss another file
    behind .incbin.
    """
    header = repository / "include/uapi/linux/bpf.h"
    pull_in = 'asm(".section .rodata\\n.incbin \\"blob\\"\\n");'
    if where == "a common header":
        header.write_text(f"{header.read_text()}\n#define PULL_IN {pull_in}\n")
        pull_in = "PULL_IN"
    core = (
        '#include "../../include/uapi/linux/bpf.h"\n'
        + pull_in
        + "\nint bpf_prog_run(void)\n{\n\treturn 42;\n}\n"
    )
    (repository / "kernel/bpf/core.c").write_text(core)
    makefile = (repository / "Makefile").read_text().replace("$(CC) -c", "$(CC) -Wp,-MMD,$(O)/core.d -c")
    change(repository, "Makefile", makefile, "Say what a source depends on, as kernels do")

    for content in ("first", "other"):
        change(repository, "blob", f"{content} content\n", f"Pull in the {content}")
        assert isinstance(run_toy(request(repository, tmp_path, base="HEAD", out=tmp_path / content)), Run)
        (worktree,) = (tmp_path / "cache" / "worktrees").iterdir()
        assert f"{content} content".encode() in (worktree / "output/core.o").read_bytes()
