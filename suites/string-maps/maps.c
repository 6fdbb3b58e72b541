// SPDX-License-Identifier: GPL-2.0-or-later
/* Keys of strings, and maps that take them. */
#include <errno.h>
#include <linux/btf.h>
#include <string.h>

#include "maps.h"

#define ABSENT '\1'

const char *const layout_names[LAYOUTS] = { "fixed", "bit-prefixed", "length-prefixed", "short-length-prefixed", "dynptr" };

/* As struct bpf_dynptr_user of the patches that give maps such keys. */
struct pointer {
	u64 data;
	u32 size;
	u32 reserved;
};

u32 key_size(const struct variant *variant)
{
	switch (variant->layout) {
	case BIT_PREFIXED:
	case LENGTH_PREFIXED:
		return sizeof(u32) + variant->longest + 1;
	case SHORT_LENGTH_PREFIXED:
		return sizeof(u16) + variant->longest + 1;
	case DYNPTR:
		return sizeof(struct pointer);
	default:
		return variant->longest + 1;
	}
}

static void write_key(const struct variant *variant, u8 *key, const char *text, u32 length)
{
	u32 bits = (length + 1) * 8;
	u16 short_length = length;
	struct pointer pointer = { .data = (uintptr_t)text, .size = length };

	switch (variant->layout) {
	case BIT_PREFIXED:
		memcpy(mempcpy(key, &bits, sizeof(bits)), text, length);
		break;
	case LENGTH_PREFIXED:
		memcpy(mempcpy(key, &length, sizeof(length)), text, length);
		break;
	case SHORT_LENGTH_PREFIXED:
		memcpy(mempcpy(key, &short_length, sizeof(short_length)), text, length);
		break;
	case DYNPTR:
		memcpy(key, &pointer, sizeof(pointer));
		break;
	default:
		memcpy(key, text, length);
	}
}

struct keys make_keys(const struct variant *variant, const struct string *strings, u32 count, int absent)
{
	/* Eight bytes at a time, so that pointers among them are aligned. */
	struct keys keys = { .stride = (key_size(variant) + 7) / 8 * 8, .count = count };
	size_t room = 0;
	char *copies;

	for (u32 i = 0; i < count; i++)
		room += strings[i].length;
	copies = memory_for(room);
	keys.bytes = memory_for((size_t)keys.stride * count);
	for (u32 i = 0; i < count; i++) {
		u32 length = strings[i].length;

		memcpy(copies, strings[i].text, length);
		if (absent)
			copies[length - 1] = ABSENT;
		write_key(variant, key_of(&keys, i), copies, length);
		copies += length;
	}
	return keys;
}

int look_up(int map, const void *key, u32 *value)
{
	union bpf_attr look = { .map_fd = map, .key = (uintptr_t)key, .value = (uintptr_t)value };

	return bpf(BPF_MAP_LOOKUP_ELEM, &look);
}

int put(int map, const void *key, u32 value)
{
	union bpf_attr update = { .map_fd = map, .key = (uintptr_t)key, .value = (uintptr_t)&value };

	return bpf(BPF_MAP_UPDATE_ELEM, &update);
}

int take_out(int map, const void *key)
{
	union bpf_attr delete = { .map_fd = map, .key = (uintptr_t)key };

	return bpf(BPF_MAP_DELETE_ELEM, &delete);
}

/* Types of a key that is a dynptr, and of the value: it is by the key's name that the kernel knows it. The key has number 3, the value 4. */
static int dynptr_types(void)
{
	static const char names[] = "\0u32\0u64\0bpf_dynptr\0opaque";
	struct {
		struct btf_header header;
		struct btf_type word;
		u32 word_encoding;
		struct btf_type words;
		struct btf_array array;
		struct btf_type key;
		struct btf_member opaque;
		struct btf_type value;
		u32 value_encoding;
		char names[sizeof(names)];
	} types = {
		.header = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(struct btf_header), .str_len = sizeof(names) },
		.word = { .name_off = 5, .info = BTF_KIND_INT << 24, .size = 8 },
		.word_encoding = 64,
		.words = { .info = BTF_KIND_ARRAY << 24 },
		.array = { .type = 1, .index_type = 4, .nelems = 2 },
		.key = { .name_off = 9, .info = BTF_KIND_STRUCT << 24 | 1, .size = sizeof(struct pointer) },
		.opaque = { .name_off = 20, .type = 2 },
		.value = { .name_off = 1, .info = BTF_KIND_INT << 24, .size = 4 },
		.value_encoding = 32,
	};
	union bpf_attr attributes = { .btf = (uintptr_t)&types, .btf_size = offsetof(typeof(types), names) + sizeof(names) };

	types.header.type_len = types.header.str_off = offsetof(typeof(types), names) - sizeof(types.header);
	memcpy(types.names, names, sizeof(names));
	return bpf(BPF_BTF_LOAD, &attributes);
}

int try_map(const struct variant *variant, u32 entries)
{
	union bpf_attr create = {
		.map_type = variant->type,
		.key_size = key_size(variant),
		.value_size = sizeof(u32),
		.max_entries = entries,
		.map_flags = variant->flags,
	};

	if (variant->layout == DYNPTR) {
		int types = dynptr_types();

		if (types < 0)
			return -1;
		create.btf_fd = types;
		create.btf_key_type_id = 3;
		create.btf_value_type_id = 4;
		create.map_extra = variant->longest;
	}
	return bpf(BPF_MAP_CREATE, &create);
}

int make_map(const struct variant *variant, u32 entries)
{
	int map = try_map(variant, entries);

	if (map < 0)
		give_up(errno == ENOMEM || errno == EINVAL || errno == E2BIG ? UNSUPPORTED : 1, "a map of %u strings, %s, is not made: %s", entries,
			variant->type_name, error_text(errno));
	return map;
}
