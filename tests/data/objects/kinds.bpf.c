// SPDX-License-Identifier: GPL-2.0
/* Programs of several types, some of which BPF_PROG_RUN does not run. */
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))

static long (*const adjust_head)(struct xdp_md *ctx, int delta) = (void *)44;

SEC("xdp")
int head(struct xdp_md *ctx)
{
	adjust_head(ctx, -4);
	return XDP_PASS;
}

SEC("xdp")
int wild(struct xdp_md *ctx)
{
	return *(int *)(long)ctx->data;
}

SEC("raw_tp/any")
int raw(unsigned long *args)
{
	return args[0] + args[1];
}

SEC("kprobe/do_exit")
int probe(void *ctx)
{
	return 0;
}

SEC("fentry/bpf_fentry_test1")
int entry(void *ctx)
{
	return 0;
}

char _license[] SEC("license") = "GPL";
