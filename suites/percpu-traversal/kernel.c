// SPDX-License-Identifier: GPL-2.0-or-later
/* bpf(2), and the types of vmlinux. */
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

#define VMLINUX "/sys/kernel/btf/vmlinux"
#define KIND_ENUM64 19
#define KIND_DECL_TAG 17

void give_up(int status, const char *form, ...)
{
	va_list arguments;

	va_start(arguments, form);
	fputs("percpu: ", stderr);
	vfprintf(stderr, form, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(status);
}

void refused(const char *what)
{
	int error = errno;
	/* ENOTSUPP is the kernel's own; EINVAL and E2BIG are what an older one says of what it does not know. */
	int unknown = error == EINVAL || error == E2BIG || error == EOPNOTSUPP || error == ENOSYS || error == 524;

	give_up(unknown ? UNSUPPORTED : 1, "%s: %s", what, error == 524 ? "not supported" : strerror(error));
}

long bpf(int command, union bpf_attr *attributes)
{
	return syscall(__NR_bpf, command, attributes, sizeof(*attributes));
}

int make_map(u32 type, u32 key_size, u32 value_size, u32 entries, u32 flags)
{
	union bpf_attr create = {
		.map_type = type,
		.key_size = key_size,
		.value_size = value_size,
		.max_entries = entries,
		.map_flags = flags,
	};
	int map = bpf(BPF_MAP_CREATE, &create);

	if (map < 0)
		refused("a map is not made");
	return map;
}

static char *read_whole(const char *path, size_t *size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	size_t have = 0;
	ssize_t got;
	char *content;

	if (file < 0 || fstat(file, &about))
		give_up(UNSUPPORTED, "this kernel shows no %s", path);
	content = malloc(about.st_size);
	while (content && have < (size_t)about.st_size) {
		got = read(file, content + have, about.st_size - have);
		if (got <= 0)
			break;
		have += got;
	}
	close(file);
	if (!content || have != (size_t)about.st_size)
		give_up(1, "%s cannot be read", path);
	*size = have;
	return content;
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

u32 function_type(const char *name)
{
	size_t size;
	char *content = read_whole(VMLINUX, &size);
	struct btf_header *header = (struct btf_header *)content;
	char *types, *end, *names;
	u32 id = 0, found = 0;

	if (size < sizeof(*header) || header->magic != BTF_MAGIC ||
	    (u64)header->hdr_len + header->type_off + header->type_len > size ||
	    (u64)header->hdr_len + header->str_off + header->str_len > size)
		give_up(1, "%s is not what it should be", VMLINUX);
	types = content + header->hdr_len + header->type_off;
	end = types + header->type_len;
	names = content + header->hdr_len + header->str_off;
	while (!found && types + sizeof(struct btf_type) <= end) {
		struct btf_type *type = (struct btf_type *)types;

		id++;
		if (BTF_INFO_KIND(type->info) == BTF_KIND_FUNC && type->name_off < header->str_len &&
		    !strcmp(names + type->name_off, name))
			found = id;
		types += sizeof(*type) + rest_of(type);
	}
	free(content);
	if (!found)
		give_up(UNSUPPORTED, "this kernel has no function %s that programs attach to", name);
	return found;
}
