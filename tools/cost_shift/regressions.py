"""Real costs: one to a few instructions more in a function, about a thousandth of what an operation executes."""

import random
from collections.abc import Iterator

from cost_shift.edits import Change, Edit, Place
from cost_shift.refactorings import (
    BLOOM,
    HASHTAB,
    LOOKUP,
    MEMORY,
    PROC,
    PUSH,
    RENAME,
    RESERVE,
    RINGBUF,
    TRIE,
    TRIE_LOOKUP,
    TRIE_UPDATE,
    UPDATE,
    draw,
)
from cost_shift.source import Files, after_declarations, find_function, replace_once

MEMALLOC, READ_WRITE = "kernel/bpf/memalloc.c", "fs/read_write.c"


def _insert(declaration: str, statement: str) -> Change:
    """At the start of the function; the declaration stands before it."""

    def change(files: Files, place: Place) -> Files:
        text = files[place.path]
        found = find_function(text, place.function)
        at = after_declarations(text, found)
        return {
            place.path: text[: found.start] + declaration + text[found.start : at] + statement + text[at:]
        }

    return change


def hash_longer(files: Files, place: Place) -> Files:
    """One rotation and one addition more."""
    old = "\t\treturn jhash2(key, key_len / 4, hashrnd);\n"
    new = "\t\treturn rol32(jhash2(key, key_len / 4, hashrnd), 7) + key_len;\n"
    return {place.path: replace_once(files[place.path], old, new)}


_STATE = "static int planted_state;\n\n"
KINDS: dict[str, Change] = {
    "a test and branch": _insert(
        _STATE, '\tif (unlikely(READ_ONCE(planted_state)))\n\t\tpr_info_once("planted\\n");\n\n'
    ),
    "a load": _insert(_STATE, "\t(void)READ_ONCE(planted_state);\n\n"),
    "a store": _insert(_STATE, "\tWRITE_ONCE(planted_state, 1);\n\n"),
    "a loop of loads": _insert(
        _STATE, "\tfor (int planted = 0; planted < 2; planted++)\n\t\t(void)READ_ONCE(planted_state);\n\n"
    ),
    "a counter": _insert(
        "static DEFINE_PER_CPU(unsigned long, planted_count);\n\n", "\tthis_cpu_inc(planted_count);\n\n"
    ),
}

_PLACES = (
    Place(HASHTAB, "alloc_htab_elem", *MEMORY),
    Place(HASHTAB, "htab_map_delete_elem", *MEMORY),
    Place(HASHTAB, "htab_map_update_elem", *UPDATE),
    Place(HASHTAB, "free_htab_elem", *MEMORY),
    Place(MEMALLOC, "unit_alloc", *MEMORY, ("bpf_mem_cache_alloc",)),
    Place(TRIE, "trie_lookup_elem", *TRIE_LOOKUP),
    Place(TRIE, "trie_update_elem", *TRIE_UPDATE),
    Place(TRIE, "lpm_trie_node_alloc", *TRIE_UPDATE, ("trie_update_elem",)),
    Place(HASHTAB, "__htab_map_lookup_elem", *LOOKUP),
    Place(BLOOM, "bloom_map_push_elem", *PUSH),
    Place(RINGBUF, "bpf_ringbuf_commit", *RESERVE, ("bpf_ringbuf_submit",)),
    Place(READ_WRITE, "ksys_write", *RENAME),
    Place(PROC, "comm_write", *RENAME),
    Place(READ_WRITE, "vfs_write", *RENAME),
)
_HASH = Place(HASHTAB, "htab_map_hash", *UPDATE)

PATHS = frozenset(place.path for place in _PLACES)


def choose_regressions(files: Files, seed: int) -> Iterator[Edit]:
    """Ten of them: nine functions and what is added to each by the seed, and a hash of one round more."""
    chosen = random.Random(seed)
    kinds = [*KINDS] * 2
    chosen.shuffle(kinds)
    places = draw(_PLACES, 9, files, chosen)
    drawn = [(kind, KINDS[kind], place) for kind, place in zip(kinds, places, strict=False)]
    for number, (kind, change, place) in enumerate((*drawn, ("a longer hash", hash_longer, _HASH)), 1):
        yield Edit(
            f"r{number}",
            kind,
            "slower",
            (place.function, *place.inlined_into),
            place.suite,
            place.case,
            change(files, place),
        )
