"""The command line that starts a guest, put together by pure functions.

Machine, processor, accelerator and root file system are all named: virtme-ng would otherwise choose by
what it finds at the moment (microvm or pc, virtiofs or 9p, KVM or emulation), and two boots of one run
could differ.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.samples import Mode
from cliffwatch_runner.build.kernel import INITRAMFS
from cliffwatch_runner.guest.counting.plugin import Counting
from cliffwatch_runner.guest.qemu_clock import SOCKET
from cliffwatch_runner.sandbox.sandbox import HOME, Mount, Sandbox

KVM = Path("/dev/kvm")

GUEST_INPUT = Path("/run/cliffwatch/input")
GUEST_RESULTS = Path("/run/cliffwatch/results")
"""Where the guest mounts them: /run is in its memory, so this works on a root that has no such folder."""

ROOT_FILE_SYSTEM = "9p"
HOST_BRIDGE = "0x29c0"
"""PCI device of the Q35 machine's host bridge, by which the guest knows that machine."""

LARGEST_FILE_BYTES = 64 << 20
"""What a guest may write into one result file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestShape:
    """A guest's machine. `possible_cpus` may come to be there, None for those that are; memory and CPUs are
    shared by `numa_nodes`.

    `pin` names the host CPU of each vCPU (walltime only). `root` is a root file system to boot on instead
    of the host's own.
    """

    mode: Mode
    cpus: int
    memory_mib: int
    pin: tuple[int, ...] = ()
    root: Path | None = None
    possible_cpus: int | None = None
    numa_nodes: int = 1

    def wanted(self) -> dict[str, str]:
        """What the guest itself must show before anything is measured in it."""
        possible = {} if self.possible_cpus is None else {"possible-cpus": str(self.possible_cpus)}
        nodes = {} if self.numa_nodes == 1 else {"numa-nodes": str(self.numa_nodes)}
        return {
            "rootfs": ROOT_FILE_SYSTEM,
            "machine": HOST_BRIDGE,
            "cpus": str(self.cpus),
            **possible,
            **nodes,
        }

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
    """Addresses without randomisation: a layout drawn anew per boot moves tight loops by per cents.

    CPUs that are possible and not there are left unstarted by `maxcpus`: those that the machine could get
    later are not possible ones to a Linux that does not know its hypervisor, which it does not under
    emulation.
    """
    fixed = ("nokaslr", "transparent_hugepage=never", "nosoftlockup", "nmi_watchdog=0", "random.trust_cpu=on")
    started = () if shape.possible_cpus is None else (f"maxcpus={shape.cpus}",)
    return (_ROOT_FLAGS, *fixed, *started)


_ROOT_FLAGS = "rootflags=version=9p2000.L,trans=virtio,access=any,msize=512000,cache=loose"
"""virtme-ng's own, with a page cache: nobody writes to the root, and without it every start of a program
waits for the host while a virtual clock that does not sleep runs on.
"""


def _icount(monitor: Path) -> str:
    """`shift=0`: one instruction is one virtual nanosecond; `sleep=off`: idle virtual time passes at once.
    The clock device and QMP let the host read the guest's clock (cliffwatch_runner.guest.qemu_clock).
    """
    return f"-icount shift=0,sleep=off -rtc clock=vm -qmp unix:{monitor / SOCKET},server=on,wait=off"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestFolders:
    """Folders of one boot: `kernel` and `input` are shown read-only, `results` is the one that the guest
    writes; in `monitor` the emulator makes its socket and, where there is a `counting`, the file of its
    counts.
    """

    kernel: Path
    input: Path
    results: Path
    monitor: Path
    counting: Counting | None = None


SANDBOX_FOLDERS = GuestFolders(
    kernel=Path("/cliffwatch/kernel"),
    input=Path("/cliffwatch/input"),
    results=Path("/cliffwatch/results"),
    monitor=Path("/cliffwatch/monitor"),
)
"""The boot's folders in the sandbox that QEMU runs in."""

_SANDBOX_ROOT = Path("/cliffwatch/root")


def vng_argv(
    shape: GuestShape,
    folders: GuestFolders,
    root: Path | None,
    command: Sequence[str],
    arguments: Sequence[str] = (),
    *,
    initramfs: bool = False,
) -> list[str]:
    """The `vng` call for one guest, with folders and root file system under their paths for vng; the kernel's
    own `arguments` come last, where the kernel takes them over earlier ones.

    With an `initramfs` the kernel's folder has one. vng itself is to look for no modules: it would take
    those that this host has of the same release, and make an initramfs of them at every boot.
    """
    argv = ["vng", "--run", str(folders.kernel / "bzImage"), "--skip-modules"]
    argv += ["--disable-microvm", "--force-9p", "--verbose"]
    argv += ["--disable-kvm"] if shape.mode == "icount" else []
    argv += ["--cpus", _processors(shape), "--memory", f"{shape.memory_mib}M", "--user", "root"]
    argv += ["--pin", ",".join(map(str, shape.pin))] if shape.pin else []
    argv += ["--root", str(root)] if root is not None else []
    argv += ["--rodir", f"{GUEST_INPUT}={folders.input}", "--rwdir", f"{GUEST_RESULTS}={folders.results}"]
    argv += ["--append", " ".join((*_kernel_arguments(shape), *arguments))]
    options = [_icount(folders.monitor)] if shape.mode == "icount" else []
    options += (
        [folders.counting.option(folders.input, folders.monitor)] if folders.counting is not None else []
    )
    options += _nodes(shape)
    options += [f"-initrd {folders.kernel / INITRAMFS}"] if initramfs else []
    # One word with `=`: the value begins with a dash, which vng would take for an option of its own.
    argv += [f"--qemu-opts={' '.join(options)}"] if options else []
    return [*argv, "--exec", shlex.join(command)]


def _processors(shape: GuestShape) -> str:
    """All possible ones: Linux starts the first of them alone, see `_kernel_arguments`. A package is in one
    node, so that each CPU is a package of its own where there are several nodes.
    """
    total = shape.possible_cpus or shape.cpus
    return str(total) if shape.numa_nodes == 1 else f"{total},sockets={total},cores=1,threads=1"


def _nodes(shape: GuestShape) -> list[str]:
    """Equal shares of memory and CPUs; CPUs that are left over belong to the last node.

    Options of QEMU: vng's own `--numa` keeps the memory in a file, which the limit on what a guest may
    write forbids.
    """
    if shape.numa_nodes == 1:
        return []
    total = shape.possible_cpus or shape.cpus
    share = max(1, total // shape.numa_nodes)
    options: list[str] = []
    for node in range(shape.numa_nodes):
        first, last = node * share, total - 1 if node == shape.numa_nodes - 1 else (node + 1) * share - 1
        cpus = f",cpus={first}-{last}" if first <= last < total else ""
        options.append(
            f"-object memory-backend-ram,id=node{node},size={shape.memory_mib // shape.numa_nodes}M"
        )
        options.append(f"-numa node,nodeid={node},memdev=node{node}{cpus}")
    return options


def guest_argv(
    folders: GuestFolders,
    arguments: Sequence[str] = (),
    *,
    sandbox: Sandbox,
    programs: Sequence[Path],
    shape: GuestShape,
    cpus: Sequence[int],
) -> list[str]:
    """The call that starts a guest, sandbox and limits included.

    vng and QEMU run in the sandbox too, so that what they show the guest as `/` holds no home and no
    secret. `programs` are folders outside /usr that vng needs: the virtual environment and its
    interpreter.
    """
    path = ":".join([*(f"{folder}/bin" for folder in programs), "/usr/sbin:/usr/bin:/sbin:/bin"])
    env = {"PATH": path, "HOME": str(HOME), "LANG": "C.UTF-8"}
    fixed = replace(SANDBOX_FOLDERS, counting=folders.counting)
    inside, root = (fixed, _SANDBOX_ROOT) if sandbox.fixed_paths else (folders, shape.root)
    mounts = [Mount(source=folder, target=folder) for folder in programs]
    if shape.mode == "walltime":
        mounts.append(Mount(source=KVM, target=KVM, device=True))
    if shape.root is not None:
        mounts.append(Mount(source=shape.root, target=_SANDBOX_ROOT))
    mounts += [
        Mount(source=folders.kernel, target=SANDBOX_FOLDERS.kernel),
        Mount(source=folders.input, target=SANDBOX_FOLDERS.input),
    ]
    mounts += [
        Mount(source=folders.results, target=SANDBOX_FOLDERS.results, writable=True),
        Mount(source=folders.monitor, target=SANDBOX_FOLDERS.monitor, writable=True),
    ]
    rooted = None if shape.root is None else root
    initramfs = (folders.kernel / INITRAMFS).exists()
    command = vng_argv(shape, inside, rooted, agent_command(), arguments, initramfs=initramfs)
    sandboxed = sandbox.argv(command, env=env, mounts=mounts, workdir=Path("/"), groups=_groups(shape.mode))
    return limit_emulator(sandboxed, cpus=cpus)


def _groups(mode: Mode) -> tuple[int, ...]:
    """The group that may open KVM, for a user who is made for the guest and belongs to none."""
    if mode != "walltime":
        return ()
    about = KVM.stat()
    return () if about.st_mode & 0o006 == 0o006 else (about.st_gid,)


def limit_emulator(argv: Sequence[str], *, cpus: Sequence[int] = ()) -> list[str]:
    """Limits what the guest's writes can do to the host's disk, and keeps the emulator off the
    measured CPUs.
    """
    pinned = ["taskset", "--cpu-list", ",".join(map(str, cpus))] if cpus else []
    return [*pinned, "prlimit", f"--fsize={LARGEST_FILE_BYTES}", "--core=0", *argv]


def agent_command() -> list[str]:
    return ["sh", str(GUEST_INPUT / "agent.sh"), str(GUEST_INPUT), str(GUEST_RESULTS)]
