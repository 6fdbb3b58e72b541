// SPDX-License-Identifier: GPL-2.0-or-later
/* Which kinds of map there are here, and in which form one takes strings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maps.h"

#define MOST_TYPES 256
#define PREFIX "BPF_MAP_TYPE_"

static const struct {
	const char *name;
	struct variant variant;
} known[] = {
	/* The seed is zero, so that strings are in the same buckets in every boot. */
	{ "hash", { PREFIX "HASH", BPF_MAP_TYPE_HASH, BPF_F_ZERO_SEED, FIXED, 0 } },
	{ "hash-on-demand", { PREFIX "HASH", BPF_MAP_TYPE_HASH, BPF_F_ZERO_SEED | BPF_F_NO_PREALLOC, FIXED, 0 } },
	{ "lpm-trie", { PREFIX "LPM_TRIE", BPF_MAP_TYPE_LPM_TRIE, BPF_F_NO_PREALLOC, BIT_PREFIXED, 0 } },
};

/* Of linux 7.3. What a kernel has besides, somebody added. */
static const char *const released[] = {
	"UNSPEC", "HASH", "ARRAY", "PROG_ARRAY", "PERF_EVENT_ARRAY", "PERCPU_HASH", "PERCPU_ARRAY", "STACK_TRACE", "CGROUP_ARRAY", "LRU_HASH",
	"LRU_PERCPU_HASH", "LPM_TRIE", "ARRAY_OF_MAPS", "HASH_OF_MAPS", "DEVMAP", "SOCKMAP", "CPUMAP", "XSKMAP", "SOCKHASH", "CGROUP_STORAGE",
	"CGROUP_STORAGE_DEPRECATED", "REUSEPORT_SOCKARRAY", "PERCPU_CGROUP_STORAGE", "PERCPU_CGROUP_STORAGE_DEPRECATED", "QUEUE", "STACK",
	"SK_STORAGE", "DEVMAP_HASH", "STRUCT_OPS", "RINGBUF", "INODE_STORAGE", "TASK_STORAGE", "BLOOM_FILTER", "USER_RINGBUF", "CGRP_STORAGE",
	"ARENA", "INSN_ARRAY", "RHASH",
};

static int is_released(const char *name)
{
	for (u32 i = 0; i < sizeof(released) / sizeof(*released); i++)
		if (!strcmp(name + strlen(PREFIX), released[i]))
			return 1;
	return 0;
}

/* A second name of a type that was released is no other type. */
static u32 added_types(struct enumerator *added)
{
	struct enumerator types[MOST_TYPES];
	u32 count = enumerators(PREFIX, types, MOST_TYPES), kept = 0;

	if (!count)
		give_up(UNSUPPORTED, "the types of this kernel have no enum bpf_map_type");
	for (u32 i = 0; i < count; i++) {
		int taken = strncmp(types[i].name, PREFIX, strlen(PREFIX));

		for (u32 j = 0; j < count && !taken; j++)
			taken = types[j].value == types[i].value && !strncmp(types[j].name, PREFIX, strlen(PREFIX)) && is_released(types[j].name);
		if (!taken)
			added[kept++] = types[i];
	}
	return kept;
}

/* What goes wrong with a map of these strings, with errno; NULL where all of them are found with their values, and no other. */
static const char *fault_of(const struct variant *variant, int map)
{
	static const struct string strings[] = { { "probe", 5, 0 }, { "probe-of-a-layout", 17, 0 }, { "probes", 6, 0 }, { "another", 7, 0 } };
	u32 count = sizeof(strings) / sizeof(*strings), value;
	struct keys keys = make_keys(variant, strings, count, 0), absent = make_keys(variant, strings, count, 1);

	for (u32 i = 0; i < count; i++)
		if (put(map, key_of(&keys, i), i + 1))
			return "a string is not put in";
	for (u32 i = 0; i < count; i++) {
		if (look_up(map, key_of(&keys, i), &value))
			return "a string is not found";
		errno = 0;
		if (value != i + 1)
			return "a string is found with another's value";
		if (!look_up(map, key_of(&absent, i), &value))
			return "a string is found that is not in";
	}
	/* What follows the string is not of the key, or this is another layout. */
	if (variant->layout == LENGTH_PREFIXED || variant->layout == SHORT_LENGTH_PREFIXED) {
		((u8 *)key_of(&keys, 0))[variant->layout == LENGTH_PREFIXED ? 9 : 7] = 'x';
		if (look_up(map, key_of(&keys, 0), &value))
			return "what follows a string is of its key";
	}
	if (take_out(map, key_of(&keys, 1)))
		return "a string is not taken out";
	errno = 0;
	if (!look_up(map, key_of(&keys, 1), &value))
		return "a string is found that was taken out";
	if (look_up(map, key_of(&keys, 0), &value) || value != 1)
		return "a string went with another";
	return NULL;
}

/* What the flag by which a map is told that its keys have dynptrs is here; none in kernels that see it by the key's type. */
static u32 dynptr_flag(void)
{
	struct enumerator flags[MOST_TYPES];
	u32 count = enumerators("BPF_F_DYNPTR_", flags, MOST_TYPES);

	for (u32 i = 0; i < count; i++)
		if (!strcmp(flags[i].name, "BPF_F_DYNPTR_IN_KEY") || !strcmp(flags[i].name, "BPF_F_DYNPTR_KEY"))
			return flags[i].value;
	return 0;
}

/* Finds out how a type takes strings; where it does not, `why` says what became of each layout. */
static int find_layout(struct variant *variant, char *why, size_t room)
{
	static const enum layout tried[] = { FIXED, LENGTH_PREFIXED, SHORT_LENGTH_PREFIXED, DYNPTR };
	static const u32 flags[] = { BPF_F_ZERO_SEED, BPF_F_ZERO_SEED | BPF_F_NO_PREALLOC, 0, BPF_F_NO_PREALLOC };

	for (u32 i = 0; i < sizeof(tried) / sizeof(*tried); i++) {
		const char *fault = NULL;
		int error = 0;

		variant->layout = tried[i];
		for (u32 j = 0; j < sizeof(flags) / sizeof(*flags); j++) {
			int map;

			variant->flags = flags[j] | (tried[i] == DYNPTR ? dynptr_flag() : 0);
			map = try_map(variant, 8);
			if (map < 0 && !fault)
				error = errno;
			if (map < 0)
				continue;
			fault = fault_of(variant, map);
			error = errno;
			close(map);
			if (!fault)
				return 1;
		}
		snprintf(why + strlen(why), room - strlen(why), "%s %s: %s", i ? ";" : "", layout_names[tried[i]], fault ?: "no map is made");
		if (error)
			snprintf(why + strlen(why), room - strlen(why), " (%s)", error_text(error));
	}
	return 0;
}

static struct variant find_added(u32 place, u32 longest)
{
	struct enumerator added[MOST_TYPES];
	u32 count = added_types(added), found = 0;
	char why[2000] = "";

	for (u32 i = 0; i < count; i++) {
		struct variant variant = { .type_name = added[i].name, .type = added[i].value, .longest = longest };

		snprintf(why + strlen(why), sizeof(why) - strlen(why), "%s%s:", *why ? ". " : "", added[i].name);
		if (find_layout(&variant, why, sizeof(why)) && ++found == place)
			return variant;
	}
	if (!count)
		give_up(UNSUPPORTED, "this kernel has no map type beyond those of linux 7.3");
	if (found)
		give_up(UNSUPPORTED, "this kernel adds fewer than %u map types that take strings", place);
	give_up(UNSUPPORTED, "of the map types that this kernel adds none takes strings. %s", why);
}

struct variant find_variant(const char *name, u32 longest)
{
	for (u32 i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct variant variant = known[i].variant;

		variant.longest = longest;
		if (!strcmp(name, known[i].name))
			return variant;
	}
	if (!strcmp(name, "added"))
		return find_added(1, longest);
	if (!strcmp(name, "added-2"))
		return find_added(2, longest);
	give_up(2, "--map takes hash, hash-on-demand, lpm-trie, added and added-2");
}
