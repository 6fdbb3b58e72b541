"""Nothing about a guest is left to what the host happens to have."""

from pathlib import Path

from cliffwatch_runner.guest_argv import GuestFolders, GuestShape, agent_command, guest_view, limited, vng_argv

ICOUNT = GuestShape(mode="icount", cpus=1, memory_mib=2048)
WALLTIME = GuestShape(mode="walltime", cpus=2, memory_mib=8192, pin=(2, 3))
FOLDERS = GuestFolders(kernel=Path("/k"), input=Path("/i"), results=Path("/r"), monitor=Path("/m"))


def view(shape: GuestShape) -> list[str]:
    return guest_view(FOLDERS, programs=[Path("/srv/venv")], shape=shape)


def test_machine_and_root_file_system_are_fixed_in_both_modes() -> None:
    for shape in (ICOUNT, WALLTIME):
        argv = vng_argv(shape, agent_command())

        assert {"--disable-microvm", "--force-9p"} <= set(argv)
        assert "nokaslr" in argv[argv.index("--append") + 1]


def test_icount_counts_one_instruction_as_one_nanosecond_without_kvm() -> None:
    argv = vng_argv(ICOUNT, agent_command())

    assert "--disable-kvm" in argv
    assert any(word.startswith("--qemu-opts=-icount shift=0,sleep=off ") for word in argv)


def test_under_icount_the_host_can_read_the_guests_clock() -> None:
    (options,) = [word for word in vng_argv(ICOUNT, agent_command()) if word.startswith("--qemu-opts=")]

    assert "-rtc clock=vm" in options
    assert "-qmp unix:/cliffwatch/monitor/qmp,server=on,wait=off" in options


def test_walltime_uses_kvm_and_pins_every_virtual_cpu() -> None:
    argv = vng_argv(WALLTIME, agent_command())

    assert "--disable-kvm" not in argv
    assert argv[argv.index("--pin") + 1] == "2,3"
    assert "/dev/kvm" in view(WALLTIME)
    assert "/dev/kvm" not in view(ICOUNT)


def test_a_guest_has_no_network_and_sees_no_home() -> None:
    argv = view(ICOUNT)

    assert "--unshare-all" in argv
    assert "--clearenv" in argv
    assert "/etc/shadow" not in argv
    bound = [argv[index + 1] for index, word in enumerate(argv) if word in {"--ro-bind", "--bind", "--dev-bind"}]
    assert bound == ["/usr", "/srv/venv", "/k", "/i", "/r", "/m"]


def test_only_the_results_and_the_emulators_socket_can_be_written() -> None:
    argv = view(ICOUNT)

    assert [argv[index + 1] for index, word in enumerate(argv) if word == "--bind"] == ["/r", "/m"]


def test_what_a_guest_writes_is_limited_in_size() -> None:
    assert limited(["vng"], cpus=[0, 1])[:3] == ["taskset", "--cpu-list", "0,1"]
    assert any(word.startswith("--fsize=") for word in limited(["vng"]))
