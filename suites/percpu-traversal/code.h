/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing BPF programs for the number of CPUs and the size of values at hand. */
#ifndef CODE_H
#define CODE_H

#include "kernel.h"

#define LONGEST (1 << 18)

struct code {
	struct bpf_insn insns[LONGEST];
	u32 count;
};

struct code *new_code(void);
/* Adds an instruction; gives its place. */
u32 emit(struct code *code, u8 op, u8 to, u8 from, int offset, int number);
/* Lets a jump end here. */
void land(struct code *code, u32 jump);
void load_address(struct code *code, u8 to, u8 kind, int number);
/* Loads the program and lets go of its code; gives up with `what` and the verifier's log where it is refused. */
int load(struct code *code, union bpf_attr *attributes, const char *what);

#define MOV(code, to, from) emit(code, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(code, to, number) emit(code, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number)
#define WITH(code, op, to, from) emit(code, BPF_ALU64 | (op) | BPF_X, to, from, 0, 0)
#define BY(code, op, to, number) emit(code, BPF_ALU64 | (op) | BPF_K, to, 0, 0, number)
#define LOAD(code, size, to, from, offset) emit(code, BPF_LDX | BPF_MEM | (size), to, from, offset, 0)
#define STORE(code, size, to, offset, from) emit(code, BPF_STX | BPF_MEM | (size), to, from, offset, 0)
#define ADD_AT(code, to, offset, from) emit(code, BPF_STX | 0xc0 | BPF_DW, to, from, offset, BPF_ADD)
#define CALL(code, helper) emit(code, BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT(code) emit(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* A jump whose target land() says later. */
#define JUMP(code, op, register, number) emit(code, BPF_JMP | (op) | BPF_K, register, 0, 0, number)

#endif
