/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program asks of the kernel: bpf(2), and the types of vmlinux. Needs the kernel's UAPI headers alone: no libbpf, no clang. */
#ifndef KERNEL_H
#define KERNEL_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

/* The exit status that says: not here. */
#define UNSUPPORTED 4
#define MIB (1 << 20)

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

__attribute__((noreturn, format(printf, 2, 3))) void give_up(int status, const char *form, ...);

/* An error's words, the kernel's own ENOTSUPP among them. */
const char *error_text(int error);
/* Memory that is there, zeroed; gives up where there is none. */
void *memory_for(size_t size);

long bpf(int command, union bpf_attr *attributes);

/* The content of a file, of those under /proc too, with a NUL behind it. Gives up with `status` where it cannot be read. */
char *read_whole(const char *path, size_t *size, int status);

/* The strings of vmlinux's types, one after another with a NUL each. */
const char *type_strings(size_t *size);

struct enumerator {
	const char *name;
	u32 value;
};

/* Enumerators of the enum of vmlinux that has one whose name begins so; their number. Gives up where none has. */
u32 enumerators(const char *prefix, struct enumerator *found, u32 room);

#endif
