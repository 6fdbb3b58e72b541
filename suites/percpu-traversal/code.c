// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs instruction by instruction. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "code.h"

#define LOG_BYTES (1 << 16)

u32 emit(struct code *code, u8 op, u8 to, u8 from, int offset, int number)
{
	if (code->count == LONGEST)
		give_up(UNSUPPORTED, "a program for so many CPUs is too long");
	code->insns[code->count] = (struct bpf_insn){ .code = op, .dst_reg = to, .src_reg = from, .off = offset, .imm = number };
	return code->count++;
}

void land(struct code *code, u32 jump)
{
	code->insns[jump].off = code->count - jump - 1;
}

void load_address(struct code *code, u8 to, u8 kind, int number)
{
	emit(code, BPF_LD | BPF_IMM | BPF_DW, to, kind, 0, number);
	emit(code, 0, 0, 0, 0, 0);
}

int load(struct code *code, union bpf_attr *attributes, const char *what)
{
	static char log[LOG_BYTES];
	int program;

	attributes->insns = (uintptr_t)code->insns;
	attributes->insn_cnt = code->count;
	attributes->license = (uintptr_t)"GPL";
	program = bpf(BPF_PROG_LOAD, attributes);
	if (program < 0) {
		int error = errno;

		attributes->log_buf = (uintptr_t)log;
		attributes->log_size = sizeof(log);
		attributes->log_level = 1;
		bpf(BPF_PROG_LOAD, attributes);
		fputs(log, stderr);
		errno = error;
		refused(what);
	}
	free(code);
	return program;
}

struct code *new_code(void)
{
	struct code *code = calloc(1, sizeof(*code));

	if (!code)
		give_up(1, "no memory for a program");
	return code;
}

