// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks keys up in a hash map through bpf(2), and says what one lookup costs: ns/op, and how many of them found nothing.
 *
 *   lookup --entries N
 *
 * The map holds the even numbers below 2 N. Looked up are the numbers of the file that CLIFFWATCH_DATA names, one a line, else all below 2 N.
 * Needs the kernel's headers and nothing else: no libbpf.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As many that a tick of the kernel, which falls into the one boot and not into the other, is no per mille of them. */
#define LOOKUPS 400000
#define MOST_KEYS 100000

static uint32_t keys[MOST_KEYS];

static long bpf(int command, union bpf_attr *attributes)
{
	return syscall(__NR_bpf, command, attributes, sizeof(*attributes));
}

static int make_map(uint32_t entries)
{
	union bpf_attr create = {
		.map_type = BPF_MAP_TYPE_HASH,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(uint64_t),
		.max_entries = entries,
	};
	int map = bpf(BPF_MAP_CREATE, &create);

	for (uint32_t entry = 0; map >= 0 && entry < entries; entry++) {
		uint32_t key = 2 * entry;
		uint64_t value = entry;
		union bpf_attr update = { .map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)&value };

		if (bpf(BPF_MAP_UPDATE_ELEM, &update))
			return -1;
	}
	return map;
}

static uint32_t read_keys(const char *path)
{
	FILE *file = fopen(path, "r");
	uint32_t count = 0;

	while (file && count < MOST_KEYS && fscanf(file, "%u", &keys[count]) == 1)
		count++;
	if (file)
		fclose(file);
	return count;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

int main(int argc, char **argv)
{
	uint32_t entries = argc == 3 && !strcmp(argv[1], "--entries") ? atoi(argv[2]) : 0;
	const char *data = getenv("CLIFFWATCH_DATA");
	uint32_t count = 0, rounds;
	uint64_t misses = 0, began, lookups;
	int map;

	if (!entries || entries > MOST_KEYS / 2) {
		fprintf(stderr, "lookup: give --entries N, at most %d\n", MOST_KEYS / 2);
		return 2;
	}
	while (!data && count < 2 * entries) {
		keys[count] = count;
		count++;
	}
	if (data)
		count = read_keys(data);
	map = make_map(entries);
	if (map < 0 || !count) {
		perror(map < 0 ? "lookup: bpf" : "lookup: no keys");
		return 1;
	}
	rounds = (LOOKUPS + count - 1) / count;
	lookups = (uint64_t)rounds * count;
	began = now();
	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t each = 0; each < count; each++) {
			uint64_t value;
			union bpf_attr look = { .map_fd = map, .key = (uintptr_t)&keys[each], .value = (uintptr_t)&value };

			misses += !!bpf(BPF_MAP_LOOKUP_ELEM, &look);
		}
	}
	printf("BenchmarkLookup %lu %.3f ns/op %.4f misses/op\n", lookups, (double)(now() - began) / lookups,
	       (double)misses / lookups);
	return 0;
}
