// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs the programs of a BPF object by BPF_PROG_RUN and takes the time of a
 * run: prog-run OBJECT MILLISECONDS [--data FILE] [--ctx FILE]
 *
 * Built with the tree's libbpf. Prints lines PROGRAM\tWHAT\tTEXT:
 *
 *	ns/run		time of one run, five times
 *	overhead	the same of a program that only returns
 *	retval		what the last run returned
 *	packet-changed	1 if a run changes its packet
 *	refused		why the kernel does not load it
 *	unsupported	why BPF_PROG_RUN does not run it
 *	failed		why it could not be measured
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READINGS 5
#define MOST_RUNS (1u << 22)
#define ROOM 8192 /* by which a program may lengthen its packet */
#define KERNEL_ENOTSUPP 524
#define LOOPBACK 1
#define GENERIC_XDP (1u << 1) /* XDP_FLAGS_SKB_MODE */

struct input {
	void *bytes;
	unsigned int size;
};

struct subject {
	const char *name;
	int fd;
	struct input data, ctx;
	void *out;
	unsigned int out_size;
	bool one_by_one; /* each run has a packet of its own, and a system call */
	bool whole; /* a call costs too much: the kernel's own time, in whole nanoseconds */
	unsigned int took;
	unsigned int retval;
};

static char verifier_log[1 << 20], libbpf_said[256];

static int keep_message(enum libbpf_print_level level, const char *format,
			va_list args)
{
	char line[256];

	vsnprintf(line, sizeof(line), format, args);
	if (level == LIBBPF_WARN && !libbpf_said[0] &&
	    !strstr(line, "Retrying") && !strstr(line, "BPF program load failed"))
		memcpy(libbpf_said, line, sizeof(line));
	return 0;
}

static void say(const char *program, const char *what, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
	printf("%s\t%s\t%s\n", program, what, text);
}

static bool read_input(const char *name, struct input *input)
{
	struct stat about;
	int file = open(name, O_RDONLY);

	if (file < 0 || fstat(file, &about) || !(input->bytes = malloc(about.st_size + 1)) ||
	    read(file, input->bytes, about.st_size) != about.st_size) {
		fprintf(stderr, "%s cannot be read: %s\n", name, strerror(errno));
		return false;
	}
	input->size = about.st_size;
	close(file);
	return true;
}

/* The last line of the verifier's log that is neither a statistic nor a state. */
static const char *verifiers_word(void)
{
	const char *word = "";
	char *rest = verifier_log;

	for (char *line; (line = strsep(&rest, "\n"));)
		if (line[0] && line[0] != ';' && strncmp(line, "processed ", 10) &&
		    strspn(line, "0123456789") == 0)
			word = line;
	return word;
}

static const char *reason_of_load(int error)
{
	const char *word = verifiers_word();

	return word[0] ? word : libbpf_said[0] ? libbpf_said : strerror(error);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* One call. Returns 0 or the errno. */
static int call(struct subject *s, unsigned int runs, unsigned int *size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = s->data.bytes,
		    .data_size_in = s->data.size, .ctx_in = s->ctx.bytes,
		    .ctx_size_in = s->ctx.size, .data_out = s->out,
		    .data_size_out = s->out_size, .repeat = runs);
	int error = bpf_prog_test_run_opts(s->fd, &opts) ? errno : 0;

	s->retval = opts.retval;
	s->took = opts.duration;
	if (size)
		*size = opts.data_size_out;
	return error;
}

/* Nanoseconds of so many runs; negative if one cannot be made. */
static double batch(struct subject *s, unsigned int runs)
{
	double begun = now();

	if (!s->one_by_one) {
		if (call(s, runs, NULL))
			return -1;
	} else {
		for (unsigned int i = 0; i < runs; i++)
			if (call(s, s->data.bytes ? 1 : 0, NULL))
				return -1;
	}
	return now() - begun;
}

/* Twice the runs less the runs: what a call costs by itself falls out. */
static bool measure(struct subject *s, const char *what, unsigned int runs)
{
	for (int i = 0; i < READINGS; i++) {
		double once = batch(s, runs), twice = batch(s, 2 * runs);

		if (once < 0 || twice < 0) {
			say(s->name, "failed", "BPF_PROG_RUN: %s", strerror(errno));
			return false;
		}
		say(s->name, what, "%.4f",
		    s->whole ? s->took :
		    s->one_by_one ? twice / (2 * runs) : (twice - once) / runs);
	}
	return true;
}

/*
 * A call that repeats an XDP program puts it into the kernel's dispatcher and
 * out again, which waits for milliseconds. One that is attached stays there.
 */
static bool attach(struct subject *s, enum bpf_prog_type type)
{
	if (type != BPF_PROG_TYPE_XDP || s->one_by_one)
		return false;
	s->whole = bpf_xdp_attach(LOOPBACK, s->fd, GENERIC_XDP, NULL);
	return !s->whole;
}

static const char *never_run(enum bpf_prog_type type)
{
	switch (type) {
	case BPF_PROG_TYPE_TRACING:
	case BPF_PROG_TYPE_STRUCT_OPS:
		return "BPF_PROG_RUN of its type runs functions of the kernel's tests, not the program";
	default:
		return NULL;
	}
}

static bool takes_packets(enum bpf_prog_type type)
{
	return type != BPF_PROG_TYPE_RAW_TRACEPOINT && type != BPF_PROG_TYPE_SYSCALL &&
	       type != BPF_PROG_TYPE_SK_LOOKUP;
}

static void say_why_not(struct subject *s, enum bpf_prog_type type, int error)
{
	const char *advice = "";

	if (error == KERNEL_ENOTSUPP || error == EOPNOTSUPP)
		advice = "the kernel has no BPF_PROG_RUN for its type";
	else if (error == ENOMEM && s->data.size < 4096)
		return say(s->name, "failed", "BPF_PROG_RUN: the guest has too little memory");
	else if (!s->data.bytes && takes_packets(type))
		advice = "it needs a packet: lay one beside the object (NAME.data)";
	else if (takes_packets(type) && s->data.size < 14)
		advice = "the packet is shorter than an Ethernet header (14 bytes)";
	else if (takes_packets(type) && s->data.size > 3000)
		advice = "the packet is too long: XDP takes 70 KiB, other types less than a page";
	else if (!s->ctx.bytes && !takes_packets(type))
		advice = "it needs a context: lay one beside the object (NAME.ctx)";
	else
		advice = "the kernel does not take this packet or context";
	say(s->name, "unsupported", "BPF_PROG_RUN: %s (errno %d)", advice, error);
}

/* A program of the same type that only returns the same. */
static int load_empty(struct bpf_program *program, unsigned int retval)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = retval },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = bpf_program__expected_attach_type(program),
		    .prog_flags = bpf_program__flags(program));

	return bpf_prog_load(bpf_program__type(program), "empty", "GPL", insns, 2, &opts);
}

static void run_program(struct bpf_program *program, const struct input *data,
			const struct input *ctx, double target)
{
	enum bpf_prog_type type = bpf_program__type(program);
	struct subject s = { .name = bpf_program__name(program), .fd = bpf_program__fd(program) };
	unsigned int size = 0, runs = 1, retval;
	bool attached, done;
	int error;

	if (never_run(type)) {
		say(s.name, "unsupported", "%s", never_run(type));
		return;
	}
	s.ctx = *ctx;
	s.one_by_one = !takes_packets(type) && type != BPF_PROG_TYPE_SK_LOOKUP;
	if (takes_packets(type)) {
		s.data = *data;
		s.out_size = data->size + ROOM;
		s.out = data->bytes ? malloc(s.out_size) : NULL;
		if (!s.out)
			s.out_size = 0;
	}
	error = call(&s, s.one_by_one ? 0 : 1, &size);
	if (error) {
		say_why_not(&s, type, error);
		goto out;
	}
	if (s.out && type != BPF_PROG_TYPE_FLOW_DISSECTOR) {
		s.one_by_one = size != s.data.size || memcmp(s.out, s.data.bytes, size);
		say(s.name, "packet-changed", "%d", s.one_by_one);
	}
	attached = attach(&s, type);
	while (runs < MOST_RUNS && batch(&s, runs) < target)
		runs *= 2;
	done = measure(&s, "ns/run", runs);
	if (attached)
		bpf_xdp_detach(LOOPBACK, GENERIC_XDP, NULL);
	if (!done)
		goto out;
	say(s.name, "retval", "%d", (int)s.retval);
	retval = s.retval;
	s.fd = load_empty(program, retval);
	if (s.fd >= 0) {
		attached = attach(&s, type);
		measure(&s, "overhead", runs);
		if (attached)
			bpf_xdp_detach(LOOPBACK, GENERIC_XDP, NULL);
		close(s.fd);
	}
out:
	free(s.out);
}

/* Loads the object with all of its programs, or with the one that is named. */
static struct bpf_object *load(const char *file, const char *only, int *error)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = verifier_log,
		    .kernel_log_size = sizeof(verifier_log), .kernel_log_level = 0);
	struct bpf_object *object;
	struct bpf_program *program;
	struct bpf_map *map;

	verifier_log[0] = libbpf_said[0] = 0;
	object = bpf_object__open_file(file, &opts);
	if (!object) {
		*error = errno;
		return NULL;
	}
	if (only)
		bpf_object__for_each_program(program, object)
			bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), only));
	bpf_object__for_each_map(map, object)
		if (!bpf_map__max_entries(map) && bpf_map__type(map) != BPF_MAP_TYPE_SK_STORAGE &&
		    bpf_map__type(map) != BPF_MAP_TYPE_TASK_STORAGE &&
		    bpf_map__type(map) != BPF_MAP_TYPE_INODE_STORAGE &&
		    bpf_map__type(map) != BPF_MAP_TYPE_CGRP_STORAGE &&
		    bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS)
			bpf_map__set_max_entries(map, 1); /* as veristat does */
	if (!bpf_object__load(object))
		return object;
	*error = errno;
	bpf_object__close(object);
	return NULL;
}

int main(int argc, char **argv)
{
	struct input data = {}, ctx = {};
	struct bpf_object *whole, *object, *alone;
	struct bpf_program *program, *same;
	double target;
	int error = 0;

	if (argc < 3)
		return 2;
	target = atof(argv[2]) * 1e6;
	for (int i = 3; i + 1 < argc; i += 2)
		if (!read_input(argv[i + 1], strcmp(argv[i], "--ctx") ? &data : &ctx))
			return 1;
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	libbpf_set_print(keep_message);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);

	object = bpf_object__open_file(argv[1], NULL);
	if (!object) {
		printf("\trefused\t%s\n", libbpf_said[0] ? libbpf_said : strerror(errno));
		return 0;
	}
	whole = load(argv[1], NULL, &error);
	bpf_object__for_each_program(program, object) {
		const char *name = bpf_program__name(program);

		same = whole ? bpf_object__find_program_by_name(whole, name) : NULL;
		if (same && bpf_program__fd(same) >= 0) {
			run_program(same, &data, &ctx, target);
			continue;
		}
		alone = load(argv[1], name, &error);
		if (!alone) {
			say(name, error == ENOMEM ? "failed" : "refused", "%s", reason_of_load(error));
			continue;
		}
		run_program(bpf_object__find_program_by_name(alone, name), &data, &ctx, target);
		bpf_object__close(alone);
	}
	bpf_object__close(whole);
	bpf_object__close(object);
	return 0;
}
