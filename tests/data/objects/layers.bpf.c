// SPDX-License-Identifier: GPL-2.0
/* What the verifier does with it, and what it returns, depend on what a loader writes into it. */
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))

static void *(*const lookup)(void *map, const void *key) = (void *)1;

const volatile __u32 layers = 20;

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[2];
	__u32 *key;
	__u64 *value;
} rules SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	int (*max_entries)[2];
	__u32 *key;
	__u64 *value;
} seen SEC(".maps");

/* Its size is the loader's alone. */
struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	__u32 *key;
	__u64 *value;
} later SEC(".maps");

SEC("xdp")
int walk(struct xdp_md *ctx)
{
	__u32 last = layers - 1, sum = 0;

	for (__u32 i = 0; i < layers && i < 4000; i++) {
		sum += i ^ ctx->rx_queue_index;
		if (sum == 77)
			sum = 0;
	}
	lookup(&seen, &last);
	lookup(&later, &last);
	if (!lookup(&rules, &last))
		return XDP_DROP + (sum == 1);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
