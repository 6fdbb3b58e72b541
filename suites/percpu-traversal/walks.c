// SPDX-License-Identifier: GPL-2.0-or-later
/* BPF programs that walk a map: an iterator, and bpf_for_each_map_elem(). */
#include <linux/btf.h>
#include <stddef.h>
#include <string.h>

#include "code.h"

/* Arguments of struct bpf_iter__bpf_map_elem. */
enum { META = 0, KEY = 16, VALUE = 24 };

int load_iterator(const struct subject *subject)
{
	union bpf_attr attributes = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = BPF_TRACE_ITER,
		.attach_btf_id = function_type("bpf_iter_bpf_map_elem"),
	};
	union bpf_iter_link_info info = { .map.map_fd = subject->map };
	union bpf_attr attach = {};
	struct code *code = new_code();
	int size = record_size(subject), program, link;
	u32 no_key, no_value;

	MOV(code, 6, 1);
	LOAD(code, BPF_DW, 7, 6, KEY);
	no_key = JUMP(code, BPF_JEQ, 7, 0);
	LOAD(code, BPF_DW, 8, 6, VALUE);
	no_value = JUMP(code, BPF_JEQ, 8, 0);
	LOAD(code, BPF_W, 1, 7, 0);
	STORE(code, BPF_DW, 10, -size, 1);
	for (u32 word = 0; word < subject->stride; word += 8) {
		SET(code, 1, 0);
		for (u32 cpu = 0; cpu < subject->cpus; cpu++) {
			u32 offset = cpu * subject->stride + word;

			/* An instruction's offset has 16 bits. */
			if (offset < 1 << 15) {
				LOAD(code, BPF_DW, 2, 8, offset);
			} else {
				MOV(code, 2, 8);
				BY(code, BPF_ADD, 2, offset);
				LOAD(code, BPF_DW, 2, 2, 0);
			}
			WITH(code, BPF_ADD, 1, 2);
		}
		STORE(code, BPF_DW, 10, -size + 8 + word, 1);
	}
	LOAD(code, BPF_DW, 1, 6, META);
	LOAD(code, BPF_DW, 1, 1, 0);
	MOV(code, 2, 10);
	BY(code, BPF_ADD, 2, -size);
	SET(code, 3, size);
	CALL(code, BPF_FUNC_seq_write);
	land(code, no_key);
	land(code, no_value);
	SET(code, 0, 0);
	EXIT(code);
	program = load(code, &attributes, "an iterator over the elements of maps is not loaded");
	attach.link_create.prog_fd = program;
	attach.link_create.attach_type = BPF_TRACE_ITER;
	attach.link_create.iter_info = (uintptr_t)&info;
	attach.link_create.iter_info_len = sizeof(info);
	link = bpf(BPF_LINK_CREATE, &attach);
	if (link < 0)
		refused("an iterator over the map is not attached");
	return link;
}

/* Callbacks must have types: a function without arguments that gives an int, under two names. */
static int callback_types(void)
{
	static const char names[] = "\0int\0walk\0add";
	struct {
		struct btf_header header;
		struct btf_type number;
		u32 encoding;
		struct btf_type prototype, walk, add;
		char names[sizeof(names)];
	} types = {
		.header = {
			.magic = BTF_MAGIC,
			.version = BTF_VERSION,
			.hdr_len = sizeof(struct btf_header),
			.type_len = 4 * sizeof(struct btf_type) + sizeof(u32),
			.str_off = 4 * sizeof(struct btf_type) + sizeof(u32),
			.str_len = sizeof(names),
		},
		.number = { .name_off = 1, .info = BTF_KIND_INT << 24, .size = 4 },
		.encoding = BTF_INT_SIGNED << 24 | 32,
		.prototype = { .info = BTF_KIND_FUNC_PROTO << 24, .type = 1 },
		.walk = { .name_off = 5, .info = BTF_KIND_FUNC << 24 | BTF_FUNC_GLOBAL, .type = 2 },
		.add = { .name_off = 10, .info = BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC, .type = 2 },
	};
	union bpf_attr attributes = { .btf = (uintptr_t)&types, .btf_size = offsetof(typeof(types), names) + sizeof(names) };
	int loaded;

	memcpy(types.names, names, sizeof(names));
	loaded = bpf(BPF_BTF_LOAD, &attributes);
	if (loaded < 0)
		refused("types of a callback are not loaded");
	return loaded;
}

int load_walk(const struct subject *subject)
{
	struct bpf_func_info functions[] = { { .insn_off = 0, .type_id = 3 }, { .type_id = 4 } };
	union bpf_attr attributes = {
		.prog_type = BPF_PROG_TYPE_SYSCALL,
		.prog_flags = BPF_F_SLEEPABLE,
		.prog_btf_fd = callback_types(),
		.func_info = (uintptr_t)functions,
		.func_info_cnt = 2,
		.func_info_rec_size = sizeof(functions[0]),
	};
	struct code *code = new_code();
	u32 callback, again, nothing;

	MOV(code, 6, 1);
	SET(code, 1, 0);
	STORE(code, BPF_DW, 10, -8, 1);
	load_address(code, 1, BPF_PSEUDO_MAP_FD, subject->map);
	callback = code->count;
	load_address(code, 2, BPF_PSEUDO_FUNC, 0);
	MOV(code, 3, 10);
	BY(code, BPF_ADD, 3, -8);
	SET(code, 4, 0);
	CALL(code, BPF_FUNC_for_each_map_elem);
	LOAD(code, BPF_DW, 1, 10, -8);
	STORE(code, BPF_DW, 6, 0, 1);
	STORE(code, BPF_DW, 6, 8, 0);
	SET(code, 0, 0);
	EXIT(code);

	/* add(map, key, value of this CPU, sum) */
	code->insns[callback].imm = code->count - callback - 1;
	functions[1].insn_off = code->count;
	MOV(code, 7, 2);
	MOV(code, 8, 4);
	SET(code, 9, 0);
	again = code->count;
	load_address(code, 1, BPF_PSEUDO_MAP_FD, subject->map);
	MOV(code, 2, 7);
	MOV(code, 3, 9);
	CALL(code, BPF_FUNC_map_lookup_percpu_elem);
	nothing = JUMP(code, BPF_JEQ, 0, 0);
	LOAD(code, BPF_DW, 1, 8, 0);
	for (u32 word = 0; word < subject->stride; word += 8) {
		LOAD(code, BPF_DW, 2, 0, word);
		WITH(code, BPF_ADD, 1, 2);
	}
	STORE(code, BPF_DW, 8, 0, 1);
	land(code, nothing);
	BY(code, BPF_ADD, 9, 1);
	emit(code, BPF_JMP | BPF_JLT | BPF_K, 9, 0, (int)again - (int)code->count - 1, subject->cpus);
	SET(code, 0, 0);
	EXIT(code);
	return load(code, &attributes, "a program that walks the map is not loaded");
}

void walk(int program, u64 *sum, u64 *elements)
{
	u64 context[2] = {};
	union bpf_attr attributes = {};

	attributes.test.prog_fd = program;
	attributes.test.ctx_in = (uintptr_t)context;
	attributes.test.ctx_size_in = sizeof(context);
	if (bpf(BPF_PROG_TEST_RUN, &attributes))
		refused("the program that walks the map does not run");
	*sum = context[0];
	*elements = context[1];
}
