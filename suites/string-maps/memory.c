// SPDX-License-Identifier: GPL-2.0-or-later
/* What a map takes: what the kernel says of it, and what a memory control group holds. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

static char root[] = "/tmp/strings-XXXXXX";
static int in_group;

/* The number behind a word at the beginning of a line; 0 where there is none. */
static u64 number_in(const char *path, const char *word)
{
	FILE *file = fopen(path, "r");
	unsigned long long number = 0;
	char line[200];

	while (file && !number && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			number = strtoull(line + strlen(word), NULL, 10);
	if (file)
		fclose(file);
	return number;
}

u64 said_memory(int map)
{
	char path[100];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map);
	return number_in(path, "memlock:");
}

u64 available_memory(void)
{
	return number_in("/proc/meminfo", "MemAvailable:") << 10;
}

static int wrote(const char *where, const char *what)
{
	char path[200];
	int file, done;

	snprintf(path, sizeof(path), "%s/%s", root, where);
	file = open(path, O_WRONLY | O_CLOEXEC);
	done = file >= 0 && write(file, what, strlen(what)) == (ssize_t)strlen(what);
	if (file >= 0)
		close(file);
	return done;
}

void enter_group(void)
{
	char path[200];

	/* The mount is seen by this process alone, and ends with it. */
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || !mkdtemp(root))
		return;
	snprintf(path, sizeof(path), "%s/strings", root);
	in_group = !mount("cgroup2", root, "cgroup2", 0, NULL) && wrote("cgroup.subtree_control", "+memory") && !mkdir(path, 0700) &&
		   wrote("strings/cgroup.procs", "0");
}

u64 group_memory(void)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/strings/memory.stat", root);
	return in_group ? number_in(path, "kernel ") : 0;
}

void leave_group(void)
{
	char path[200];

	if (in_group)
		wrote("cgroup.procs", "0");
	snprintf(path, sizeof(path), "%s/strings", root);
	rmdir(path);
	umount2(root, MNT_DETACH);
	rmdir(root);
}
