// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks one key of a per-CPU array up through bpf(2), and says what that costs, with the possible CPUs and nodes that the guest shows.
 *
 * Needs the kernel's headers and nothing else: no libbpf.
 */
#include <dirent.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As many that a tick of the kernel, which falls into the one boot and not into the other, is no per mille of them. */
#define LOOKUPS 400000
#define MOST_CPUS 4096

static uint64_t values[MOST_CPUS];

static long bpf(int command, union bpf_attr *attributes)
{
	return syscall(__NR_bpf, command, attributes, sizeof(*attributes));
}

/* The last number of a list such as 0-15, plus one. */
static int possible_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "r");
	int cpu = -1;

	while (file && fscanf(file, "%*[,-]") != EOF && fscanf(file, "%d", &cpu) == 1)
		;
	if (file)
		fclose(file);
	return cpu + 1;
}

/* A kernel without NUMA shows no folder of nodes: it has one. */
static int nodes(void)
{
	DIR *folder = opendir("/sys/devices/system/node");
	struct dirent *entry;
	int found = 0, number;

	while (folder && (entry = readdir(folder)))
		found += sscanf(entry->d_name, "node%d", &number) == 1;
	if (folder)
		closedir(folder);
	return found ? found : 1;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

int main(void)
{
	union bpf_attr create = {
		.map_type = BPF_MAP_TYPE_PERCPU_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(uint64_t),
		.max_entries = 1,
	};
	int cpus = possible_cpus(), map = bpf(BPF_MAP_CREATE, &create);
	uint32_t key = 0;
	uint64_t began;

	if (map < 0 || cpus < 1 || cpus > MOST_CPUS) {
		perror(map < 0 ? "percpu: bpf" : "percpu: possible CPUs");
		return 1;
	}
	began = now();
	for (int each = 0; each < LOOKUPS; each++) {
		union bpf_attr look = { .map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)values };

		if (bpf(BPF_MAP_LOOKUP_ELEM, &look)) {
			perror("percpu: lookup");
			return 1;
		}
	}
	printf("BenchmarkPercpuLookup %d %.3f ns/op %d cpus %d nodes\n", LOOKUPS, (double)(now() - began) / LOOKUPS, cpus,
	       nodes());
	return 0;
}
