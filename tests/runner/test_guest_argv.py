"""Nothing about a guest is left to what the host happens to have."""

from dataclasses import replace
from pathlib import Path

import pytest

from cliffwatch_runner.guest import argv as module
from cliffwatch_runner.guest.argv import (
    SANDBOX_FOLDERS,
    GuestFolders,
    GuestShape,
    agent_command,
    guest_argv,
    limit_emulator,
    vng_argv,
)
from cliffwatch_runner.sandbox.sandbox import Sandbox
from cliffwatch_runner.sandbox.unprivileged_user import User

ICOUNT = GuestShape(mode="icount", cpus=1, memory_mib=2048)
WALLTIME = GuestShape(mode="walltime", cpus=2, memory_mib=8192, pin=(2, 3))
REHEARSAL = replace(WALLTIME, accel="tcg")
FOLDERS = GuestFolders(kernel=Path("/k"), input=Path("/i"), results=Path("/r"), monitor=Path("/m"))
OURS = Sandbox(level="bubblewrap", user=None)
ROOTS = Sandbox(level="bubblewrap", user=User(uid=64750, gid=64750))


def call(shape: GuestShape) -> list[str]:
    return vng_argv(shape, SANDBOX_FOLDERS, None, agent_command())


def view(shape: GuestShape, sandbox: Sandbox = OURS) -> list[str]:
    argv = guest_argv(FOLDERS, sandbox=sandbox, programs=[Path("/srv/venv")], shape=shape, cpus=())
    return argv[: argv.index("vng")]


@pytest.fixture(autouse=True)
def kvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A device that its group may open."""
    device = tmp_path / "kvm"
    device.touch(mode=0o660)
    monkeypatch.setattr(module, "KVM", device)
    return device


def test_machine_and_root_file_system_are_fixed_in_both_modes() -> None:
    for shape in (ICOUNT, WALLTIME):
        argv = call(shape)

        assert {"--disable-microvm", "--force-9p"} <= set(argv)
        assert "nokaslr" in argv[argv.index("--append") + 1]


def test_icount_counts_one_instruction_as_one_nanosecond_without_kvm() -> None:
    argv = call(ICOUNT)

    assert "--disable-kvm" in argv
    assert any(word.startswith("--qemu-opts=") and " -icount shift=0,sleep=off " in word for word in argv)


def test_under_icount_the_page_tables_of_all_kernels_have_the_same_depth() -> None:
    assert any(word.startswith("--qemu-opts=-cpu max,la57=off ") for word in call(ICOUNT))
    assert not any("la57" in word for word in call(WALLTIME))


def test_under_icount_the_host_can_read_the_guests_clock() -> None:
    (options,) = [word for word in call(ICOUNT) if word.startswith("--qemu-opts=")]

    assert "-rtc clock=vm" in options
    assert "-qmp unix:/cliffwatch/monitor/qmp,server=on,wait=off" in options


def test_walltime_uses_kvm_and_names_the_threads_to_pin(kvm: Path) -> None:
    argv = call(WALLTIME)

    assert "--disable-kvm" not in argv
    assert "--qemu-opts=-name debug-threads=on" in argv
    assert str(kvm) in view(WALLTIME)
    assert str(kvm) not in view(ICOUNT)


def test_a_rehearsal_emulates_the_processor_in_real_time_and_names_the_threads_to_pin(kvm: Path) -> None:
    argv = call(REHEARSAL)

    assert "--disable-kvm" in argv
    assert "--qemu-opts=-accel tcg,thread=multi -cpu max,la57=off -name debug-threads=on" in argv
    assert str(kvm) not in view(REHEARSAL)
    assert "--clear-groups" in view(REHEARSAL, ROOTS)


def test_linux_does_not_take_the_busy_host_of_a_rehearsal_for_broken_clocks() -> None:
    def appended(shape: GuestShape) -> set[str]:
        argv = call(shape)
        return set(argv[argv.index("--append") + 1].split())

    assert appended(REHEARSAL) - appended(WALLTIME) == {"no_timer_check", "tsc=reliable"}
    assert appended(ICOUNT) == appended(WALLTIME)


def test_the_record_of_a_guest_says_what_ran_it() -> None:
    accelerators = [shape.record()["accelerator"] for shape in (ICOUNT, WALLTIME, REHEARSAL)]

    assert accelerators == ["tcg,icount", "kvm", "tcg"]


def test_pinning_opens_no_port_that_others_on_this_host_could_reach() -> None:
    for shape in (WALLTIME, REHEARSAL):
        assert "--pin" not in call(shape)
        assert not any("-qmp" in word for word in call(shape))


def test_a_guest_has_no_network_and_sees_no_home() -> None:
    argv = view(ICOUNT)

    assert {"--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-user"} <= set(argv)
    assert "--clearenv" in argv
    assert "/etc/shadow" not in argv
    bound = [
        argv[index + 1] for index, word in enumerate(argv) if word in {"--ro-bind", "--bind", "--dev-bind"}
    ]
    assert bound == ["/proc/sys", "/usr", "/srv/venv", "/k", "/i", "/r", "/m"]


def test_root_starts_an_emulator_as_a_user_without_rights_who_may_open_kvm(kvm: Path) -> None:
    for shape, groups in ((ICOUNT, ["--clear-groups"]), (WALLTIME, ["--groups", str(kvm.stat().st_gid)])):
        argv = view(shape, ROOTS)
        become = argv[argv.index("setpriv") :]

        assert become[1:5] == ["--reuid", "64750", "--regid", "64750"]
        assert become[5 : 5 + len(groups)] == groups
        assert {"--no-new-privs", "--bounding-set=-all"} <= set(become)


def test_only_the_results_and_the_emulators_socket_can_be_written() -> None:
    argv = view(ICOUNT)

    assert [argv[index + 1] for index, word in enumerate(argv) if word == "--bind"] == ["/r", "/m"]


def test_what_a_guest_writes_is_limited_in_size() -> None:
    assert limit_emulator(["vng"], cpus=[0, 1])[:3] == ["taskset", "--cpu-list", "0,1"]
    assert any(word.startswith("--fsize=") for word in limit_emulator(["vng"]))


def test_drivers_that_are_modules_come_in_the_kernels_own_initial_file_system(tmp_path: Path) -> None:
    folders = GuestFolders(kernel=tmp_path, input=Path("/i"), results=Path("/r"), monitor=Path("/m"))

    def options(shape: GuestShape) -> list[str]:
        argv = guest_argv(folders, sandbox=OURS, programs=[], shape=shape, cpus=())
        return [word for word in argv if "-initrd" in word]

    assert options(ICOUNT) == options(WALLTIME) == []
    (tmp_path / "initramfs").touch()
    assert options(replace(WALLTIME, pin=())) == ["--qemu-opts=-initrd /cliffwatch/kernel/initramfs"]
    (both,) = options(ICOUNT)
    assert both.startswith("--qemu-opts=-cpu ")
    assert both.endswith(" -initrd /cliffwatch/kernel/initramfs")


def test_modules_of_the_host_are_not_looked_for() -> None:
    for shape in (ICOUNT, WALLTIME):
        assert "--skip-modules" in call(shape)
