/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings worked on by threads, each with a part of them. */
#ifndef PASSES_H
#define PASSES_H

#include "maps.h"

#define MOST_THREADS 64

enum operation { LOOKUP, UPDATE, DELETE, MIXED, OPERATIONS_KNOWN };

struct load {
	int map;
	enum operation operation;
	struct keys keys;
	u32 threads;
};

/* Puts all strings in, takes all out; gives up where one is not. */
void fill(const struct load *load);
void empty(const struct load *load);
/* ns of `rounds` passes over all strings, each from the first thread's begin to the last one's end. The map is full before and after, except of
 * `update`: empty.
 */
u64 passes(const struct load *load, u32 rounds, u32 threads);
/* Each string is in the full map with its value, one that differs in a letter is not, and in the empty one none is. */
void check(const struct load *load, const struct keys *absent);

#endif
