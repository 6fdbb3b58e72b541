// SPDX-License-Identifier: GPL-2.0-or-later
/* bpf(2), and the types of vmlinux. */
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

#define VMLINUX "/sys/kernel/btf/vmlinux"
#define KIND_DECL_TAG 17
#define KIND_ENUM64 19

void give_up(int status, const char *form, ...)
{
	va_list arguments;

	va_start(arguments, form);
	fputs("strings: ", stderr);
	vfprintf(stderr, form, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(status);
}

const char *error_text(int error)
{
	return error == 524 ? "not supported" : strerror(error);
}

void *memory_for(size_t size)
{
	void *memory = calloc(1, size ?: 1);

	if (!memory)
		give_up(UNSUPPORTED, "no memory for %zu MiB", size / MIB);
	return memory;
}

long bpf(int command, union bpf_attr *attributes)
{
	return syscall(__NR_bpf, command, attributes, sizeof(*attributes));
}

char *read_whole(const char *path, size_t *size, int status)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0, room = MIB;
	char *content = malloc(room);
	ssize_t got = -1;

	while (file >= 0 && content && (got = read(file, content + have, room - have - 1)) > 0) {
		have += got;
		if (have + 1 == room)
			content = realloc(content, room *= 2);
	}
	if (got < 0)
		give_up(status, "%s cannot be read: %s", path, strerror(errno));
	if (!content)
		give_up(UNSUPPORTED, "no memory for %s", path);
	close(file);
	content[have] = '\0';
	*size = have;
	return content;
}

/* The types of vmlinux, read once. */
static const struct btf_header *types_header(void)
{
	static struct btf_header *header;
	size_t size;

	if (header)
		return header;
	header = (struct btf_header *)read_whole(VMLINUX, &size, UNSUPPORTED);
	if (size < sizeof(*header) || header->magic != BTF_MAGIC ||
	    (u64)header->hdr_len + header->type_off + header->type_len > size ||
	    (u64)header->hdr_len + header->str_off + header->str_len > size)
		give_up(1, "%s is not what it should be", VMLINUX);
	return header;
}

const char *type_strings(size_t *size)
{
	const struct btf_header *header = types_header();

	*size = header->str_len;
	return (const char *)header + header->hdr_len + header->str_off;
}

/* Bytes that follow a type's header. */
static size_t rest_of(const struct btf_type *type)
{
	u32 count = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case KIND_DECL_TAG:
		return sizeof(u32);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return count * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return count * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return count * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return count * sizeof(struct btf_var_secinfo);
	case KIND_ENUM64:
		return count * 3 * sizeof(u32);
	default:
		return 0;
	}
}

u32 enumerators(const char *prefix, struct enumerator *found, u32 room)
{
	const struct btf_header *header = types_header();
	const char *types = (const char *)header + header->hdr_len + header->type_off;
	const char *end = types + header->type_len;
	size_t size, length = strlen(prefix);
	const char *names = type_strings(&size);

	while (types + sizeof(struct btf_type) <= end) {
		const struct btf_type *type = (const struct btf_type *)types;
		const struct btf_enum *each = (const struct btf_enum *)(type + 1);
		u32 count = BTF_INFO_VLEN(type->info), kept = 0;
		int is_it = 0;

		types += sizeof(*type) + rest_of(type);
		if (BTF_INFO_KIND(type->info) != BTF_KIND_ENUM || types > end)
			continue;
		for (u32 i = 0; i < count && kept < room; i++) {
			if (each[i].name_off >= size)
				give_up(1, "%s is not what it should be", VMLINUX);
			found[kept++] = (struct enumerator){ names + each[i].name_off, each[i].val };
			is_it |= !strncmp(names + each[i].name_off, prefix, length);
		}
		if (is_it)
			return kept;
	}
	return 0;
}
