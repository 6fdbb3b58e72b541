"""Which suites a source file concerns, for every suite of the catalogue and for real paths of linux 6.12 to
6.18.
"""

import pytest

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.touches import find_touched_suites, is_pattern

HASH_MAPS = {"hashmap", "htab-mem", "percpu-traversal", "string-maps"}

PATHS = {
    "kernel/bpf/bpf_local_storage.c": {"local-storage", "local-storage-create"},
    "kernel/bpf/bpf_task_storage.c": {"local-storage", "local-storage-create"},
    "include/linux/bpf_local_storage.h": {"local-storage"},
    "net/core/bpf_sk_storage.c": {"local-storage-create"},
    "kernel/bpf/ringbuf.c": {"ringbufs"},
    "kernel/events/ring_buffer.c": {"ringbufs"},
    "kernel/bpf/hashtab.c": HASH_MAPS,
    "kernel/bpf/percpu_freelist.c": {"hashmap", "htab-mem"},
    "kernel/bpf/memalloc.c": {"htab-mem"},
    "kernel/bpf/bloom_filter.c": {"bloom"},
    "kernel/bpf/lpm_trie.c": {"lpm-trie", "string-maps"},
    "kernel/bpf/map_iter.c": {"percpu-traversal"},
    "kernel/bpf/inode.c": {"cilium-ebpf"},
    "kernel/bpf/crypto.c": {"crypto"},
    "kernel/bpf/helpers.c": {"strncmp"},
    "kernel/bpf/bpf_iter.c": {"loops", "percpu-traversal"},
    "kernel/bpf/verifier.c": {"veristat"},
    "tools/testing/selftests/bpf/progs/pyperf600.c": {"veristat"},
    "kernel/bpf/trampoline.c": {"attaching", "rename", "trigger"},
    "lib/rhashtable.c": {"hashmap", "htab-mem"},
    "kernel/trace/fprobe.c": {"trigger"},
    "kernel/trace/trace_kprobe.c": {"rename", "trigger"},
    "kernel/events/uprobes.c": {"uprobes"},
    "arch/x86/kernel/uprobes.c": {"uprobes"},
    "kernel/rcu/tasks.h": {"tasks-trace"},
    "net/core/sock_map.c": {"sockmap"},
    "net/core/skmsg.c": {"sockmap"},
    "net/ipv4/tcp_bpf.c": {"sockmap"},
    "arch/x86/net/bpf_jit_comp.c": {"loops", "rename", "prog-run", "trigger", "veristat", "xdp-lb"},
    "net/core/filter.c": {"prog-run", "xdp-lb"},
    "Documentation/bpf/ringbuf.rst": set(),
    "drivers/net/ethernet/intel/ice/ice_main.c": set(),
    "tools/testing/selftests/bpf/benchs/bench_ringbufs.c": (
        set()
    ),  # one bench serves both kernels, with its libbpf
    "tools/lib/bpf/ringbuf.c": set(),
}


@pytest.mark.parametrize(("path", "suites"), PATHS.items(), ids=list(PATHS))
def test_a_source_file_chooses_its_suites(path: str, suites: set[str]) -> None:
    assert set(find_touched_suites(load_catalogue().suites, [path])) == suites


def test_every_suite_is_chosen_by_a_file_of_the_table() -> None:
    """But the harness, which measures no part of the kernel that a patch is for."""
    chosen = set().union(*PATHS.values())
    assert {suite.name for suite in load_catalogue().suites} - chosen == {"harness"}


@pytest.mark.parametrize(
    "text", ["/kernel/bpf/core.c", "../core.c", "kernel/../core.c", "kernel/bpf/core.c\n", "", "a b"]
)
def test_a_pattern_is_a_path_in_a_kernel_tree(text: str) -> None:
    assert not is_pattern(text)
    assert is_pattern("kernel/bpf/*")
