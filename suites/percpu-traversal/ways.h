/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways through a per-CPU hash map. */
#ifndef WAYS_H
#define WAYS_H

#include "kernel.h"

enum way { LOOKUP, BATCHES, DELETE, ITERATOR, FOREACH, WAYS };

/* A map with the way through it. `batch` is the number of elements of a batch; `handle` is the iterator's link or the program that walks. */
struct traversal {
	struct subject subject;
	enum way way;
	u32 batch;
	int handle;
	u64 expected;
	u32 *keys;
	char *values;
};

/* What is called around each piece of a traversal, with the elements that it gave: a lookup, a batch, a read of an iterator. May be empty. */
struct pieces {
	void (*begins)(void);
	void (*ends)(u32 elements);
};

enum way way_of(const char *name);
int in_batches(enum way way);

/* Makes and fills the map, and all that the way needs. Gives up where there is too little memory. */
void begin(struct traversal *traversal, u32 capacity, u32 percent, u32 value_size, u32 cpus);
/* Reads the whole map; gives up where elements are missing or, where `check`, a value is wrong. */
void traverse(struct traversal *traversal, const struct pieces *pieces, int check);
/* Puts back what a traversal deleted. */
void refill(struct traversal *traversal);
/* Probes the kernel function in which this way copies; gives the map of the histogram. */
int probe_traversal(const struct traversal *traversal);

#endif
