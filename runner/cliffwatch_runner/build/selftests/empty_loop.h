/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Included before progs/local_storage_bench.c of a kernel tree: takes the lookups of task local storage and of the inner hash map out of its
 * loop and leaves all else, as the author of the benchmark did it by hand (kernel commit 73087489250d, "overhead"). The lookup of the outer
 * map stays: it is what surrounds a lookup.
 *
 * A tree whose program calls its maps otherwise does not compile with it, and has no empty loop then.
 */
#define bpf_task_storage_get(map, task, value, flags) ((void)(map), (void)(task), (void)(value), (void)(flags), (void *)0)
#define bpf_map_lookup_elem(map, key) looked_up_in_##map(map, key)
#define looked_up_in_map(map, key) bpf_map_lookup_elem(map, key)
#define looked_up_in_inner_map(map, key) ((void)(map), (void)(key), (void *)0)
