// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs at the entry and the exit of a kernel function, which put its time for an element into a histogram: 1024 buckets for each power
 * of two, so that a bucket is at most 0.1 % wide.
 */
#include <stddef.h>

#include "code.h"

#define LINEAR_BITS 10
#define LINEAR (1 << LINEAR_BITS)

/* Of union bpf_attr, where a batch function leaves how many elements it copied; its user's address is the third argument. */
#define COUNT offsetof(union bpf_attr, batch.count)
#define USER_ATTRIBUTES 16

static u32 find_histogram(struct code *code, int map)
{
	SET(code, 1, 0);
	STORE(code, BPF_W, 10, -4, 1);
	load_address(code, 1, BPF_PSEUDO_MAP_FD, map);
	MOV(code, 2, 10);
	BY(code, BPF_ADD, 2, -4);
	CALL(code, BPF_FUNC_map_lookup_elem);
	return JUMP(code, BPF_JEQ, 0, 0);
}

static void attach(struct code *code, u32 type, u32 function)
{
	union bpf_attr attributes = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = type,
		.attach_btf_id = function,
	};
	union bpf_attr open = {};

	open.raw_tracepoint.prog_fd = load(code, &attributes, "a probe of a kernel function is not loaded");
	if (bpf(BPF_RAW_TRACEPOINT_OPEN, &open) < 0)
		refused("a probe of a kernel function is not attached");
}

static void at_entry(u32 function, int map)
{
	struct code *code = new_code();
	u32 none = find_histogram(code, map);

	MOV(code, 6, 0);
	CALL(code, BPF_FUNC_ktime_get_ns);
	STORE(code, BPF_DW, 6, offsetof(struct histogram, began), 0);
	land(code, none);
	SET(code, 0, 0);
	EXIT(code);
	attach(code, BPF_TRACE_FENTRY, function);
}

/* Leaves in register 9 the bucket of the value in register 7. */
static void find_bucket(struct code *code)
{
	u32 small, done, beyond;

	MOV(code, 1, 7);
	SET(code, 8, 0);
	for (int step = 32; step; step /= 2) {
		u32 less;

		MOV(code, 2, 1);
		BY(code, BPF_RSH, 2, step);
		less = JUMP(code, BPF_JEQ, 2, 0);
		MOV(code, 1, 2);
		BY(code, BPF_ADD, 8, step);
		land(code, less);
	}
	MOV(code, 9, 7);
	small = JUMP(code, BPF_JLT, 8, LINEAR_BITS);
	MOV(code, 2, 8);
	BY(code, BPF_SUB, 2, LINEAR_BITS);
	WITH(code, BPF_RSH, 9, 2);
	BY(code, BPF_SUB, 8, LINEAR_BITS - 1);
	BY(code, BPF_LSH, 8, LINEAR_BITS);
	WITH(code, BPF_ADD, 9, 8);
	BY(code, BPF_SUB, 9, LINEAR);
	land(code, small);
	beyond = JUMP(code, BPF_JGE, 9, BUCKETS);
	done = JUMP(code, BPF_JA, 0, 0);
	land(code, beyond);
	SET(code, 9, BUCKETS - 1);
	land(code, done);
}

static void at_exit(u32 function, int map, enum counted counted)
{
	struct code *code = new_code();
	u32 none, empty;

	MOV(code, 9, 1);
	CALL(code, BPF_FUNC_ktime_get_ns);
	MOV(code, 7, 0);
	none = find_histogram(code, map);
	MOV(code, 6, 0);
	SET(code, 1, counted == ONE_ELEMENT);
	STORE(code, BPF_DW, 10, -16, 1);
	if (counted == BATCH) {
		MOV(code, 1, 10);
		BY(code, BPF_ADD, 1, -16);
		SET(code, 2, sizeof(u32));
		LOAD(code, BPF_DW, 3, 9, USER_ATTRIBUTES);
		BY(code, BPF_ADD, 3, COUNT);
		CALL(code, BPF_FUNC_probe_read_user);
	}
	LOAD(code, BPF_DW, 5, 10, -16);
	empty = JUMP(code, BPF_JEQ, 5, 0);
	LOAD(code, BPF_DW, 1, 6, offsetof(struct histogram, began));
	WITH(code, BPF_SUB, 7, 1);
	ADD_AT(code, 6, offsetof(struct histogram, sum), 7);
	ADD_AT(code, 6, offsetof(struct histogram, elements), 5);
	BY(code, BPF_MUL, 7, BUCKET_UNIT);
	WITH(code, BPF_DIV, 7, 5);
	find_bucket(code);
	BY(code, BPF_LSH, 9, 3);
	WITH(code, BPF_ADD, 6, 9);
	SET(code, 1, 1);
	ADD_AT(code, 6, offsetof(struct histogram, buckets), 1);
	land(code, none);
	land(code, empty);
	SET(code, 0, 0);
	EXIT(code);
	attach(code, BPF_TRACE_FEXIT, function);
}

int probe(const char *function, enum counted counted)
{
	u32 type = function_type(function);
	int map = make_map(BPF_MAP_TYPE_ARRAY, sizeof(u32), sizeof(struct histogram), 1, 0);

	at_exit(type, map, counted);
	at_entry(type, map);
	return map;
}

double histogram_value(u32 bucket)
{
	u32 power = bucket / LINEAR;
	double width = power ? (double)(1ull << (power - 1)) : 1;
	double low = power ? (LINEAR + bucket % LINEAR) * width : bucket;

	return (low + (width - 1) / 2) / BUCKET_UNIT;
}
