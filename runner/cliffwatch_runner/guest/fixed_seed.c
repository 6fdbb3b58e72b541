// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes chance out of a benchmark, for measurements that count instructions.
 *
 * A hash map draws a seed when it is created, so the same keys lie in other
 * chains in every run: with ten keys in a full table the mean chain alone
 * moves a lookup by a per cent. Preloaded into bench, this library asks for
 * the seed 0 (BPF_F_ZERO_SEED, linux 5.0) wherever bench creates a hash or a
 * bloom filter map, and answers its getrandom() from a fixed sequence. Both go
 * through libc's syscall(), the one function replaced here.
 *
 * And bench begins on a whole second of the guest's clock, so that ticks and
 * timers meet it in the same places in every boot. Otherwise it begins wherever
 * the clock has leapt to while the guest waited for its host, and now and then
 * a tick falls between its reading of the time and of the counter: 0.02 %.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef long (*syscall_fn)(long, ...);

static uint64_t state = 0x9e3779b97f4a7c15ULL;

/* splitmix64, Steele, Lea and Flood, OOPSLA 2014 */
static uint64_t next_number(void)
{
	uint64_t z = __atomic_add_fetch(&state, 0x9e3779b97f4a7c15ULL,
					__ATOMIC_RELAXED);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static long fill(unsigned char *to, size_t size)
{
	for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
		uint64_t number = next_number();
		size_t left = size - done;

		memcpy(to + done, &number,
		       left < sizeof(number) ? left : sizeof(number));
	}
	return (long)size;
}

__attribute__((constructor)) static void begin_on_a_second(void)
{
	struct timespec begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	begin.tv_sec += 1;
	begin.tv_nsec = 0;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &begin, NULL);
}

static int is_seeded(uint32_t map_type)
{
	switch (map_type) {
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
	case BPF_MAP_TYPE_HASH_OF_MAPS:
	case 30: /* BPF_MAP_TYPE_BLOOM_FILTER, younger than some headers */
		return 1;
	default:
		return 0;
	}
}

long syscall(long number, ...)
{
	static syscall_fn real;
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);

	if (number == SYS_getrandom)
		return fill((unsigned char *)a[0], (size_t)a[1]);
	if (number == SYS_bpf && a[0] == BPF_MAP_CREATE) {
		union bpf_attr *attr = (union bpf_attr *)a[1];

		if (is_seeded(attr->map_type))
			attr->map_flags |= BPF_F_ZERO_SEED;
	}
	if (!real)
		real = (syscall_fn)dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
