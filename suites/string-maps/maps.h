/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps whose keys are strings, and the forms in which they take them. */
#ifndef MAPS_H
#define MAPS_H

#include "sets.h"

/* How a string stands in a key: padded with zeros; after its length in bits, as in an LPM trie, where its end is a zero; after its length in bytes,
 * of 32 or of 16 bits; or elsewhere, where a dynptr points to.
 */
enum layout { FIXED, BIT_PREFIXED, LENGTH_PREFIXED, SHORT_LENGTH_PREFIXED, DYNPTR, LAYOUTS };

extern const char *const layout_names[LAYOUTS];

/* A kind of map as it can be made: by what the kernel calls it, and with what it was found to take strings. */
struct variant {
	const char *type_name;
	u32 type;
	u32 flags;
	enum layout layout;
	u32 longest;
};

/* Keys in the form that a variant takes, one each `stride` bytes. */
struct keys {
	u8 *bytes;
	u32 stride;
	u32 count;
};

/* A kind of map by its name; of `added` the first type that this kernel has beyond those of linux 7.3 and that takes strings of up to `longest`
 * bytes, of `added-2` the second. Gives up where there is none.
 */
struct variant find_variant(const char *name, u32 longest);

/* Bytes of a key as the map is given it. */
u32 key_size(const struct variant *variant);

/* A new map, or -1 with errno. */
int try_map(const struct variant *variant, u32 entries);
/* A new map; gives up where there is no memory for it. */
int make_map(const struct variant *variant, u32 entries);

/* All strings as keys. Where `absent`, their last byte is one that no string has. */
struct keys make_keys(const struct variant *variant, const struct string *strings, u32 count, int absent);

static inline void *key_of(const struct keys *keys, u32 number)
{
	return keys->bytes + (size_t)number * keys->stride;
}

/* 0, or -1 with errno. */
int look_up(int map, const void *key, u32 *value);
int put(int map, const void *key, u32 value);
int take_out(int map, const void *key);

#endif
