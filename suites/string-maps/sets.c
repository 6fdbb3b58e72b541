// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of strings: read, made different from each other, cut to size, put in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sets.h"

/* Of domain names that nobody named a file for. */
#define MOST_MADE 1000000

static void add(struct set *set, const char *text, size_t length)
{
	u64 hash = 0xcbf29ce484222325; /* FNV-1a, and the end of splitmix64 to spread it */

	if (!length || length > set->longest)
		return;
	if (!(set->count & (set->count - 1))) {
		set->strings = realloc(set->strings, sizeof(*set->strings) * (set->count ? 2 * set->count : 1));
		if (!set->strings)
			give_up(UNSUPPORTED, "no memory for the strings of %s", set->name);
	}
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (u8)text[i]) * 0x100000001b3;
	hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
	hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
	set->strings[set->count++] = (struct string){ text, length, hash ^ (hash >> 31) };
}

static void add_lines(struct set *set, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		add(set, text, length);
		text += length + (text[length] == '\n');
	}
}

/* Those of the kernel itself: programs that are loaded have symbols too, and a bracket behind them as modules have. */
static void add_symbols(struct set *set)
{
	size_t size;
	const char *line = read_whole("/proc/kallsyms", &size, UNSUPPORTED);

	while (*line) {
		size_t length = strcspn(line, "\n");
		const char *name = memchr(line, ' ', length);

		name = name ? memchr(name + 1, ' ', line + length - name - 1) : NULL;
		if (name && !memchr(name, '[', line + length - name))
			add(set, name + 1, line + length - name - 1);
		line += length + (line[length] == '\n');
	}
}

static void add_type_strings(struct set *set)
{
	size_t size, length;
	const char *text = type_strings(&size), *end = text + size;

	for (; text < end; text += length + 1) {
		length = strnlen(text, end - text);
		add(set, text, length);
	}
}

/* A file of the user's: a name a line, of which lists of the most visited ones have a rank and a comma before it. */
static void add_file(struct set *set, const char *path)
{
	size_t size;
	char *text = read_whole(path, &size, 2);
	u32 number = 0;

	if (!size || strlen(text) < size)
		give_up(2, "the file of --data is no text with a name a line: it %s", size ? "has a zero byte" : "is empty");
	while (*text) {
		size_t length = strcspn(text, "\r\n"), rank = strspn(text, "0123456789");

		number++;
		for (size_t i = 0; i < length; i++)
			if ((u8)text[i] <= ' ' || (u8)text[i] == 0x7f)
				give_up(2, "line %u of the file of --data is no name: it has a blank or a control character", number);
		if (rank && text[rank] == ',')
			add(set, text + rank + 1, length - rank - 1);
		else
			add(set, text, length);
		text += length;
		text += *text == '\r';
		text += *text == '\n';
	}
}

static int by_hash(const void *one, const void *other)
{
	const struct string *a = one, *b = other;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return memcmp(a->text, b->text, a->length);
}

static int by_bytes(const void *one, const void *other)
{
	const struct string *a = one, *b = other;
	int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);

	return order ?: (a->length > b->length) - (a->length < b->length);
}

static void keep_different(struct set *set)
{
	u32 kept = 0;

	for (u32 i = 0; i < set->count; i++)
		if (!kept || by_hash(&set->strings[kept - 1], &set->strings[i]))
			set->strings[kept++] = set->strings[i];
	set->count = kept;
}

struct set read_set(const char *name, u32 wanted, int sorted)
{
	const char *given = getenv("CLIFFWATCH_DATA");
	struct set set = { .name = name, .longest = 63 };

	if (!strcmp(name, "symbols")) {
		add_symbols(&set);
	} else if (!strcmp(name, "btf")) {
		add_type_strings(&set);
	} else if (!strcmp(name, "files")) {
		set.longest = 103;
		add_lines(&set, kernel_files());
	} else if (!strcmp(name, "domains") && given) {
		add_file(&set, given);
	} else if (!strcmp(name, "domains")) {
		wanted = wanted && wanted < MOST_MADE ? wanted : MOST_MADE;
		add_lines(&set, made_domains(wanted + wanted / 2 + 100));
	} else {
		give_up(2, "--set takes symbols, btf, files and domains");
	}
	/* By its hash a string is in or out whatever the others are: another one more moves one out and no other. */
	qsort(set.strings, set.count, sizeof(*set.strings), by_hash);
	keep_different(&set);
	if (!set.count || set.count < wanted)
		give_up(UNSUPPORTED, "%s has %u different strings of at most %u bytes, fewer than the %u of --keys",
			!strcmp(name, "domains") && given ? "the file of --data" : name, set.count, set.longest, wanted);
	if (wanted)
		set.count = wanted;
	if (sorted)
		qsort(set.strings, set.count, sizeof(*set.strings), by_bytes);
	return set;
}
