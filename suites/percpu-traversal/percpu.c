// SPDX-License-Identifier: GPL-2.0-or-later
/* What it costs to read a per-CPU hash map from user space.
 *
 *   percpu --way WAY --entries N --fill PERCENT --value BYTES [--batch N|whole] [--probe]
 *
 * WAY is one of `lookup` (a system call for the key and one for the element), `batch` and `delete` (BPF_MAP_LOOKUP_BATCH and
 * BPF_MAP_LOOKUP_AND_DELETE_BATCH), `iter` (an iterator that adds up over the CPUs in the kernel) and `foreach` (bpf_for_each_map_elem(), adding
 * up too). With --probe the time is taken in the kernel, around the function that copies, and nothing is taken outside.
 *
 * Every element is checked before anything is measured. Ends with 4 where this kernel or guest cannot do it.
 */
#include <getopt.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"
#include "ways.h"

/* As many elements that a tick of the kernel, which falls into the one boot and not into the other, is no per mille of them. */
#define ELEMENTS 200000
#define LEAST_ROUNDS 3
#define MOST_READINGS (1 << 21)

static const double percentiles[] = { 10, 25, 50, 90, 95, 99.9 };

static u64 now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Readings of one piece of a traversal each, in ns for an element. */
static double *readings;
static u32 reading_count;
static u64 piece_began;

static void piece_begins(void)
{
	piece_began = now();
}

static void piece_ends(u32 elements)
{
	u64 took = now() - piece_began;

	if (elements && reading_count < MOST_READINGS)
		readings[reading_count++] = (double)took / elements;
}

static const struct pieces timed = { piece_begins, piece_ends };
static const struct pieces untimed;

static int in_order(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

/* The place of a percentile among so many readings in order, from 0; -1 where none of them lies beyond it, so that it says nothing. */
static long place_of(double percentile, u64 count)
{
	double share = percentile / 100;

	if (count * share < 1 || count * (1 - share) < 1)
		return -1;
	return (long)(count * share);
}

static void print_readings(void)
{
	qsort(readings, reading_count, sizeof(*readings), in_order);
	for (u32 i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++) {
		long place = place_of(percentiles[i], reading_count);

		if (place >= 0)
			printf(" %.3f p%g-ns/element", readings[place], percentiles[i]);
	}
}

static void print_histogram(const struct histogram *histogram)
{
	u64 count = 0;

	for (u32 bucket = 0; bucket < BUCKETS; bucket++)
		count += histogram->buckets[bucket];
	if (!count)
		give_up(1, "the probed function was never called");
	printf("BenchmarkPercpu %llu %.4f kernel-mean-ns/element", (unsigned long long)histogram->elements,
	       (double)histogram->sum / histogram->elements);
	for (u32 i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++) {
		long place = place_of(percentiles[i], count);
		u64 below = 0;
		u32 bucket = 0;

		if (place < 0)
			continue;
		while (bucket < BUCKETS - 1 && below + histogram->buckets[bucket] <= (u64)place)
			below += histogram->buckets[bucket++];
		printf(" %.4f kernel-p%g-ns/element", histogram_value(bucket), percentiles[i]);
	}
	printf("\n");
}

/* A counter of misses of the last-level cache, stopped; -1 where the machine has none. */
static int open_misses(void)
{
	struct perf_event_attr event = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(event),
		.config = PERF_COUNT_HW_CACHE_MISSES,
		.disabled = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return syscall(__NR_perf_event_open, &event, 0, -1, -1, 0);
}

static void print_misses(int counter, u64 elements)
{
	u64 content[3];

	/* A counter that took turns with another has guessed. */
	if (counter >= 0 && read(counter, content, sizeof(content)) == sizeof(content) && content[1] && content[1] == content[2])
		printf(" %.4f llc-misses/element", (double)content[0] / elements);
}

static void measure(struct traversal *traversal, u32 rounds)
{
	const struct subject *subject = &traversal->subject;
	u64 elements = (u64)rounds * subject->elements, took = 0, began;
	int misses = open_misses();

	for (u32 round = 0; round < rounds; round++) {
		if (misses >= 0)
			ioctl(misses, PERF_EVENT_IOC_ENABLE, 0);
		began = now();
		traverse(traversal, &untimed, 0);
		took += now() - began;
		if (misses >= 0)
			ioctl(misses, PERF_EVENT_IOC_DISABLE, 0);
		refill(traversal);
	}
	for (u32 round = 0; round < rounds && traversal->way != FOREACH; round++) {
		traverse(traversal, &timed, 0);
		refill(traversal);
	}
	printf("BenchmarkPercpu %llu %.4f ns/element %.4f ns/element/cpu %.3f us/dump", (unsigned long long)elements,
	       (double)took / elements, (double)took / elements / subject->cpus, took / 1000.0 / rounds);
	print_readings();
	print_misses(misses, elements);
	printf("\n");
}

static void measure_inside(struct traversal *traversal, u32 rounds)
{
	static struct histogram histogram;
	union bpf_attr look = { .key = (uintptr_t)&(u32){ 0 }, .value = (uintptr_t)&histogram };

	look.map_fd = probe_traversal(traversal);
	for (u32 round = 0; round < rounds; round++) {
		traverse(traversal, &untimed, 0);
		refill(traversal);
	}
	if (bpf(BPF_MAP_LOOKUP_ELEM, &look))
		refused("the histogram cannot be read");
	print_histogram(&histogram);
}

static u32 possible_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "r");
	u32 first, last, count = 0;
	int comma = ',';

	while (file && comma == ',' && fscanf(file, "%u", &first) == 1) {
		last = first;
		comma = fgetc(file);
		if (comma == '-' && fscanf(file, "%u", &last) == 1)
			comma = fgetc(file);
		count += last - first + 1;
	}
	if (!count)
		give_up(1, "the number of possible CPUs is not known");
	fclose(file);
	return count;
}

/* One thread on one CPU, with memory that no limit of old kernels keeps from maps. */
static void prepare(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	cpu_set_t here;

	setrlimit(RLIMIT_MEMLOCK, &all);
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
	readings = malloc(MOST_READINGS * sizeof(*readings));
	if (!readings)
		give_up(1, "no memory for readings");
}

static u32 number(const char *text, const char *option)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || !value || value > 1 << 24)
		give_up(2, "--%s %s is no number from 1 on", option, text);
	return value;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "way", required_argument, NULL, 'w' },   { "entries", required_argument, NULL, 'e' },
		{ "fill", required_argument, NULL, 'f' },  { "value", required_argument, NULL, 'v' },
		{ "batch", required_argument, NULL, 'b' }, { "probe", no_argument, NULL, 'p' },
		{},
	};
	struct traversal traversal = { .way = WAYS };
	u32 fill = 100, rounds, entries = 0, value = 0;
	int option, probed = 0;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'w')
			traversal.way = way_of(optarg);
		else if (option == 'e')
			entries = number(optarg, "entries");
		else if (option == 'f')
			fill = number(optarg, "fill");
		else if (option == 'v')
			value = number(optarg, "value");
		else if (option == 'b')
			traversal.batch = strcmp(optarg, "whole") ? number(optarg, "batch") : UINT32_MAX;
		else if (option == 'p')
			probed = 1;
		else
			return 2;
	}
	if (optind != argc || traversal.way == WAYS || !entries || fill > 100 || !value || value > 256 || value % 8 ||
	    !traversal.batch != !in_batches(traversal.way))
		give_up(2, "--way lookup|batch|delete|iter|foreach --entries N --fill PERCENT --value BYTES (8 to 256, by 8);"
			   " --batch N|whole with batch and delete alone");
	prepare();
	begin(&traversal, entries, fill, value, possible_cpus());
	traverse(&traversal, &untimed, 1);
	refill(&traversal);
	rounds = (ELEMENTS + traversal.subject.elements - 1) / traversal.subject.elements;
	if (rounds < LEAST_ROUNDS)
		rounds = LEAST_ROUNDS;
	if (probed)
		measure_inside(&traversal, rounds);
	else
		measure(&traversal, rounds);
	return 0;
}
