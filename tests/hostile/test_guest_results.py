"""A guest leaves anything at all in its results: it gets no secret of the host, stops nothing, and is a
recorded outcome.

The guest is a shell script here, which does in its folder what a real one can do through its share, and
more.
"""

import io
import json
import os
import shlex
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from guest_plan import PLAN

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch_runner.guest import boot as boot_module
from cliffwatch_runner.guest import files as guest_files
from cliffwatch_runner.guest.argv import GuestFolders, GuestShape
from cliffwatch_runner.guest.boot import ArmGuest, BootOrder, boot_guest
from cliffwatch_runner.guest.boot_end import BootEnd
from cliffwatch_runner.guest.files import escape_name, find_exceeded_limit
from cliffwatch_runner.guest.programs import GuestPrograms
from cliffwatch_runner.guest.watch import GuestLimits
from cliffwatch_runner.results.files import write_boot
from cliffwatch_runner.results.outcomes import PartEnd, case_name, read_case
from cliffwatch_runner.run.measure import _guest_case
from cliffwatch_runner.sandbox.sandbox import Sandbox
from cliffwatch_runner.sandbox.untrusted_files import remove_tree
from cliffwatch_runner.upload import result_directory

SECRET = "the-secret-of-the-host"
SHAPE = GuestShape(mode="icount", cpus=1, memory_mib=2048)

WELL = """
cd "$1"
mkdir guest cases
echo '==> /proc/version <==' > guest/facts
echo CONFIG_BPF=y > guest/config
echo kernel > guest/config-from
echo 'cpu 1 2 3' > guest/stat-after
echo bench > bench-list
: > bench-list.err
while read -r name _; do
  printf 'Summary: hits throughput    5.000 ± 0.000 M ops/s, hits latency  200.000 ns/op, important_hits throughput    0.000 ± 0.000 M ops/s\\n' > cases/$name.out
  : > cases/$name.err
  echo 0 > cases/$name.status
done < "$2/cases"
echo > dmesg
echo finished > done
"""


@dataclass(frozen=True)
class Left:
    """What came of a boot: how it ended, and its folder with all that the host wrote of it."""

    end: BootEnd
    home: Path
    about: dict[str, object]
    archive: dict[str, bytes]

    def texts(self) -> str:
        files = [path.read_bytes() for path in self.home.rglob("*") if path.is_file()]
        return b"\n".join([*files, *self.archive.values()]).decode(errors="replace")

    def status_of(self) -> dict[str, str]:
        outcomes = json.loads((self.home / "samples.json").read_text())["outcomes"]
        return {outcome["benchmark"]: outcome["status"] for outcome in outcomes}


CASES: dict[str, PlannedCase] = {case_name(index, case): case for index, case in enumerate(PLAN.cases)}
NAMES = boot_module.guest_file_names(
    [_guest_case(index, case, SHAPE) for index, case in enumerate(PLAN.cases)]
)


def boot(folder: Path, script: str, config: Path | None = None) -> Left:
    """Boots the shell script, as the plan's first boot, up to its files and its archive."""
    home = folder / "boots" / "001-base"
    order = BootOrder(
        arm=ArmGuest(kernel=folder, programs=GuestPrograms(), config=config),
        cases=tuple(_guest_case(index, case, SHAPE) for index, case in enumerate(PLAN.cases)),
        shape=GuestShape(mode="walltime", cpus=1, memory_mib=2048),
        limits=GuestLimits(quiet=120.0, cases={}, host=240.0),
        sandbox=Sandbox(level="none", user=None),
        argv=lambda folders, _: argv_of(folders, script),
    )
    began = datetime.now(UTC)
    end = boot_guest(order, home / "1", on_case=lambda _: None, should_stop=lambda: False)
    read = {index: read_case(index, case, home / "1", end) for index, case in enumerate(PLAN.cases)}
    part = PartEnd(
        end=end,
        cases=tuple(read),
        results={index: result for index, result in read.items() if result is not None},
    )
    write_boot(home, PLAN, PLAN.boots[0], [part], began=began, ended=datetime.now(UTC))
    return Left(
        end, home, json.loads((home / "boot.json").read_text()), unpacked(result_directory.raw_archive(home))
    )


def argv_of(folders: GuestFolders, script: str) -> list[str]:
    return ["bash", "-c", WELL + script, "guest", str(folders.results), str(folders.input)]


def unpacked(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = {member.name: tar.extractfile(member) for member in tar}
        return {name: file.read() for name, file in found.items() if file is not None}


def test_a_guest_that_means_well_is_taken_whole(tmp_path: Path) -> None:
    left = boot(tmp_path, "")

    assert left.end.status == "complete"
    assert left.end.unexpected_files == ()
    assert set(left.status_of().values()) == {"ok"}
    assert {f"1/{name}" for name in NAMES} - left.archive.keys() == {"1/current", "1/refused"}
    assert sorted(path.name for path in left.home.iterdir()) == [
        "1",
        "boot.json",
        "environment.json",
        "samples.json",
    ]


def test_a_guest_is_given_the_configuration_of_a_kernel_that_shows_none(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("CONFIG_BPF=y\n# of the package\n")

    given = boot(
        tmp_path / "given",
        'cp "$2/config" guest/config; echo package > guest/config-from',
        tmp_path / "config",
    )
    own = boot(tmp_path / "own", '[ ! -e "$2/config" ] || echo package > guest/config-from')

    assert given.archive["1/guest/config"] == (tmp_path / "config").read_bytes()
    says = [json.loads((left.home / "environment.json").read_text())["config_from"] for left in (given, own)]
    assert says == ["package", "kernel"]


KINDS = {
    "link": 'ln -s "{secret}" "{name}"',
    "link to a folder": 'ln -s "{folder}" "{name}"',
    "dangling link": 'ln -s "{folder}/none" "{name}"',
    "pipe": 'mkfifo "{name}"',
    "folder": 'mkdir "{name}"; echo {odd} > "{name}/inside"',
    "socket": (
        '"{python}" -c \'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])\' "{name}"'
    ),
    "huge file": 'truncate -s 1T "{name}"',
    "file that may not be read": 'echo {odd} > "{name}"; chmod 000 "{name}"',
    "second name of a file": 'ln "{secret}" "{name}"',
    "device": 'mknod "{name}" c 1 5',
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*NAMES, "guest", "cases"])
def test_every_name_that_the_host_opens_is_something_else(tmp_path: Path, name: str, kind: str) -> None:
    if kind == "device" and os.geteuid() != 0:
        pytest.skip("only root may make devices")
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "secret").write_text(f"{SECRET}\n")
    make = KINDS[kind].format(
        secret=secrets / "secret", folder=secrets, name=name, odd="what-a-guest-wrote", python=sys.executable
    )
    left = boot(tmp_path, f'rm -rf "{name}"\n{make} || exit 9\n')

    assert SECRET not in left.texts()
    assert (secrets / "secret").read_text() == f"{SECRET}\n"
    assert left.about["status"] in ("complete", "lost", "too-much-output", "refused")
    assert not (left.home / "1.guest").exists()
    assert all(len(content) <= guest_files.LARGEST_BYTES for content in left.archive.values())
    agents_own = (name, kind) in {("guest", "folder"), ("cases", "folder")}
    if kind not in ("huge file", "file that may not be read") and not agents_own:
        assert name in left.end.unexpected_files
        assert f"1/{name}" not in left.archive


def test_folders_that_are_nested_fifteen_hundred_deep(tmp_path: Path) -> None:
    """Deeper than a path may be long, and made where the host still reads: beside the cases and in the place
    of one's output.
    """
    left = boot(tmp_path, nest("cases/deep", 1500, "x" * 200) + nest("guest/facts", 1500, "d"))

    assert "cases/deep" in left.end.unexpected_files
    assert "guest/facts" in left.end.unexpected_files
    assert set(left.status_of().values()) == {"ok"}
    assert sorted(path.name for path in left.home.iterdir()) == [
        "1",
        "boot.json",
        "environment.json",
        "samples.json",
    ]


def nest(name: str, depth: int, each: str) -> str:
    """Words of a shell that make folders within each other, by descriptors: no path is that long."""
    program = """
import os, sys
name, depth, each = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.path.lexists(name) and os.unlink(name)
os.mkdir(name)
folder = os.open(name, os.O_RDONLY)
for _ in range(depth):
    os.mkdir(each, dir_fd=folder)
    inner = os.open(each, os.O_RDONLY, dir_fd=folder)
    os.close(folder)
    folder = inner
"""
    return " ".join(map(shlex.quote, [sys.executable, "-c", program, name, str(depth), each])) + "\n"


def test_names_with_control_characters_and_without_letters(tmp_path: Path) -> None:
    left = boot(
        tmp_path,
        "touch $'cases/a\\nb' $'cases/\\xff\\xfe' $'\\e[31mred' \"$(printf '\\342\\200\\256')\" ' '\n",
    )

    assert set(left.end.unexpected_files) == {
        "cases/a\\nb",
        "cases/\\xff\\xfe",
        "\\x1b[31mred",
        "\\u202e",
        " ",
    }
    assert set(left.status_of().values()) == {"ok"}


def test_three_thousand_files_are_too_much_when_they_are_too_large_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest_files, "LARGEST_RESULTS_BYTES", 3 << 20)
    left = boot(tmp_path, "mkdir more; for n in $(seq 3000); do echo > more/$n; done; sync; exec sleep 600\n")

    assert left.end.status == "too-much-output"
    assert left.end.evidence.startswith("the guest wrote more than 3 MiB")
    assert left.end.seconds < 300
    assert left.end.unexpected_files == ("more",)


def test_what_is_too_much_at_the_very_end_is_too_much_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest_files, "MOST_ENTRIES", 200)
    left = boot(tmp_path, "for n in $(seq 300); do echo > $n; done\n")

    assert left.end.status == "too-much-output"
    assert len(left.end.unexpected_files) == 101
    assert left.end.unexpected_files[-1].startswith("(and ")


def test_a_running_guest_is_counted_whole(tmp_path: Path) -> None:
    """More names in a folder than the first thousand, and more folders than the first ten."""
    (tmp_path / "few").mkdir()
    for number in range(1500):
        (tmp_path / "few" / str(number)).touch()
    with (tmp_path / "few" / "1499").open("r+b") as last:
        last.truncate(guest_files.LARGEST_RESULTS_BYTES + 1)
    assert "wrote more than" in str(find_exceeded_limit(tmp_path))

    (tmp_path / "few" / "1499").unlink()
    assert find_exceeded_limit(tmp_path) is None
    (tmp_path / "/".join(map(str, range(20)))).mkdir(parents=True)
    assert "nested deeper" in str(find_exceeded_limit(tmp_path))


def test_a_folder_of_which_everything_is_forbidden_is_removed(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    for number in range(5):
        (odd / "a" / str(number) / "b" / "c").mkdir(parents=True)
        (odd / "a" / str(number) / "b" / "c" / "file").touch(mode=0o000)
    for folder in sorted(odd.rglob("*"), reverse=True):
        folder.chmod(0o000)
    odd.chmod(0o000)

    remove_tree(odd)
    assert not odd.exists()


def test_a_removal_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir(mode=0o555)
    (tmp_path / "kept" / "file").touch() if os.geteuid() == 0 else None
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "other").symlink_to(tmp_path / "kept")

    remove_tree(tmp_path / "odd")
    remove_tree(tmp_path / "other")
    assert not (tmp_path / "odd").exists()
    assert not (tmp_path / "other").is_symlink()
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o555


def test_an_old_boot_with_odd_files_in_it_is_packed_without_them(tmp_path: Path) -> None:
    """What an earlier version left in the spool."""
    (tmp_path / "1" / "cases").mkdir(parents=True)
    (tmp_path / "1" / "cases" / "000.out").write_text("good")
    (tmp_path / "1" / "cases" / "a\nb").write_text("bad")
    (tmp_path / "1" / "link").symlink_to("/etc/passwd")
    (tmp_path / "1" / "way").symlink_to("/etc")
    os.mkfifo(tmp_path / "1" / "pipe")
    subprocess.run(["bash", "-c", nest("deep", 1500, "d")], cwd=tmp_path / "1", check=True)
    try:
        assert unpacked(result_directory.raw_archive(tmp_path)) == {"1/cases/000.out": b"good"}
    finally:
        remove_tree(tmp_path / "1")  # pytest cannot


@pytest.mark.parametrize(
    ("name", "shown"),
    [("plain-ä", "plain-ä"), ("a\x00b", "a\\x00b"), ("\udcff", "\\xff"), ("x" * 300, "x" * 200 + "…")],
)
def test_a_name_is_escaped(name: str, shown: str) -> None:
    assert escape_name(name) == shown
