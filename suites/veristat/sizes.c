// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded into veristat: says of every program that it loads with a log how
 * the load ended, from bpf_prog_info how large the program is as the kernel runs
 * it, and how long a load takes. veristat says the sizes itself only since linux
 * 6.15, and only its own loads are those that it counts.
 *
 * A program that was accepted is loaded again, without a log, and the fastest of
 * these loads counts: in others the kernel also found pages. Before each the
 * kernel has time to free what the load before left behind.
 *
 * libbpf loads through libc's syscall(), the one function replaced here. Its
 * probes of what the kernel can do ask for no statistics and are passed over.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOG_STATS 4
#define MOST_LOADS 10
#define REST_US 30000
#define ENOUGH_NS 50000000 /* of a long load two are enough: it varies little */

typedef long (*syscall_fn)(long, ...);

static syscall_fn real;

/* What libbpf writes to standard error then stands where it belongs. */
__attribute__((constructor)) static void write_line_by_line(void)
{
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
}

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* Nanoseconds of the fastest of several loads; 0 if it is not accepted again. */
static unsigned long long time_loads(const union bpf_attr *given, long size)
{
	unsigned long long best = 0, all = 0;

	for (int i = 0; i < MOST_LOADS && (i < 2 || all < ENOUGH_NS); i++) {
		union bpf_attr attr;
		unsigned long long took;
		long fd;

		memset(&attr, 0, sizeof(attr));
		memcpy(&attr, given, size < (long)sizeof(attr) ? size : (long)sizeof(attr));
		attr.log_level = 0;
		attr.log_size = 0;
		attr.log_buf = 0;
		usleep(REST_US);
		took = now();
		fd = real(SYS_bpf, BPF_PROG_LOAD, &attr, size < (long)sizeof(attr) ? size : (long)sizeof(attr));
		took = now() - took;
		if (fd < 0)
			return 0;
		close(fd);
		all += took;
		if (!best || took < best)
			best = took;
	}
	return best;
}

static void report_load(long fd, int error, unsigned long long took)
{
	struct bpf_prog_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	if (fd >= 0) {
		attr.info.bpf_fd = fd;
		attr.info.info_len = sizeof(info);
		attr.info.info = (unsigned long)&info;
		if (real(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
			memset(&info, 0, sizeof(info));
	}
	printf("cliffwatch: load %d xlated %u jited %u took %llu\n", error,
	       info.xlated_prog_len, info.jited_prog_len, took);
}

long syscall(long number, ...)
{
	long a[6], result;
	va_list list;
	int error;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);

	if (!real)
		real = (syscall_fn)dlsym(RTLD_NEXT, "syscall");
	result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD &&
	    (((union bpf_attr *)a[1])->log_level & LOG_STATS)) {
		error = errno;
		report_load(result, result < 0 ? error : 0,
			    result < 0 ? 0 : time_loads((union bpf_attr *)a[1], a[2]));
		errno = error;
	}
	return result;
}
