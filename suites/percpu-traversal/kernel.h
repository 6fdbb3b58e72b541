/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program asks of the kernel: bpf(2), types of vmlinux, and BPF programs written as instructions. Needs the kernel's UAPI headers alone:
 * no libbpf, no clang.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <linux/bpf.h>
#include <stdint.h>

/* The exit status that says: not here. */
#define UNSUPPORTED 4

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

/* A per-CPU hash map as it was filled: `stride` bytes of each element for each of `cpus` possible CPUs. */
struct subject {
	int map;
	u32 capacity;
	u32 elements;
	u32 value_size;
	u32 stride;
	u32 cpus;
};

/* What probes in the kernel leave; histogram_value() says what a bucket is of. */
#define BUCKETS (55 * 1024)
#define BUCKET_UNIT 16

struct histogram {
	u64 began;
	u64 sum;
	u64 elements;
	u64 buckets[BUCKETS];
};

/* One record of what the iterator writes: the key, and each word of the value added up over the CPUs. */
static inline u32 record_size(const struct subject *subject)
{
	return 8 + subject->stride;
}

__attribute__((noreturn, format(printf, 2, 3))) void give_up(int status, const char *form, ...);
/* Says why a system call did not work: UNSUPPORTED where the kernel has not what was asked for. */
__attribute__((noreturn)) void refused(const char *what);

long bpf(int command, union bpf_attr *attributes);
int make_map(u32 type, u32 key_size, u32 value_size, u32 entries, u32 flags);

/* The type of a function in the BTF of vmlinux; gives up where the kernel has none of that name. */
u32 function_type(const char *name);

/* Links of an iterator over the map, each read gives records; and of a program that walks the map by bpf_for_each_map_elem(). */
int load_iterator(const struct subject *subject);
int load_walk(const struct subject *subject);
/* Runs the walk: the sum of all words of all values, and the number of elements. */
void walk(int program, u64 *sum, u64 *elements);

enum counted { ONE_ELEMENT, BATCH };

/* Takes the time of each call of a kernel function, an element's or a batch's, into a histogram; gives the map that holds it. */
int probe(const char *function, enum counted counted);
/* ns for an element, in the middle of a bucket. */
double histogram_value(u32 bucket);

#endif
