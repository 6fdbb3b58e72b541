"""The command line that starts a guest, put together by pure functions.

Machine, processor, accelerator and root file system are all named: virtme-ng would otherwise choose by what it finds at
the moment (microvm or pc, virtiofs or 9p, KVM or emulation), and two boots of one run could differ.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.samples import Mode
from cliffwatch_runner.guest_clock import SOCKET

KERNEL = Path("/cliffwatch/kernel")
INPUT = Path("/cliffwatch/input")
RESULTS = Path("/cliffwatch/results")
MONITOR = Path("/cliffwatch/monitor")
"""Where the view that QEMU runs in has the boot's folders."""

GUEST_INPUT = Path("/run/cliffwatch/input")
GUEST_RESULTS = Path("/run/cliffwatch/results")
"""Where the guest mounts them: /run is in its memory, so this works on a root that has no such folder."""

ROOT_FILE_SYSTEM = "9p"
HOST_BRIDGE = "0x29c0"
"""PCI device of the Q35 machine's host bridge, by which the guest tells that it runs on that machine."""

LARGEST_FILE_BYTES = 64 << 20
"""What a guest may write into one result file."""

_ETC = (
    "alternatives",
    "group",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "udev",
)
_EMPTY = ("/run", "/sys", "/home", "/root", "/opt", "/srv", "/mnt", "/var/log", "/var/tmp", "/var/lib", "/var/cache")  # noqa: S108 - folders of the view


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestShape:
    """What every guest of a run has in common. Results of different shapes are not compared.

    `pin` names the host CPU of each vCPU (walltime only). `root` is a root file system to boot on instead of the
    host's own, `kernel_arguments` come after ours on the kernel's command line.
    """

    mode: Mode
    cpus: int
    memory_mib: int
    pin: tuple[int, ...] = ()
    root: Path | None = None
    kernel_arguments: tuple[str, ...] = ()

    def wanted(self) -> dict[str, str]:
        """What the guest itself must show before anything is measured in it."""
        return {"rootfs": ROOT_FILE_SYSTEM, "machine": HOST_BRIDGE, "cpus": str(self.cpus)}

    def record(self) -> dict[str, object]:
        return {
            "accelerator": "tcg,icount" if self.mode == "icount" else "kvm",
            "machine": "q35",
            "root_file_system": ROOT_FILE_SYSTEM,
            "cpus": self.cpus,
            "memory_mib": self.memory_mib,
            "pin": list(self.pin),
            "own_root": self.root is not None,
            "kernel_arguments": [*_kernel_arguments(self)],
        }


def _kernel_arguments(shape: GuestShape) -> Sequence[str]:
    """Addresses without randomisation: a layout drawn anew per boot moves tight loops by per cents."""
    fixed = ("nokaslr", "transparent_hugepage=never", "nosoftlockup", "nmi_watchdog=0", "random.trust_cpu=on")
    return (_ROOT_FLAGS, *fixed, *shape.kernel_arguments)


_ROOT_FLAGS = "rootflags=version=9p2000.L,trans=virtio,access=any,msize=512000,cache=loose"
"""virtme-ng's own, with a page cache: nobody writes to the root, and without it every start of a program waits for the
host while a virtual clock that does not sleep runs on."""


_ICOUNT = f"-icount shift=0,sleep=off -rtc clock=vm -qmp unix:{MONITOR / SOCKET},server=on,wait=off"
"""`shift=0`: one instruction is one virtual nanosecond; `sleep=off`: idle virtual time passes at once. The clock device and QMP let
the host read the guest's clock (cliffwatch_runner.guest_clock)."""


def vng_argv(shape: GuestShape, command: Sequence[str]) -> list[str]:
    """The `vng` call for one guest, with the paths that `guest_view` gives."""
    argv = ["vng", "--run", str(KERNEL / "bzImage"), "--disable-microvm", "--force-9p", "--verbose"]
    argv += ["--disable-kvm"] if shape.mode == "icount" else []
    argv += ["--cpus", str(shape.cpus), "--memory", f"{shape.memory_mib}M", "--user", "root"]
    argv += ["--pin", ",".join(map(str, shape.pin))] if shape.pin else []
    argv += ["--root", "/cliffwatch/root"] if shape.root is not None else []
    argv += ["--rodir", f"{GUEST_INPUT}={INPUT}", "--rwdir", f"{GUEST_RESULTS}={RESULTS}"]
    argv += ["--append", " ".join(_kernel_arguments(shape))]
    # One word with `=`: the value begins with a dash, which vng would take for an option of its own.
    argv += [f"--qemu-opts={_ICOUNT}"] if shape.mode == "icount" else []
    return [*argv, "--exec", shlex.join(command)]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestFolders:
    """Host folders of one boot: `kernel` and `input` are shown read-only, `results` is the one that the guest writes; in
    `monitor` the emulator makes its socket.
    """

    kernel: Path
    input: Path
    results: Path
    monitor: Path


def view_of_host(*, etc: Path = Path("/etc"), top: Path = Path("/")) -> list[str]:
    """A bubblewrap call whose view has the host's programs and nothing of its users: no home, no secret, no network."""
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    argv += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", "/usr", "/usr"]  # noqa: S108
    for folder in _EMPTY:
        argv += ["--dir", folder]
    for path, target in host_links(top).items():
        argv += ["--symlink", target, path]
    for name in _ETC:
        argv += ["--ro-bind-try", str(etc / name), f"/etc/{name}"]
    return argv


def host_links(top: Path) -> Mapping[str, str]:
    """The links of a merged-/usr host at its top: {"/bin": "usr/bin", …}."""
    names = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
    return {f"/{name}": str((top / name).readlink()) for name in names if (top / name).is_symlink()}


def guest_view(folders: GuestFolders, *, programs: Sequence[Path], shape: GuestShape) -> list[str]:
    """The bubblewrap call in which `vng` and QEMU run, so that what they show the guest as `/` holds no home, no secret.

    `programs` are folders outside /usr that vng needs: the virtual environment and its interpreter.
    """
    argv = view_of_host()
    path = ":".join([*(f"{folder}/bin" for folder in programs), "/usr/sbin:/usr/bin:/sbin:/bin"])
    argv += ["--setenv", "PATH", path, "--setenv", "HOME", "/root", "--setenv", "LANG", "C.UTF-8"]
    for folder in programs:
        argv += ["--ro-bind", str(folder), str(folder)]
    argv += ["--dev-bind", "/dev/kvm", "/dev/kvm"] if shape.mode == "walltime" else []
    argv += ["--ro-bind", str(shape.root), "/cliffwatch/root"] if shape.root is not None else []
    argv += ["--ro-bind", str(folders.kernel), str(KERNEL), "--ro-bind", str(folders.input), str(INPUT)]
    argv += ["--bind", str(folders.results), str(RESULTS), "--bind", str(folders.monitor), str(MONITOR)]
    return [*argv, "--chdir", "/", "--"]


def limited(argv: Sequence[str], *, cpus: Sequence[int] = ()) -> list[str]:
    """Limits what the guest's writes can do to the host's disk, and keeps the emulator off the measured CPUs."""
    pinned = ["taskset", "--cpu-list", ",".join(map(str, cpus))] if cpus else []
    return [*pinned, "prlimit", f"--fsize={LARGEST_FILE_BYTES}", "--core=0", *argv]


def agent_command() -> list[str]:
    return ["sh", str(GUEST_INPUT / "agent.sh"), str(GUEST_INPUT), str(GUEST_RESULTS)]
