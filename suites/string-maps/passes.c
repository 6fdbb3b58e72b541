// SPDX-License-Identifier: GPL-2.0-or-later
/* Operations on all strings of a map, timed. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "passes.h"

/* A thread's part of the strings, and when it worked on them. */
struct part {
	const struct load *load;
	pthread_barrier_t *together;
	u32 cpu, first, end;
	u64 began, ended, sum;
};

static u64 now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static u32 value_of(u32 key)
{
	return key * 2654435761u;
}

static void failed(const char *what)
{
	give_up(errno == ENOMEM ? UNSUPPORTED : 1, "%s: %s", what, error_text(errno));
}

static void put_in(const struct load *load, u32 key)
{
	if (put(load->map, key_of(&load->keys, key), value_of(key)))
		failed("a string is not put in");
}

static void take_away(const struct load *load, u32 key)
{
	if (take_out(load->map, key_of(&load->keys, key)))
		failed("a string is not taken out");
}

static u32 found(const struct load *load, u32 key)
{
	u32 value;

	if (look_up(load->map, key_of(&load->keys, key), &value))
		failed("a string is not found");
	return value;
}

void fill(const struct load *load)
{
	for (u32 key = 0; key < load->keys.count; key++)
		put_in(load, key);
}

void empty(const struct load *load)
{
	for (u32 key = 0; key < load->keys.count; key++)
		take_away(load, key);
}

static u64 work(const struct load *load, u32 first, u32 end)
{
	u64 sum = 0;

	switch (load->operation) {
	case LOOKUP:
		for (u32 key = first; key < end; key++)
			sum += found(load, key);
		break;
	case UPDATE:
		for (u32 key = first; key < end; key++)
			put_in(load, key);
		break;
	case DELETE:
		for (u32 key = first; key < end; key++)
			take_away(load, key);
		break;
	default:
		for (u32 key = first; key < end; key++) {
			sum += found(load, key);
			if (key % 8 == 7) {
				take_away(load, key);
				put_in(load, key);
			}
		}
	}
	return sum;
}

static void go_to(u32 place)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(getpid(), sizeof(allowed), &allowed))
		return;
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !place--)
			CPU_SET(cpu, &one);
	if (CPU_COUNT(&one) && pthread_setaffinity_np(pthread_self(), sizeof(one), &one))
		give_up(1, "a thread does not stay on its CPU");
}

static void *do_part(void *argument)
{
	struct part *part = argument;

	if (part->together) {
		go_to(part->cpu);
		pthread_barrier_wait(part->together);
	}
	part->began = now();
	part->sum = work(part->load, part->first, part->end);
	part->ended = now();
	return NULL;
}

static void run_threads(struct part *parts, u32 count)
{
	pthread_t threads[MOST_THREADS];
	pthread_barrier_t together;

	pthread_barrier_init(&together, NULL, count);
	for (u32 i = 0; i < count; i++) {
		parts[i].together = &together;
		parts[i].cpu = i;
		if (pthread_create(&threads[i], NULL, do_part, &parts[i]))
			give_up(UNSUPPORTED, "no memory for %u threads", count);
	}
	for (u32 i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&together);
}

/* ns from the first thread's begin to the last one's end, of all strings once. */
static u64 pass(const struct load *load, u32 threads)
{
	struct part parts[MOST_THREADS] = {};
	u64 count = load->keys.count, began = UINT64_MAX, ended = 0, sum = 0, expected = 0;

	for (u32 i = 0; i < threads; i++)
		parts[i] = (struct part){ .load = load, .first = count * i / threads, .end = count * (i + 1) / threads };
	if (threads == 1)
		do_part(&parts[0]);
	else
		run_threads(parts, threads);
	for (u32 i = 0; i < threads; i++) {
		began = parts[i].began < began ? parts[i].began : began;
		ended = parts[i].ended > ended ? parts[i].ended : ended;
		sum += parts[i].sum;
	}
	for (u32 key = 0; key < count && (load->operation == LOOKUP || load->operation == MIXED); key++)
		expected += value_of(key);
	if (sum != expected)
		give_up(1, "the values that were found are not those that were put in");
	return ended - began;
}

u64 passes(const struct load *load, u32 rounds, u32 threads)
{
	u64 took = 0;

	for (u32 round = 0; round < rounds; round++) {
		took += pass(load, threads);
		if (load->operation == UPDATE)
			empty(load);
		else if (load->operation == DELETE)
			fill(load);
	}
	return took;
}

void check(const struct load *load, const struct keys *absent)
{
	u32 value;

	for (u32 key = 0; key < load->keys.count; key++) {
		if (found(load, key) != value_of(key))
			give_up(1, "a string is found with another's value");
		if (!look_up(load->map, key_of(absent, key), &value))
			give_up(1, "a string is found that was not put in");
	}
	empty(load);
	for (u32 key = 0; key < load->keys.count; key++)
		if (!look_up(load->map, key_of(&load->keys, key), &value))
			give_up(1, "a string is found that was taken out");
}
