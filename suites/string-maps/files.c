// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of the files of linux 6.12.117, in order. Of each the list has only what the name before it has not: the first letter of a line is '!'
 * and as many letters further as are taken over. One release for all kernels, so that they have the same keys.
 */
#include <string.h>

#include "sets.h"

#define LONGEST_PATH 128

__asm__(".section .rodata\n"
	"list_begins: .incbin \"linux-6.12.names\"\n"
	".byte 0\n"
	".previous\n");

extern const char list_begins[];

char *kernel_files(void)
{
	const char *line = list_begins;
	u32 count = 0;
	char *text, *end, *before;

	for (const char *at = line; *at; at++)
		count += *at == '\n';
	before = end = text = memory_for((size_t)count * LONGEST_PATH + 1);
	while (*line) {
		size_t shared = *line++ - '!', length = strcspn(line, "\n");
		char *name = end;

		end = mempcpy(mempcpy(end, before, shared), line, length);
		*end++ = '\n';
		before = name;
		line += length + 1;
	}
	return text;
}
