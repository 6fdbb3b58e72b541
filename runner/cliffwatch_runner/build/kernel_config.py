"""Builds a kernel configuration from fragments over allnoconfig, and compares the result with them."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from cliffwatch.catalogue.suite import Suite
from cliffwatch.failure import Failure, kernel_failed, wrong_usage

_SET = re.compile(r"(CONFIG_\w+)=(.*)")
_UNSET = re.compile(r"# (CONFIG_\w+) is not set")

REQUIRED = (
    "CONFIG_BPF_SYSCALL",
    "CONFIG_BPF_JIT",
    "CONFIG_BPF_JIT_ALWAYS_ON",
    "CONFIG_DEBUG_INFO_BTF",
    "CONFIG_IKCONFIG_PROC",
    "CONFIG_NET_9P_VIRTIO",
    "CONFIG_9P_FS",
    "CONFIG_OVERLAY_FS",
    "CONFIG_VIRTIO_CONSOLE",
    "CONFIG_PERF_EVENTS",
    "CONFIG_TMPFS",
)
"""Symbols without which nothing can be measured on any tree."""

FORBIDDEN = (
    "CONFIG_KASAN",
    "CONFIG_KCSAN",
    "CONFIG_KMSAN",
    "CONFIG_UBSAN",
    "CONFIG_KCOV",
    "CONFIG_LOCKDEP",
    "CONFIG_PROVE_LOCKING",
    "CONFIG_PROVE_RCU",
    "CONFIG_LOCK_STAT",
    "CONFIG_DEBUG_LOCK_ALLOC",
    "CONFIG_DEBUG_SPINLOCK",
    "CONFIG_DEBUG_MUTEXES",
    "CONFIG_DEBUG_ATOMIC_SLEEP",
    "CONFIG_DEBUG_PREEMPT",
    "CONFIG_DEBUG_VM",
    "CONFIG_DEBUG_PAGEALLOC",
    "CONFIG_DEBUG_OBJECTS",
    "CONFIG_DEBUG_KMEMLEAK",
    "CONFIG_SLUB_DEBUG_ON",
    "CONFIG_FAULT_INJECTION",
    "CONFIG_GCOV_KERNEL",
)
"""Symbols with which a kernel is refused: their cost hides the measured code."""

_LIKELY_CAUSE: Mapping[str, str] = {
    "CONFIG_DEBUG_INFO_BTF": "pahole is missing or too old for this tree",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragments:
    """Configuration fragments in their order of application; a later line wins."""

    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @property
    def wanted(self) -> dict[str, str]:
        return parse_config(self.text)


def read_fragments(suites: Sequence[Suite], extra: Sequence[Path]) -> Fragments | Failure:
    """Reads our own fragment, the lines that these suites need, and then the user's fragments.

    The suites' lines are sorted, so the order of suites does not change the kernel.
    """
    texts = [(files("cliffwatch_runner.build") / "config" / "base.config").read_text()]
    texts += [f"{line}\n" for line in sorted({line for suite in suites for line in suite.config})]
    for path in extra:
        try:
            texts.append(path.read_text())
        except (OSError, UnicodeDecodeError) as error:
            return wrong_usage(f"the fragment {path} cannot be read: {error}", "check the path")
    return Fragments(text="\n".join(texts))


def parse_config(text: str) -> dict[str, str]:
    """Parses a .config or fragment into symbols and values; "n" for a symbol that is not set. Total."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        if match := _SET.fullmatch(line):
            values[match[1]] = match[2]
        elif match := _UNSET.fullmatch(line):
            values[match[1]] = "n"
    return values


def check_config(wanted: Mapping[str, str], config: str) -> tuple[Failure | None, tuple[str, ...]]:
    """Checks whether a generated .config can be measured.

    Returns a failure or None, and notes on unmet requests.

    kconfig silently drops a symbol whose dependencies are not met, so every requested symbol is checked.
    """
    made = parse_config(config)
    notes = tuple(
        f"{symbol} is {made.get(symbol, 'unknown to this tree')}, not {value}"
        for symbol, value in wanted.items()
        if made.get(symbol, "n") != value
    )
    missing = [symbol for symbol in REQUIRED if made.get(symbol, "n") != "y"]
    if missing:
        causes = "; ".join(filter(None, (_LIKELY_CAUSE.get(symbol) for symbol in missing)))
        return (
            kernel_failed(
                f"the configuration came out without {', '.join(missing)}",
                f"likely because {causes}"
                if causes
                else "see which dependency this tree asks for, and add it with --config",
            ),
            notes,
        )
    debug = [symbol for symbol in FORBIDDEN if made.get(symbol, "n") != "n"]
    if debug:
        return (
            wrong_usage(
                f"{', '.join(debug)} would be measured instead of the kernel",
                "remove it from the fragment that you gave with --config",
            ),
            notes,
        )
    return None, notes
