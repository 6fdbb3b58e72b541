// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ways.h"

/* An iterator of the kernel gives at most eight pages in a read. */
#define READ_BYTES (1 << 16)
#define MIB (1ull << 20)
/* The kernel's own, beside the values of an element: hash table, keys, pointers. */
#define BESIDE_VALUES 128

static const char *const names[WAYS] = { "lookup", "batch", "delete", "iter", "foreach" };

enum way way_of(const char *name)
{
	for (int way = 0; way < WAYS; way++)
		if (!strcmp(names[way], name))
			return way;
	return WAYS;
}

int in_batches(enum way way)
{
	return way == BATCHES || way == DELETE;
}

/* Keys spread over the numbers, so that no order of theirs is one of the map's. */
static u32 key_of(u32 element)
{
	return element * 2654435761u;
}

static u64 word_of(u32 key, u32 cpu, u32 word)
{
	return (u64)(key >> 16) + cpu * 3 + word;
}

static void fill(struct traversal *traversal)
{
	const struct subject *subject = &traversal->subject;
	u32 words = subject->stride / 8;
	u64 *value = calloc(subject->cpus, subject->stride);

	traversal->expected = 0;
	for (u32 element = 0; value && element < subject->elements; element++) {
		u32 key = key_of(element);
		union bpf_attr update = { .map_fd = subject->map, .key = (uintptr_t)&key, .value = (uintptr_t)value };

		for (u32 cpu = 0; cpu < subject->cpus; cpu++) {
			for (u32 word = 0; word < words; word++) {
				value[cpu * words + word] = word_of(key, cpu, word);
				traversal->expected += word_of(key, cpu, word);
			}
		}
		if (bpf(BPF_MAP_UPDATE_ELEM, &update))
			give_up(errno == ENOMEM ? UNSUPPORTED : 1, "the map is not filled: %s", strerror(errno));
	}
	if (!value)
		give_up(1, "no memory for a value");
	free(value);
}

static u64 available_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[200];
	unsigned long long kib = 0;

	while (file && fgets(line, sizeof(line), file) && sscanf(line, "MemAvailable: %llu", &kib) != 1)
		;
	if (file)
		fclose(file);
	return kib << 10;
}

/* Elements that are read at a time. */
static u32 at_a_time(const struct traversal *traversal)
{
	return in_batches(traversal->way) ? traversal->batch : 1;
}

static void check_memory(const struct traversal *traversal)
{
	const struct subject *subject = &traversal->subject;
	u64 element = (u64)subject->cpus * subject->stride + BESIDE_VALUES;
	u64 needed = element * (subject->capacity + at_a_time(traversal)) + 32 * MIB, there = available_memory();

	/* A part is left to the kernel, which ends processes rather than wait for memory. */
	if (there && there - there / 4 < needed)
		give_up(UNSUPPORTED, "the map takes %llu MiB, more than three quarters of the %llu that are free: use --memory",
			needed / MIB, there / MIB);
}

void begin(struct traversal *traversal, u32 capacity, u32 percent, u32 value_size, u32 cpus)
{
	struct subject *subject = &traversal->subject;
	size_t size;

	*subject = (struct subject){
		.capacity = capacity,
		.elements = (u64)capacity * percent / 100 ?: 1,
		.value_size = value_size,
		.stride = (value_size + 7) / 8 * 8,
		.cpus = cpus,
	};
	if (traversal->batch > capacity)
		traversal->batch = capacity;
	check_memory(traversal);
	subject->map = make_map(BPF_MAP_TYPE_PERCPU_HASH, sizeof(u32), value_size, capacity, BPF_F_ZERO_SEED);
	fill(traversal);
	size = (size_t)at_a_time(traversal) * cpus * subject->stride;
	if (size < READ_BYTES)
		size = READ_BYTES;
	traversal->keys = calloc(at_a_time(traversal), sizeof(u32));
	traversal->values = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	if (!traversal->keys || !traversal->values)
		give_up(UNSUPPORTED, "no memory for a batch of %u elements", at_a_time(traversal));
	memset(traversal->values, 0, size);
	if (traversal->way == ITERATOR)
		traversal->handle = load_iterator(subject);
	else if (traversal->way == FOREACH)
		traversal->handle = load_walk(subject);
}

static u64 added_up(const u64 *words, size_t count)
{
	u64 sum = 0;

	for (size_t word = 0; word < count; word++)
		sum += words[word];
	return sum;
}

struct found {
	u32 elements;
	u64 sum;
};

static void piece_begins(const struct pieces *pieces)
{
	if (pieces->begins)
		pieces->begins();
}

static void piece_ends(const struct pieces *pieces, u32 elements)
{
	if (pieces->ends)
		pieces->ends(elements);
}

static struct found by_lookup(struct traversal *traversal, const struct pieces *pieces, int check)
{
	const struct subject *subject = &traversal->subject;
	struct found found = {};
	u32 key, before;

	for (;;) {
		union bpf_attr next = { .map_fd = subject->map, .next_key = (uintptr_t)&key };
		union bpf_attr look = { .map_fd = subject->map, .key = (uintptr_t)&key };

		piece_begins(pieces);
		next.key = found.elements ? (uintptr_t)&before : 0;
		look.value = (uintptr_t)traversal->values;
		if (bpf(BPF_MAP_GET_NEXT_KEY, &next)) {
			if (errno != ENOENT)
				refused("the next key is not found");
			return found;
		}
		if (bpf(BPF_MAP_LOOKUP_ELEM, &look))
			refused("an element is not looked up");
		piece_ends(pieces, 1);
		before = key;
		found.elements++;
		if (check)
			found.sum += added_up((u64 *)traversal->values, subject->cpus * subject->stride / 8);
	}
}

static struct found by_batches(struct traversal *traversal, const struct pieces *pieces, int check)
{
	const struct subject *subject = &traversal->subject;
	int command = traversal->way == DELETE ? BPF_MAP_LOOKUP_AND_DELETE_BATCH : BPF_MAP_LOOKUP_BATCH;
	struct found found = {};
	u32 place = 0;
	int ended;

	do {
		union bpf_attr batch = {};
		u32 count;

		batch.batch.in_batch = found.elements ? (uintptr_t)&place : 0;
		batch.batch.out_batch = (uintptr_t)&place;
		batch.batch.keys = (uintptr_t)traversal->keys;
		batch.batch.values = (uintptr_t)traversal->values;
		batch.batch.count = traversal->batch;
		batch.batch.map_fd = subject->map;
		piece_begins(pieces);
		ended = bpf(command, &batch);
		count = batch.batch.count;
		if (ended && errno == ENOSPC)
			give_up(1, "a bucket of the map holds more elements than a batch of %u", traversal->batch);
		if (ended && errno != ENOENT)
			refused("a batch is not read");
		piece_ends(pieces, count);
		found.elements += count;
		if (check)
			found.sum += added_up((u64 *)traversal->values, (size_t)count * subject->cpus * subject->stride / 8);
	} while (!ended);
	return found;
}

static struct found by_iterator(struct traversal *traversal, const struct pieces *pieces)
{
	u32 size = record_size(&traversal->subject);
	union bpf_attr create = {};
	struct found found = {};
	ssize_t got;
	int iterator;

	create.iter_create.link_fd = traversal->handle;
	piece_begins(pieces);
	iterator = bpf(BPF_ITER_CREATE, &create);
	if (iterator < 0)
		refused("an iterator is not made");
	while ((got = read(iterator, traversal->values, READ_BYTES)) > 0) {
		u32 records = got / size;

		if (got % size)
			give_up(1, "the iterator gave half a record");
		piece_ends(pieces, records);
		for (u32 record = 0; record < records; record++)
			found.sum += added_up((u64 *)(traversal->values + record * size) + 1, size / 8 - 1);
		found.elements += records;
		piece_begins(pieces);
	}
	if (got < 0)
		refused("the iterator is not read");
	close(iterator);
	return found;
}

void traverse(struct traversal *traversal, const struct pieces *pieces, int check)
{
	struct found found = {};
	u64 elements = 0;

	switch (traversal->way) {
	case LOOKUP:
		found = by_lookup(traversal, pieces, check);
		break;
	case ITERATOR:
		found = by_iterator(traversal, pieces);
		check = 1;
		break;
	case FOREACH:
		walk(traversal->handle, &found.sum, &elements);
		found.elements = elements;
		check = 1;
		break;
	default:
		found = by_batches(traversal, pieces, check);
	}
	if (found.elements != traversal->subject.elements)
		give_up(1, "%u elements were read, and the map has %u", found.elements, traversal->subject.elements);
	if (check && found.sum != traversal->expected)
		give_up(1, "the values that were read are not those that were written");
}

void refill(struct traversal *traversal)
{
	if (traversal->way == DELETE)
		fill(traversal);
}

int probe_traversal(const struct traversal *traversal)
{
	switch (traversal->way) {
	case LOOKUP:
		return probe("bpf_percpu_hash_copy", ONE_ELEMENT);
	case BATCHES:
		return probe("htab_percpu_map_lookup_batch", BATCH);
	case DELETE:
		return probe("htab_percpu_map_lookup_and_delete_batch", BATCH);
	default:
		give_up(2, "--probe is for lookup, batch and delete: of the other ways no function copies alone");
	}
}
