"""On a host that makes no namespaces a tree's code runs only on the user's word, and the results say so."""

import os
import pty
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

TOY_RUN = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/runner"]
import toy
from cliffwatch_runner.run import build, measure, prepare
measure.guest_programs = lambda: (toy.FAKEVNG,)
prepare.guest_programs = measure.guest_programs
build._NEEDED_BYTES = 0
folder = Path(sys.argv[2])
ended = toy.run_toy(toy.request(toy.toy_repository(folder), folder, isolation=sys.argv[3]))
if isinstance(ended, tuple):
    print("refused:", ended[0].message, "|", ended[0].next_step)
else:
    print("measured:", ended.record.status, "|", ended.record.isolation)
"""

WITHOUT_NAMESPACES = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'


def in_a_namespace_without_namespaces(*command: str) -> list[str]:
    """Namespaces switched off in a namespace of the test's own, as a hardened host switches them
    off for all.
    """
    return ["unshare", "--user", "--map-root-user", "sh", "-c", WITHOUT_NAMESPACES, "sh", *command]


def without_isolation_of_tests() -> dict[str, str]:
    """These runs choose theirs, and `make test ISOLATION=none` is about all others."""
    return {name: value for name, value in os.environ.items() if name != "ISOLATION"}


def toy_run(folder: Path, isolation: str, prefix: list[str]) -> str:
    argv = [*prefix, sys.executable, "-c", TOY_RUN, str(TESTS), str(folder), isolation]
    ended = subprocess.run(
        argv, check=False, capture_output=True, text=True, env=without_isolation_of_tests()
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.namespaces
def test_without_namespaces_a_run_ends_before_anything_is_built_and_says_what_to_do(tmp_path: Path) -> None:
    text = toy_run(tmp_path, "auto", in_a_namespace_without_namespaces())

    assert text.startswith(
        "refused: a setting of the kernel (user.max_user_namespaces=0) lets bubblewrap make no namesp"
    )
    assert "`echo user.max_user_namespaces=10000 | sudo tee" in text
    assert "--isolation none" in text
    assert not (tmp_path / "cache" / "worktrees").exists()


@pytest.mark.namespaces
def test_on_the_users_word_it_builds_and_boots_without_and_the_record_says_so(tmp_path: Path) -> None:
    text = toy_run(tmp_path, "none", in_a_namespace_without_namespaces())

    assert (
        text
        == "measured: complete | built and booted WITHOUT isolation, with your files and the network in reach"
        " (--isolation none)"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
def test_root_without_namespaces_still_runs_no_tree_as_root(tmp_path: Path) -> None:
    """As in a container: root, but without the right to mount. Its home is closed to others, and so is what
    lies in it.
    """
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    prefix = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--"]

    assert toy_run(tmp_path, "auto", prefix).startswith(
        "refused: this host lets bubblewrap make no namespaces"
    )
    text = toy_run(closed, "none", prefix)
    assert "does not run as root" in text
    assert "run cliffwatch as an ordinary user" in text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
def test_where_another_user_gets_to_the_folders_root_builds_as_that_user(open_folder: Path) -> None:
    tests = open_folder / "tests"
    shutil.copytree(TESTS, tests, ignore=shutil.ignore_patterns("data", "__pycache__", "service", "stats"))
    prefix = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--"]
    makefile = tests / "fakelinux" / "Makefile"
    makefile.write_text(makefile.read_text() + "\t@id -u > $(O)/user\n")
    argv = [*prefix, sys.executable, "-c", TOY_RUN, str(tests), str(open_folder), "none"]

    ended = subprocess.run(
        argv, check=False, capture_output=True, text=True, env=without_isolation_of_tests()
    )

    assert "measured: complete | built and booted WITHOUT isolation" in ended.stdout, (
        ended.stdout + ended.stderr
    )
    (user,) = (open_folder / "cache" / "worktrees").glob("*/source/.cliffwatch/user")
    assert user.read_text().strip() not in ("", "0")


TOKEN = """
import os, subprocess
from pathlib import Path
from cliffwatch.command.secret import read_token
token = read_token(None)
children = subprocess.run(["cat", f"/proc/{os.getpid()}/environ"], check=True, capture_output=True).stdout
assert b"hunter2" not in Path("/proc/self/environ").read_bytes() + children
assert "CLIFFWATCH_TOKEN" not in os.environ
print(token)
"""


def test_a_token_is_gone_from_the_environment_of_the_process_that_read_it() -> None:
    env = {**os.environ, "CLIFFWATCH_TOKEN": "hunter2"}

    ended = subprocess.run([sys.executable, "-c", TOKEN], check=True, capture_output=True, text=True, env=env)

    assert ended.stdout == "hunter2\n"


AT_A_TERMINAL = """
import sys
from pathlib import Path
from cliffwatch_runner import process
from cliffwatch_runner.sandbox.isolation import choose_sandbox
sandbox = choose_sandbox("auto", None)
tries = "echo typed > /dev/tty; echo typed > /proc/self/fd/0; setsid true || echo no session; ls /dev/pts /dev/console"
argv = sandbox.argv(["sh", "-c", tries], env={"PATH": "/usr/bin"}, mounts=(), workdir=Path("/tmp"), own_session=False)
done = process.run(argv, deadline=60, env=sandbox.process_input(), own_session=not sandbox.shares_session)
Path(sys.argv[1]).write_text(done.output)
print("ended")
"""


@pytest.mark.namespaces
def test_a_build_in_the_callers_session_gets_neither_to_his_terminal_nor_into_a_session_of_its_own(
    tmp_path: Path,
) -> None:
    output = tmp_path / "output"
    number, terminal = pty.fork()
    if number == 0:
        os.execv(sys.executable, [sys.executable, "-c", AT_A_TERMINAL, str(output)])
    shown = b""
    with suppress(OSError):  # the end of a terminal
        while piece := os.read(terminal, 4096):
            shown += piece
    os.close(terminal)

    assert os.waitpid(number, 0)[1] == 0, shown
    assert shown.split() == [b"ended"]
    tried = output.read_text()
    assert "setsid failed: Operation not permitted\nno session" in tried
    assert "/dev/pts:\nptmx\n" in tried
    assert "cannot access '/dev/console'" in tried
