"""How a kernel is configured and made in a worktree."""

import re
from collections.abc import Callable
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner.build.kernel_config import Fragments, check_config
from cliffwatch_runner.build.outputs import MIB, unfit_output
from cliffwatch_runner.build.toolchain import Toolchain
from cliffwatch_runner.build.worktree import BUILD, Worktree
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile

CONFIG, CONFIG_BYTES = ".config", 4 * MIB

_STEP = re.compile(
    r"(?m)^[^\S\n]++(?:CC|AS|LD|AR|HOSTCC|HOSTLD|OBJCOPY|BTF\w*|VDSO\w*|GEN|UPD|SYSMAP|BUILD)[^\S\n]++(?:\[M\][^\S\n]++)?(\S+)"
)
_FIRST_BUILD_STEPS = 1780


def kernel_make(worktree: Worktree, toolchain: Toolchain) -> list[str]:
    """Returns the command of a build, without its target."""
    cc = Path(toolchain.cc.program).name
    suffix = cc.removeprefix("clang")
    llvm = [f"LLVM={suffix or 1}"] if toolchain.cc.name == "clang" else []
    return [
        *("make", "-C", str(worktree.source), f"O={BUILD}", "ARCH=x86_64", *llvm),
        *(
            f"CC={worktree.compiler(toolchain.cc.program)}",
            f"PAHOLE={toolchain.pahole.program}",
            "LOCALVERSION=",
        ),
    ]


def configure(worktree: Worktree, fragments: Fragments, toolchain: Toolchain, log: Path) -> Failure | None:
    """Generates the configuration and checks it before any time is spent on a build."""
    fragment = f"KCONFIG_ALLCONFIG={worktree.given('fragment')}"
    failure = worktree.make([*kernel_make(worktree, toolchain), fragment, "allnoconfig"], log)
    if failure is not None:
        return failure
    config = worktree.output.read(CONFIG, limit=CONFIG_BYTES)
    if isinstance(config, UnfitFile):
        worktree.distrust_output()
        return unfit_output(config)
    return check_config(fragments.wanted, config.decode(errors="replace"))[0]


def dump_btf(worktree: Worktree, log: Path) -> Failure | None:
    """Keeps the types of vmlinux, from which bench is built, without its 200 MB of debug information."""
    clear = ["rm", "-rf", "--", f"{worktree.build}/btf"]
    dump = [
        "objcopy",
        "--dump-section",
        f".BTF={worktree.build}/btf",
        f"{worktree.build}/vmlinux",
        "/dev/null",
    ]
    return worktree.make(clear, log) or worktree.make(dump, log)


class Steps:
    """Estimates the progress of a build from make's output lines.

    The first build is compared with a fixed count.
    """

    def __init__(self, memory: Path, report_progress: Callable[[float | None, str], None]) -> None:
        self._memory = memory
        self._report_progress = report_progress
        self._expected = _FIRST_BUILD_STEPS if not memory.exists() else None
        self._count = 0

    def count(self, output: str) -> None:
        steps = _STEP.findall(output)
        self._count += len(steps)
        if steps:
            share = min(0.99, self._count / self._expected) if self._expected else None
            self._report_progress(share, steps[-1])

    def remember(self) -> None:
        self._memory.write_text(f"{self._count}\n")
