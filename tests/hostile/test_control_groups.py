"""Control groups of sandboxes: where they may be made, and that they go again."""

import subprocess
import sys
from pathlib import Path

import pytest
from bare_sandbox import needs_groups, needs_namespaces

from cliffwatch_runner import process
from cliffwatch_runner.sandbox import control_groups
from cliffwatch_runner.sandbox.control_groups import ControlGroup, make_group

MIB = 1 << 20


@needs_groups
def test_a_groups_folders_go_with_it() -> None:
    group = make_group(64 * MIB, 8)

    assert group is not None
    assert all(folder.is_dir() for folder in group.folders)
    group.remove()
    assert not any(folder.exists() for folder in group.folders)


@needs_groups
def test_groups_of_killed_runs_are_removed() -> None:
    group = make_group(64 * MIB, 8)
    assert group is not None
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = [folder.with_name(f"cliffwatch-{gone.pid}-dead") for folder in group.folders]
    for folder in left:
        folder.mkdir()

    after = make_group(64 * MIB, 8)

    assert after is not None
    assert not any(folder.exists() for folder in left)
    assert all(folder.exists() for folder in group.folders)
    group.remove()
    after.remove()


V1_READ_ONLY = """
import sys
from pathlib import Path
from cliffwatch_runner import clock
from cliffwatch_runner.sandbox.control_groups import ControlGroup, make_group
clock.pause = lambda seconds: sys.exit("waited for a folder that was never made")
assert make_group(1 << 26, 8, Path(sys.argv[1])) is None
"""


@needs_namespaces
def test_a_container_with_read_only_groups_waits_for_none_to_go(tmp_path: Path) -> None:
    """As Docker mounts version 1: every build would wait for forty seconds, since what is not there cannot be
    removed there either.
    """
    own = {"memory": tmp_path / "memory", "pids": tmp_path / "pids"}
    for folder in own.values():
        folder.mkdir()
    (tmp_path / "cgroup").write_text("".join(f"1:{name}:/\n" for name in own))
    (tmp_path / "mountinfo").write_text(
        "".join(f"1 1 0:1 / {own[name]} ro - cgroup cgroup ro,{name}\n" for name in own)
    )

    read_only = ["bwrap", "--ro-bind", "/", "/", "--", sys.executable, "-c", V1_READ_ONLY, str(tmp_path)]
    done = process.run(read_only, deadline=60.0)

    assert done.ok, done.output


V2 = "0::/system.slice/worker.service/main\n"
MOUNTS = "30 23 0:26 / {mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def test_a_delegated_service_makes_its_groups_beside_its_own(tmp_path: Path) -> None:
    """In v2 the group that a process is in hands down no controllers; systemd's DelegateSubgroup leaves the
    one above.
    """
    mount, proc = tmp_path / "cgroup", tmp_path / "proc"
    own = mount / "system.slice/worker.service/main"
    own.mkdir(parents=True)
    proc.mkdir()
    (proc / "cgroup").write_text(V2)
    (proc / "mountinfo").write_text(MOUNTS.format(mount=mount))
    for group, controllers in ((own, ""), (own.parent, "cpu memory pids")):
        (group / "cgroup.procs").touch()
        (group / "cgroup.subtree_control").write_text(controllers)
    (own / "cgroup.subtree_control").chmod(0o444)

    assert list(control_groups._parents(proc))[-1] == (own.parent, own.parent)


def test_a_session_that_may_write_to_no_group_makes_none(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(V2)
    (proc / "mountinfo").write_text(MOUNTS.format(mount=tmp_path / "absent"))

    assert make_group(64 * MIB, 8, proc) is None


@pytest.mark.parametrize(
    ("refused", "killed", "passed"),
    [(0, 0, None), (3, 0, "processes"), (0, 2, "memory"), (3, 2, "processes")],
)
def test_a_bomb_that_also_reaches_the_memory_limit_is_told_as_a_bomb(
    tmp_path: Path, refused: int, killed: int, passed: str | None
) -> None:
    """What a refused fork had allocated stays charged to the group for a while."""
    (tmp_path / "pids.events").write_text(f"max {refused}\n")
    (tmp_path / "memory.events").write_text(f"low 0\nmax 7\noom 2\noom_kill {killed}\n")

    assert ControlGroup(memory=tmp_path, pids=tmp_path).passed() == passed
