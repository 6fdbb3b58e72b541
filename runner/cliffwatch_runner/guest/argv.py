"""Builds the command line that starts a guest. All functions are pure.

Machine, processor, accelerator and root file system are all explicit. virtme-ng would otherwise choose by
what it finds at the time (microvm or pc, virtiofs or 9p, KVM or emulation), and two boots of one run could
differ.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.samples import DEFAULT_ACCEL, Accel, Mode
from cliffwatch_runner.build.kernel import INITRAMFS
from cliffwatch_runner.guest.counting.plugin import Counting
from cliffwatch_runner.guest.pinning import NAME_THREADS
from cliffwatch_runner.guest.qemu_clock import SOCKET
from cliffwatch_runner.sandbox.sandbox import HOME, Mount, Sandbox

KVM = Path("/dev/kvm")

GUEST_INPUT = Path("/run/cliffwatch/input")
GUEST_RESULTS = Path("/run/cliffwatch/results")
"""Mount points in the guest. /run is in its memory, so this works on a root without these folders."""

ROOT_FILE_SYSTEM = "9p"
HOST_BRIDGE = "0x29c0"
"""PCI device id of the Q35 machine's host bridge. The guest uses it to check its machine."""

LARGEST_FILE_BYTES = 256 << 20
"""Limit of one file that an emulator writes: a result of its guest, or the counts of functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestShape:
    """A guest's machine."""

    mode: Mode
    cpus: int
    memory_mib: int
    pin: tuple[int, ...] = ()
    """Host CPU of each vCPU; walltime only."""

    root: Path | None = None
    """Root file system to boot on; None for the host's own."""

    possible_cpus: int | None = None
    """CPUs that may be added later, plus those present; None for `cpus`."""

    numa_nodes: int = 1
    """Memory and CPUs are shared equally among the nodes."""

    accel: Accel = DEFAULT_ACCEL
    """What runs the guest in walltime."""

    @property
    def is_emulated(self) -> bool:
        """True without KVM: under icount, and in a rehearsal."""
        return self.mode == "icount" or self.is_rehearsal

    @property
    def is_rehearsal(self) -> bool:
        """True if it is emulated in real time."""
        return self.mode == "walltime" and self.accel == "tcg"

    def wanted(self) -> dict[str, str]:
        """Returns the facts that the guest must confirm before anything is measured in it."""
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
            "accelerator": "tcg,icount" if self.mode == "icount" else self.accel,
            "machine": "q35",
            "root_file_system": ROOT_FILE_SYSTEM,
            "cpus": self.cpus,
            "memory_mib": self.memory_mib,
            "pin": list(self.pin),
            "own_root": self.root is not None,
            "kernel_arguments": [*_kernel_arguments(self)],
        }


def _kernel_arguments(shape: GuestShape) -> Sequence[str]:
    """Returns the kernel arguments of every guest of this shape.

    Address randomisation is off, because a new layout per boot changes the time of tight loops by per cents.

    `maxcpus` keeps Linux from starting CPUs that are possible but not present. The machine has them all from
    the start: under emulation, Linux does not know its hypervisor, and would not count hotpluggable CPUs as
    possible.
    """
    fixed = ("nokaslr", "transparent_hugepage=never", "nosoftlockup", "nmi_watchdog=0", "random.trust_cpu=on")
    started = () if shape.possible_cpus is None else (f"maxcpus={shape.cpus}",)
    clocks = _CLOCKS if shape.is_rehearsal else ()
    return (_ROOT_FLAGS, *fixed, *started, *clocks)


_CLOCKS = ("no_timer_check", "tsc=reliable")
"""Keeps Linux from testing the clocks of a rehearsal, as it does for a guest that knows its hypervisor.

The tests take a busy host for broken clocks: a boot would panic, or measure with another clock than the next.
"""


_ROOT_FLAGS = "rootflags=version=9p2000.L,trans=virtio,access=any,msize=512000,cache=loose"
"""virtme-ng's flags, with a page cache.

Nobody writes to the root, so caching is safe. Without it, each program start waits for the host while the
guest's virtual clock runs on.
"""


_PROCESSOR = "-cpu max,la57=off"
"""The emulated processor.

Without `la57`, page tables have four levels on every kernel. Linux 7.3 would use five, where older ones did
so only if configured, and QEMU's `info mem` takes minutes to read them.
"""

_REHEARSAL = f"-accel tcg,thread=multi {_PROCESSOR}"
"""QEMU's options for a rehearsal: time passes as on the host, and each CPU is a thread that can be pinned."""


def _icount(monitor: Path) -> str:
    """Returns QEMU's options for icount.

    With `shift=0`, one instruction takes one virtual nanosecond. With `sleep=off`, idle virtual time passes
    at once. The clock device and QMP let the host read the guest's clock
    (cliffwatch_runner.guest.qemu_clock).
    """
    clocks = f"-icount shift=0,sleep=off -rtc clock=vm -qmp unix:{monitor / SOCKET},server=on,wait=off"
    return f"{_PROCESSOR} {clocks}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestFolders:
    """Folders of one boot."""

    kernel: Path
    """Read-only in the guest."""

    input: Path
    """Read-only in the guest."""

    results: Path
    """The only folder that the guest writes."""

    monitor: Path
    """Folder for the emulator's sockets, and for the file of its counts if there is a `counting`."""

    counting: Counting | None = None
    """Instruction counter; None if nothing is counted."""


SANDBOX_FOLDERS = GuestFolders(
    kernel=Path("/cliffwatch/kernel"),
    input=Path("/cliffwatch/input"),
    results=Path("/cliffwatch/results"),
    monitor=Path("/cliffwatch/monitor"),
)
"""Paths of the boot's folders inside QEMU's sandbox."""

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
    """Builds the `vng` call for one guest.

    `folders` and `root` are paths as vng sees them. The kernel's own `arguments` come last, so that they
    override earlier ones. If `initramfs`, the kernel's folder contains one. vng must not look for modules
    itself: it would take the host's modules of the same release, and build an initramfs of them at every
    boot.
    """
    argv = ["vng", "--run", str(folders.kernel / "bzImage"), "--skip-modules"]
    argv += ["--disable-microvm", "--force-9p", "--verbose"]
    argv += ["--disable-kvm"] if shape.is_emulated else []
    argv += ["--cpus", _processors(shape), "--memory", f"{shape.memory_mib}M", "--user", "root"]
    argv += ["--root", str(root)] if root is not None else []
    argv += ["--rodir", f"{GUEST_INPUT}={folders.input}", "--rwdir", f"{GUEST_RESULTS}={folders.results}"]
    argv += ["--append", " ".join((*_kernel_arguments(shape), *arguments))]
    emulation = _icount(folders.monitor) if shape.mode == "icount" else _REHEARSAL
    options = [emulation] if shape.is_emulated else []
    options += (
        [folders.counting.option(folders.input, folders.monitor)] if folders.counting is not None else []
    )
    options += [NAME_THREADS] if shape.pin else []
    options += _nodes(shape)
    options += [f"-initrd {folders.kernel / INITRAMFS}"] if initramfs else []
    # In one word with `=`, because vng would take a separate value that begins with a dash for an option.
    argv += [f"--qemu-opts={' '.join(options)}"] if options else []
    return [*argv, "--exec", shlex.join(command)]


def _processors(shape: GuestShape) -> str:
    """Returns vng's CPU option for all possible CPUs. Linux starts only the first ones (`_kernel_arguments`).

    With several NUMA nodes each CPU is its own package, because a package cannot span nodes.
    """
    total = shape.possible_cpus or shape.cpus
    return str(total) if shape.numa_nodes == 1 else f"{total},sockets={total},cores=1,threads=1"


def _nodes(shape: GuestShape) -> list[str]:
    """Returns QEMU's options for NUMA nodes.

    Nodes get equal shares of memory and CPUs; the last node also gets the remaining CPUs.

    vng's own `--numa` is no alternative: it keeps the memory in a file, which would exceed the file size
    limit.
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
    """Builds the call that starts a guest, with its sandbox and limits.

    vng and QEMU run in the sandbox as well, so that the root that they give the guest has no home folder and
    no secret. `programs` are folders outside /usr that vng needs: the virtual environment and its
    interpreter.
    """
    outside = (*(folder / "bin" for folder in programs), *sandbox.searched)
    path = ":".join((*map(str, outside), "/usr/sbin:/usr/bin:/sbin:/bin"))
    env = {"PATH": path, "HOME": str(HOME), "LANG": "C.UTF-8"}
    fixed = replace(SANDBOX_FOLDERS, counting=folders.counting)
    inside, root = (fixed, _SANDBOX_ROOT) if sandbox.fixed_paths else (folders, shape.root)
    mounts = [Mount(source=folder, target=folder) for folder in programs]
    if not shape.is_emulated:
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
    sandboxed = sandbox.argv(command, env=env, mounts=mounts, workdir=Path("/"), groups=_groups(shape))
    return limit_emulator(sandboxed, cpus=cpus)


def _groups(shape: GuestShape) -> tuple[int, ...]:
    """Returns the group that may open KVM, for the sandbox's user, who belongs to no group."""
    if shape.is_emulated:
        return ()
    about = KVM.stat()
    return () if about.st_mode & 0o006 == 0o006 else (about.st_gid,)


def limit_emulator(argv: Sequence[str], *, cpus: Sequence[int] = ()) -> list[str]:
    """Limits the size of the files that the guest writes, and pins the emulator to `cpus`."""
    pinned = ["taskset", "--cpu-list", ",".join(map(str, cpus))] if cpus else []
    return [*pinned, "prlimit", f"--fsize={LARGEST_FILE_BYTES}", "--core=0", *argv]


def agent_command() -> list[str]:
    return ["sh", str(GUEST_INPUT / "agent.sh"), str(GUEST_INPUT), str(GUEST_RESULTS)]
