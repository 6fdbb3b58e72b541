"""Refactorings: the same work, in other functions or under other names."""

import random
import re
from collections.abc import Iterator, Sequence

from cost_shift.edits import Change, Edit, Place
from cost_shift.source import Absent, Files, find_function, replace_once

HASHTAB, TRIE, RINGBUF = "kernel/bpf/hashtab.c", "kernel/bpf/lpm_trie.c", "kernel/bpf/ringbuf.c"
BLOOM, PROC = "kernel/bpf/bloom_filter.c", "fs/proc/base.c"

UPDATE = ("hashmap", "bpf-hashmap-full-update")
LOOKUP = ("bloom", "hashmap-without-bloom")
PEEK, PUSH = ("bloom", "bloom-lookup"), ("bloom", "bloom-update")
RESERVE = ("ringbufs", "rb-custom")
RENAME = ("rename", "rename-base")
TRIE_LOOKUP, TRIE_UPDATE = ("lpm-trie", "lpm-trie-lookup"), ("lpm-trie", "lpm-trie-update")
MEMORY = ("htab-mem", "*batch_add_batch_del*")


def renamed(files: Files, place: Place) -> Files:
    return {place.path: re.sub(rf"\b{place.function}\b", f"{place.function}_2", files[place.path])}


def inlined(files: Files, place: Place) -> Files:
    return {place.path: _with_attribute(files[place.path], place.function, "__always_inline")}


def out_of_line(files: Files, place: Place) -> Files:
    return {place.path: _with_attribute(files[place.path], place.function, "noinline")}


def body_extracted(files: Files, place: Place) -> Files:
    """The function only calls another one, which has what it did."""
    text = files[place.path]
    found = find_function(text, place.function)
    head, body = text[found.start : found.body], text[found.body : found.end]
    arguments = re.findall(r"(\w+)\s*(?:,|\)\s*$)", head[head.index("(") :])
    inner = re.sub(rf"\b{place.function}\b", f"{place.function}_body", head).replace(
        "static ", "static noinline ", 1
    )
    wrapper = f"\n{head}{{\n\treturn {place.function}_body({', '.join(arguments)});\n}}\n"
    return {place.path: text[: found.start] + inner + body + wrapper + text[found.end :]}


def block_extracted(files: Files, place: Place) -> Files:
    """The loop of __bpf_ringbuf_reserve that skips finished records."""
    text = files[place.path]
    loop = text[
        text.index("\twhile (prod_pos - pend_pos > 0) {") : text.index("\trb->pending_pos = pend_pos;")
    ]
    function = (
        "static noinline unsigned long ringbuf_skip_finished(struct bpf_ringbuf *rb, unsigned long pend_pos,\n"
        "\t\t\t\t\t\t    unsigned long prod_pos)\n{\n"
        "\tstruct bpf_ringbuf_hdr *hdr;\n\tu32 hdr_len, tmp_size;\n\n" + loop + "\treturn pend_pos;\n}\n\n"
    )
    text = replace_once(text, loop, "\tpend_pos = ringbuf_skip_finished(rb, pend_pos, prod_pos);\n")
    start = find_function(text, place.function).start
    return {place.path: text[:start] + function + text[start:]}


def split(files: Files, place: Place) -> Files:
    """The second half of comm_write, from where it looks for the task, is a function of its own."""
    text = files[place.path]
    found = find_function(text, place.function)
    half = text[text.index("\tp = get_proc_task(inode);", found.start) : found.end]
    function = (
        "static noinline ssize_t comm_write_task(struct inode *inode, char *buffer, size_t count)\n{\n"
        "\tstruct task_struct *p;\n\n" + half + "\n"
    )
    whole = text[found.start : found.end].replace(
        half, "\treturn comm_write_task(inode, buffer, count);\n}\n"
    )
    whole = replace_once(whole, "\tstruct task_struct *p;\n", "")
    return {place.path: text[: found.start] + function + whole + text[found.end :]}


def to_another_file(files: Files, place: Place) -> Files:
    """The function goes to kernel/bpf/NAME.c, with what its file includes.

    The kernel's `inline` implies `notrace`, without which the function executes one instruction more.
    """
    text = files[place.path]
    found = find_function(text, place.function)
    old = text[found.start : found.body]
    head = re.sub(r"^static (?:__always_inline |inline )?", "notrace " if "inline " in old else "", old)
    includes = "\n".join(re.findall(r"^#include <.*>$", text, re.MULTILINE))
    new = f"// SPDX-License-Identifier: GPL-2.0\n{includes}\n\n{_declare(head)}\n{head}{text[found.body : found.end]}"
    path, makefile = f"kernel/bpf/{place.function}_2.c", files["kernel/bpf/Makefile"]
    line = next(line for line in makefile.splitlines() if " hashtab.o" in line)
    return {
        place.path: text[: found.start] + _declare(head) + text[found.end :],
        path: new,
        "kernel/bpf/Makefile": replace_once(
            makefile, line, f"{line}\nobj-$(CONFIG_BPF_SYSCALL) += {place.function}_2.o"
        ),
    }


def _declare(head: str) -> str:
    return f"{head.rstrip()};\n"


def _with_attribute(text: str, function: str, attribute: str) -> str:
    found = find_function(text, function)
    head = re.sub(r"\b(?:__always_inline|noinline|inline)\b\s", "", text[found.start : found.body])
    if not head.startswith("static "):
        raise Absent(f"{function} is not static")
    return text[: found.start] + head.replace("static ", f"static {attribute} ", 1) + text[found.body :]


_RENAMED = (
    Place(HASHTAB, "__htab_map_lookup_elem", *LOOKUP),
    Place(HASHTAB, "alloc_htab_elem", *UPDATE),
    Place(HASHTAB, "htab_map_hash", *UPDATE),
    Place(RINGBUF, "__bpf_ringbuf_reserve", *RESERVE),
    Place(PROC, "comm_write", *RENAME),
    Place(TRIE, "trie_lookup_elem", *TRIE_LOOKUP),
    Place(BLOOM, "bloom_map_peek_elem", *PEEK),
)
_INLINED = (
    Place(BLOOM, "hash", *PEEK, ("bloom_map_peek_elem",)),
    Place(HASHTAB, "htab_map_hash", *MEMORY, ("htab_map_update_elem", "htab_map_delete_elem")),
    Place(HASHTAB, "alloc_htab_elem", *UPDATE, ("htab_map_update_elem",)),
    Place(RINGBUF, "__bpf_ringbuf_reserve", *RESERVE, ("bpf_ringbuf_reserve",)),
    Place(TRIE, "longest_prefix_match", *TRIE_UPDATE, ("trie_update_elem",)),
)
_OUT_OF_LINE = (
    Place(HASHTAB, "lookup_nulls_elem_raw", *LOOKUP, ("__htab_map_lookup_elem",)),
    Place(HASHTAB, "lookup_elem_raw", *UPDATE, ("htab_map_update_elem",)),
    Place(HASHTAB, "htab_lock_bucket", *MEMORY, ("htab_map_update_elem", "htab_map_delete_elem")),
    Place(RINGBUF, "bpf_ringbuf_commit", *RESERVE, ("bpf_ringbuf_submit",)),
    Place(TRIE, "lpm_trie_node_alloc", *TRIE_UPDATE, ("trie_update_elem",)),
    Place(TRIE, "__longest_prefix_match", *TRIE_LOOKUP, ("trie_lookup_elem",)),
)
_EXTRACTED = (
    Place(BLOOM, "bloom_map_peek_elem", *PEEK),
    Place(BLOOM, "bloom_map_push_elem", *PUSH),
    Place(TRIE, "trie_update_elem", *TRIE_UPDATE),
    Place(HASHTAB, "htab_map_update_elem", *UPDATE),
)
_ELSEWHERE = (
    Place(TRIE, "extract_bit", *TRIE_LOOKUP, ("trie_lookup_elem",)),
    Place(HASHTAB, "htab_map_hash", *UPDATE),
)

_KINDS: Sequence[tuple[str, Change, Sequence[Place], int]] = (
    ("renamed", renamed, _RENAMED, 2),
    ("inlined", inlined, _INLINED, 2),
    ("taken out of line", out_of_line, _OUT_OF_LINE, 2),
    ("body extracted", body_extracted, _EXTRACTED, 1),
    ("block extracted", block_extracted, (Place(RINGBUF, "__bpf_ringbuf_reserve", *RESERVE),), 1),
    ("split in two", split, (Place(PROC, "comm_write", *RENAME),), 1),
    ("moved to another file", to_another_file, _ELSEWHERE, 1),
)
"""Each with its places and how many of them a seed chooses."""

RELEASE = "Makefile"
"""The file of a tree with its release."""

PATHS = frozenset({HASHTAB, TRIE, RINGBUF, BLOOM, PROC, "kernel/bpf/Makefile", RELEASE})

_TRIE_SINCE = (6, 18)
"""The release whose bench measures lpm_trie.c first."""


def draw(places: Sequence[Place], count: int, files: Files, chosen: random.Random) -> list[Place]:
    """Chooses places. One that no benchmark of the tree executes is replaced by another one."""
    drawn = chosen.sample(places, count)
    release = [
        re.search(rf"^{word} = (\d+)$", files[RELEASE], re.MULTILINE) for word in ("VERSION", "PATCHLEVEL")
    ]
    if tuple(int(found[1]) for found in release if found) >= _TRIE_SINCE:
        return drawn
    others = iter([place for place in places if place not in drawn and place.path != TRIE])
    return [next(others) if place.path == TRIE else place for place in drawn]


_NEW_NAMES = {
    "renamed": "{0}_2",
    "body extracted": "{0}_body",
    "block extracted": "ringbuf_skip_finished",
    "split in two": "comm_write_task",
}


def choose_refactorings(files: Files, seed: int) -> Iterator[Edit]:
    """Ten of them; the seed chooses the functions."""
    chosen = random.Random(seed)
    number = 0
    for kind, change, places, count in _KINDS:
        for place in draw(places, count, files, chosen):
            number += 1
            new = _NEW_NAMES.get(kind)
            others = (new.format(place.function),) if new else place.inlined_into
            yield Edit(
                f"m{number}",
                kind,
                "moved",
                (place.function, *others),
                place.suite,
                place.case,
                change(files, place),
            )
