"""Checks the configuration of a kernel built elsewhere, and compares it with that of our own kernels."""

from collections.abc import Mapping

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.build.kernel_config import FORBIDDEN, read_fragments

BUILT_IN = {
    "CONFIG_X86_64": "guests are x86-64 machines",
    "CONFIG_BPF_SYSCALL": "there is no BPF without it",
    "CONFIG_BPF_JIT": "what is measured is compiled programs",
    "CONFIG_DEBUG_INFO_BTF": "bench needs the kernel's types (BTF)",
    "CONFIG_PERF_EVENTS": "programs attach to events",
    "CONFIG_TMPFS": "the guest's scratch space is memory",
    "CONFIG_DEVTMPFS": "the guest's devices appear in it",
}
"""Options that must be built into the image, with the reason."""

DRIVERS = {
    "CONFIG_VIRTIO_PCI": "virtio_pci",
    "CONFIG_VIRTIO_CONSOLE": "virtio_console",
    "CONFIG_NET_9P_VIRTIO": "9pnet_virtio",
    "CONFIG_9P_FS": "9p",
    "CONFIG_OVERLAY_FS": "overlay",
    "CONFIG_UNIX": "unix",
}
"""Options that must be in the image or be a module of this name.

Without them a guest cannot reach its root, its console or its udev.
"""

_FOR_MODULES = ("CONFIG_MODULES", "CONFIG_BLK_DEV_INITRD")

FORBIDDEN_HARDENING = ("CONFIG_UBSAN",)
"""Forbidden in our own kernels, but enabled by distributions, which check bounds with it."""

_HARDENING = (
    "CONFIG_CPU_MITIGATIONS",
    "CONFIG_SPECULATION_MITIGATIONS",
    "CONFIG_STACKPROTECTOR_STRONG",
    "CONFIG_FORTIFY_SOURCE",
    "CONFIG_HARDENED_USERCOPY",
    "CONFIG_INIT_ON_ALLOC_DEFAULT_ON",
    "CONFIG_INIT_ON_FREE_DEFAULT_ON",
    "CONFIG_ZERO_CALL_USED_REGS",
    "CONFIG_GCC_PLUGIN_STACKLEAK",
    "CONFIG_RANDOMIZE_BASE",
    "CONFIG_RANDOMIZE_MEMORY",
    "CONFIG_RANDOMIZE_KSTACK_OFFSET_DEFAULT",
    "CONFIG_RANDOM_KMALLOC_CACHES",
    "CONFIG_SLAB_FREELIST_RANDOM",
    "CONFIG_SLAB_FREELIST_HARDENED",
    "CONFIG_SLAB_BUCKETS",
    "CONFIG_SHUFFLE_PAGE_ALLOCATOR",
    "CONFIG_LIST_HARDENED",
    "CONFIG_BUG_ON_DATA_CORRUPTION",
    "CONFIG_SCHED_STACK_END_CHECK",
    "CONFIG_VMAP_STACK",
    "CONFIG_X86_KERNEL_IBT",
    "CONFIG_X86_USER_SHADOW_STACK",
    "CONFIG_CFI_CLANG",
    "CONFIG_KFENCE",
    "CONFIG_AUDITSYSCALL",
    *FORBIDDEN_HARDENING,
)
"""Options that our own fragment leaves out, because each slows down measured code."""


def forbidden_in_prebuilt() -> tuple[str, ...]:
    """Returns the options with which a prebuilt kernel is refused."""
    return tuple(symbol for symbol in FORBIDDEN if symbol not in FORBIDDEN_HARDENING)


def refuse_config(values: Mapping[str, str]) -> Failure | None:
    """Returns why a kernel with this configuration cannot be measured; None if it can."""
    if not values:
        return wrong_usage(
            "its configuration has no lines of one", "give the package that the kernel came in"
        )
    if values.get("CONFIG_DEBUG_INFO_BTF", "n") != "y":
        return refuse_without_btf("its configuration has no CONFIG_DEBUG_INFO_BTF=y")
    debug = [symbol for symbol in forbidden_in_prebuilt() if values.get(symbol, "n") != "n"]
    if debug:
        return wrong_usage(
            f"it is a debug kernel: {', '.join(debug)} would be measured instead of it",
            "take the distribution's kernel without debug options",
        )
    missing = [f"{symbol} ({why})" for symbol, why in BUILT_IN.items() if values.get(symbol, "n") != "y"]
    missing += [symbol for symbol in DRIVERS if values.get(symbol, "n") == "n"]
    if modules_wanted(values):
        missing += [symbol for symbol in _FOR_MODULES if values.get(symbol, "n") != "y"]
    if missing:
        return wrong_usage(
            f"it boots in no guest of ours, as it was built without {', '.join(missing)}",
            "take another flavour of it (of Debian's the one without `cloud` in its name)",
        )
    return None


def refuse_without_btf(reason: str) -> Failure:
    """Returns the refusal of a kernel that has no BTF."""
    return wrong_usage(
        f"it has no types (BTF), which bench is loaded with: {reason}",
        "take a kernel that is built with CONFIG_DEBUG_INFO_BTF=y",
    )


def modules_wanted(values: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the drivers that this kernel has as modules, in loading order."""
    return tuple(module for symbol, module in DRIVERS.items() if values.get(symbol) == "m")


def stated_differences(values: Mapping[str, str]) -> tuple[str, ...]:
    """Returns notes on options that differ from our own fragment, and on additional hardening.

    Differences without a cost in a running guest are left out: drivers as modules, and access to the
    configuration.
    """
    fragments = read_fragments((), ())
    assert not isinstance(fragments, Failure)
    notes = [
        f"{symbol} is {values.get(symbol, 'unknown to this tree')}, not {value}"
        for symbol, value in fragments.wanted.items()
        if values.get(symbol, "n") not in (value, "m") and not symbol.startswith("CONFIG_IKCONFIG")
    ]
    hardening = [symbol for symbol in _HARDENING if values.get(symbol, "n") != "n"]
    if hardening:
        notes.append(f"hardening that our own kernels do not have: {', '.join(hardening)}")
    return tuple(notes)
