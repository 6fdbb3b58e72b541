/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sets of strings that maps are filled with. */
#ifndef SETS_H
#define SETS_H

#include "kernel.h"

struct string {
	const char *text;
	u32 length;
	u64 hash;
};

struct set {
	const char *name;
	u32 longest; /* bytes of a string; longer ones are left out */
	struct string *strings;
	u32 count;
};

/* A set by its name, with `wanted` strings (0: all that it has, or a million domain names that are made), each once, in the order of their hashes or of their bytes. Gives up where there
 * is no such set, or too few strings.
 */
struct set read_set(const char *name, u32 wanted, int sorted);

/* `count` names of a generator, a line each; some come twice. */
char *made_domains(u32 count);

/* The files of linux 6.12, a path a line. */
char *kernel_files(void);

#endif
