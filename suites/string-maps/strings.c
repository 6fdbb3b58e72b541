// SPDX-License-Identifier: GPL-2.0-or-later
/* What it costs to keep strings in a map.
 *
 *   strings --op lookup|update|delete|mixed --map MAP --set SET --order unsorted|sorted --keys N|all [--threads N] [--memory]
 *           [--operations N]
 *
 * All operations are system calls, one for each string. `update` puts all strings into an empty map, `delete` takes all out of a full one; of
 * ten operations of `mixed` eight look up, one takes a string out, and one puts it back. With several threads each has a part of the strings, and
 * one thread alone is measured before.
 *
 * Every string is checked before anything is measured: that it is found with its value, and that one which differs in a letter is not. Ends with 4
 * where this kernel or guest cannot do it.
 */
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "passes.h"

/* As many, where --operations does not say it, that a tick of the kernel, which falls into the one boot and not into the other, is no per mille
 * of them.
 */
#define OPERATIONS 200000
/* Beside what the threads hold, so that a string that one takes out never waits for the others. */
#define SPARE 16
/* Of a map, for each string, beside its key: the value, and what links elements. */
#define BESIDE_KEY 200
/* By then the kernel has let go of what was a map's. */
#define SETTLE_US 2000000

static const char *const operation_names[] = { "lookup", "update", "delete", "mixed" };

struct memory {
	u64 said, held;
};

/* Checks a map of its own, in the control group if there is one. */
static struct memory take_measure(const struct variant *variant, struct load load, const struct keys *absent, u32 entries)
{
	u64 before = group_memory();
	struct memory memory = {};

	load.map = make_map(variant, entries);
	fill(&load);
	memory.said = said_memory(load.map);
	memory.held = group_memory();
	memory.held = memory.held > before ? memory.held - before : 0;
	check(&load, absent);
	close(load.map);
	return memory;
}

static void check_memory(const struct variant *variant, const struct set *set)
{
	/* Key, key that is absent, and the map twice: what is let go of one is not there for the other at once. */
	u64 needed = (u64)set->count * (4 * (variant->longest + 20) + 2 * BESIDE_KEY) + 32 * MIB, there = available_memory();

	/* A part is left to the kernel, which ends processes rather than wait for memory. */
	if (there && there - there / 4 < needed)
		give_up(UNSUPPORTED, "%u strings take %llu MiB, more than three quarters of the %llu that are free: use --memory", set->count,
			(unsigned long long)(needed / MIB), (unsigned long long)(there / MIB));
}

static void check_cpus(u32 threads)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) || (u32)CPU_COUNT(&allowed) < threads)
		give_up(UNSUPPORTED, "%u threads need as many CPUs, and this guest has %d", threads, CPU_COUNT(&allowed));
}

static void print_memory(const struct memory *memory, u32 count)
{
	if (memory->said)
		printf(" %llu memlock-B %.2f memlock-B/key", (unsigned long long)memory->said, (double)memory->said / count);
	if (memory->held)
		printf(" %llu memcg-B %.2f memcg-B/key", (unsigned long long)memory->held, (double)memory->held / count);
}

static void measure(const struct variant *variant, const struct set *set, struct load *load, u32 at_least, int with_memory)
{
	u32 count = set->count, entries = count + (load->threads > 1 ? load->threads * SPARE : 0);
	u32 rounds = (at_least + count - 1) / count;
	struct keys absent = make_keys(variant, set->strings, count, 1);
	struct memory memory;
	u64 took, alone = 0;
	/* What is done while all strings are gone through once. */
	u64 operations = load->operation == MIXED ? count + count / 8 * 2 : count;

	load->keys = make_keys(variant, set->strings, count, 0);
	if (with_memory)
		enter_group();
	memory = take_measure(variant, *load, &absent, entries);
	if (with_memory)
		leave_group();
	usleep(SETTLE_US);
	load->map = make_map(variant, entries);
	fill(load);
	if (load->operation == UPDATE)
		empty(load);
	if (load->threads > 1)
		alone = passes(load, rounds, 1);
	took = passes(load, rounds, load->threads);
	printf("map-type: %s\nkey-layout: %s\n", variant->type_name, layout_names[variant->layout]);
	printf("BenchmarkStrings %llu %.4f ns/op %.6f total-ms", (unsigned long long)(rounds * operations), (double)took / rounds / operations,
	       (double)took / rounds / 1000000);
	if (alone)
		printf(" %.4f speed-up-x", (double)alone / took);
	if (with_memory)
		print_memory(&memory, count);
	printf(" %u %s-key-B\n", key_size(variant), layout_names[variant->layout]);
}

static enum operation operation_of(const char *name)
{
	for (int operation = 0; operation < OPERATIONS_KNOWN; operation++)
		if (!strcmp(operation_names[operation], name))
			return operation;
	give_up(2, "--op takes lookup, update, delete and mixed");
}

static u32 number(const char *text, const char *option)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end || !value || value > 1 << 24)
		give_up(2, "%s takes a number from 1 to %d", option, 1 << 24);
	return value;
}

static int sorted(const char *order)
{
	if (strcmp(order, "sorted") && strcmp(order, "unsorted"))
		give_up(2, "--order takes unsorted and sorted");
	return !strcmp(order, "sorted");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "op", required_argument, NULL, 'o' },	   { "map", required_argument, NULL, 'm' },  { "set", required_argument, NULL, 's' },
		{ "order", required_argument, NULL, 'r' }, { "keys", required_argument, NULL, 'k' }, { "threads", required_argument, NULL, 't' },
		{ "memory", no_argument, NULL, 'M' },	   { "operations", required_argument, NULL, 'n' }, {},
	};
	const char *operation = NULL, *map = NULL, *name = NULL, *order = NULL, *keys = NULL;
	struct load load = { .threads = 1 };
	struct variant variant;
	u32 at_least = OPERATIONS;
	int with_memory = 0, choice;
	struct set set;

	while ((choice = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (choice) {
		case 'o': operation = optarg; break;
		case 'm': map = optarg; break;
		case 's': name = optarg; break;
		case 'r': order = optarg; break;
		case 'k': keys = optarg; break;
		case 't': load.threads = number(optarg, "--threads"); break;
		case 'M': with_memory = 1; break;
		case 'n': at_least = number(optarg, "--operations"); break;
		default: return 2;
		}
	}
	if (!operation || !map || !name || !order || !keys || optind < argc)
		give_up(2, "--op, --map, --set, --order and --keys are needed");
	if (load.threads > MOST_THREADS)
		give_up(2, "--threads takes a number from 1 to %d", MOST_THREADS);
	load.operation = operation_of(operation);
	check_cpus(load.threads);
	set = read_set(name, strcmp(keys, "all") ? number(keys, "--keys") : 0, sorted(order));
	variant = find_variant(map, set.longest);
	check_memory(&variant, &set);
	measure(&variant, &set, &load, at_least, with_memory);
	return 0;
}
