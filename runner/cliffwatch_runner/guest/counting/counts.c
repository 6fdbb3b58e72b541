// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts what a guest executes, block by block: a plugin of QEMU's translator
 * (QEMU's documentation, "QEMU TCG Plugins").
 *
 * The counters are inline additions in the translated code, so that a guest
 * that counts instructions measures the same with the plugin as without: it
 * reads nothing, writes nothing and delays nothing in the guest's time.
 *
 * When to take counts is told by two functions of the guest's kernel, whose
 * addresses come as arguments: `mark`, which the agent has the kernel run as
 * it begins, before each case and after it, and nobody else does; and `tick`,
 * the kernel's interval timer, by which bench takes its readings.
 *
 *   -plugin counts.so,mark=ADDRESS,tick=ADDRESS,windows=FILE,to=FILE
 *
 * `windows` has a line for each case: the number of the tick at which its
 * window begins and of the tick at which it ends, 0 0 for a case without.
 *
 * `to` is written in the byte order of the host, in records of 32-bit words:
 *
 *   'B' first count, then for each block: address (two words), instructions
 *   'C' case part count, then for each block that was executed: block, times
 *   'E' flags marks
 *
 * where case is the case's number from 1, and part 0 before the window, 1
 * within it and 2 after it. Case 0 is what ran before the first mark (part 1)
 * and from there to the first case (part 0). A block executed 2^32 times or more has several entries. 'E' is
 * the last record; its flags are 1 where blocks could not be counted for want
 * of room and 2 where the file grew to its limit; marks says how often `mark`
 * was executed.
 *
 * QEMU's header comes only with its source; these are our own declarations of
 * the functions used. Interface 1 is that of QEMU 4.2 to 8.2, 2 that of QEMU
 * 9.0 and later.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PLUGIN_INTERFACE
#error "PLUGIN_INTERFACE says which interface of QEMU's this is built for"
#endif

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;
typedef uint64_t plugin_id;
typedef void (*exec_fn)(unsigned int cpu, void *data);
typedef void (*translated_fn)(plugin_id id, struct qemu_plugin_tb *block);
typedef void (*exit_fn)(plugin_id id, void *data);
enum { CB_NO_REGS = 0, INLINE_ADD_U64 = 0 };

/* The front of qemu_info_t, as far as it is read. */
struct plugin_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
};

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, translated_fn fn);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
					  exec_fn fn, int flags, void *data);
void qemu_plugin_register_atexit_cb(plugin_id id, exit_fn fn, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t number);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = PLUGIN_INTERFACE;

#define MOST_BYTES (248u << 20) /* of the file; the host takes 256 MiB */
#define CHUNK 65536u
#define MOST_CHUNKS 64u
#define MOST_CASES 20000u
#define PAGE 4096u
#define LONGEST 15u /* bytes of an instruction */

#if PLUGIN_INTERFACE == 1
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block,
					      int op, void *at, uint64_t add);
static uint64_t *counters[MOST_CHUNKS];

static bool new_chunk(unsigned int chunk)
{
	counters[chunk] = calloc(CHUNK, sizeof(uint64_t));
	return counters[chunk] != NULL;
}

static void count_inline(struct qemu_plugin_tb *block, unsigned int slot)
{
	qemu_plugin_register_vcpu_tb_exec_inline(
		block, INLINE_ADD_U64, &counters[slot / CHUNK][slot % CHUNK],
		1);
}

static uint64_t counted(unsigned int slot)
{
	return counters[slot / CHUNK][slot % CHUNK];
}
#else
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} score_entry;
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
	struct qemu_plugin_tb *block, int op, score_entry at, uint64_t add);
uint64_t qemu_plugin_u64_sum(score_entry at);
static struct qemu_plugin_scoreboard *counters[MOST_CHUNKS];

static score_entry entry(unsigned int slot)
{
	return (score_entry){ counters[slot / CHUNK],
			      slot % CHUNK * sizeof(uint64_t) };
}

static bool new_chunk(unsigned int chunk)
{
	counters[chunk] = qemu_plugin_scoreboard_new(CHUNK * sizeof(uint64_t));
	return counters[chunk] != NULL;
}

static void count_inline(struct qemu_plugin_tb *block, unsigned int slot)
{
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
		block, INLINE_ADD_U64, entry(slot), 1);
}

static uint64_t counted(unsigned int slot)
{
	return qemu_plugin_u64_sum(entry(slot));
}
#endif

/*
 * An instruction that lies on two pages has a block of its own, `across`. QEMU
 * 7.2 notices that in the middle of the block before, whose last instruction
 * it says it is, too: `last`, where it lies so near the end of a page, else 0.
 */
struct block {
	uint64_t address;
	uint64_t seen; /* times counted when counts were last taken */
	uint64_t last;
	uint32_t instructions;
	bool across;
	bool less; /* its last instruction is another block's */
};

enum { FULL_TABLE = 1, FULL_FILE = 2 };

static struct block *blocks;
static uint32_t *places; /* a hash table of slots, 0 is none */
static uint32_t used, room, announced, flags;
static FILE *to;
static size_t written;

static uint64_t mark_at, tick_at;
static uint32_t windows[MOST_CASES][2];
static uint32_t cases;
static uint32_t marks, ticks;
static int part;

static uint32_t hashed(uint64_t address, uint32_t instructions)
{
	uint64_t mixed = (address ^ ((uint64_t)instructions << 48)) *
			 0x9e3779b97f4a7c15ULL;

	return (uint32_t)(mixed >> 32) & (room * 2 - 1);
}

static void place(uint32_t slot)
{
	uint32_t at = hashed(blocks[slot].address, blocks[slot].instructions);

	while (places[at])
		at = (at + 1) & (room * 2 - 1);
	places[at] = slot + 1;
}

static bool grow(void)
{
	uint32_t more = room ? room * 2 : CHUNK;
	struct block *table;
	uint32_t *hash;

	if (more > CHUNK * MOST_CHUNKS)
		return false;
	table = realloc(blocks, more * sizeof(*blocks));
	if (!table)
		return false;
	blocks = table;
	hash = calloc((size_t)more * 2, sizeof(*hash));
	if (!hash)
		return false;
	free(places);
	places = hash;
	room = more;
	for (uint32_t slot = 0; slot < used; slot++)
		place(slot);
	return true;
}

/*
 * The slot of a block, the next free one for a new one; -1 without room. A
 * known block has its slot also then: the emulator translates code again.
 */
static int64_t slot_of(uint64_t address, uint32_t instructions)
{
	for (uint32_t at = room ? hashed(address, instructions) : 0;
	     room && places[at]; at = (at + 1) & (room * 2 - 1)) {
		struct block *known = &blocks[places[at] - 1];

		if (known->address == address &&
		    known->instructions == instructions)
			return places[at] - 1;
	}
	if (used == room && !grow())
		return -1;
	if (used % CHUNK == 0 && !new_chunk(used / CHUNK))
		return -1;
	blocks[used] = (struct block){ .address = address,
				       .instructions = instructions };
	place(used);
	return used++;
}

static void put(uint32_t word)
{
	fwrite(&word, sizeof(word), 1, to);
	written += sizeof(word);
}

static bool fits(size_t words)
{
	if (written + (words + 3) * sizeof(uint32_t) <= MOST_BYTES)
		return true;
	flags |= FULL_FILE;
	return false;
}

static void announce_blocks(void)
{
	if (announced == used || !fits(3 + (size_t)(used - announced) * 3))
		return;
	put('B');
	put(announced);
	put(used - announced);
	for (; announced < used; announced++) {
		put((uint32_t)blocks[announced].address);
		put((uint32_t)(blocks[announced].address >> 32));
		put(blocks[announced].instructions - blocks[announced].less);
	}
}

static uint32_t entries(uint64_t times)
{
	return (uint32_t)((times + UINT32_MAX - 1) / UINT32_MAX);
}

/* Begins a new stretch; what ran since the last one is not written. */
static void pass_over(void)
{
	for (uint32_t slot = 0; slot < used; slot++)
		blocks[slot].seen = counted(slot);
}

static void write_counts(uint32_t number, int which)
{
	uint32_t count = 0;

	announce_blocks();
	for (uint32_t slot = 0; slot < used; slot++)
		count += entries(counted(slot) - blocks[slot].seen);
	if (flags & FULL_FILE || !fits(4 + (size_t)count * 2)) {
		pass_over();
		return;
	}
	put('C');
	put(number);
	put((uint32_t)which);
	put(count);
	for (uint32_t slot = 0; slot < used; slot++) {
		uint64_t now = counted(slot);

		while (now != blocks[slot].seen) {
			uint64_t times = now - blocks[slot].seen;

			if (times > UINT32_MAX)
				times = UINT32_MAX;
			put(slot);
			put((uint32_t)times);
			blocks[slot].seen += times;
		}
	}
}

/* The first mark is the agent's start; then each case has two. */
static void on_mark(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (marks > 2 * cases) {
		/* Somebody else's: the host believes none of them. */
		marks++;
		return;
	}
	if (marks == 0)
		write_counts(0, 1);
	else if (marks == 1)
		write_counts(0, 0);
	else if (marks % 2)
		pass_over();
	else
		write_counts(marks / 2, part);
	marks++;
	ticks = 0;
	part = 0;
}

/* A case is running after an even number of marks. */
static void on_tick(unsigned int cpu, void *data)
{
	uint32_t number = marks / 2;

	(void)cpu;
	(void)data;
	if (marks == 0 || marks % 2 || number > cases || marks > 2 * cases)
		return;
	ticks++;
	if (windows[number - 1][1] == 0)
		return;
	if (ticks == windows[number - 1][0] ||
	    ticks == windows[number - 1][1]) {
		write_counts(number, part);
		part++;
	}
}

/* Whether a block of one instruction that lies on two pages begins there. */
static bool begins_across(uint64_t address)
{
	for (uint32_t at = hashed(address, 1); places[at];
	     at = (at + 1) & (room * 2 - 1)) {
		struct block *known = &blocks[places[at] - 1];

		if (known->address == address && known->instructions == 1)
			return known->across;
	}
	return false;
}

/*
 * Which blocks count an instruction less: whichever of the two is translated
 * first, the other one follows before either has run twice.
 */
static void look_across(const struct qemu_plugin_tb *block, struct block *own)
{
	const struct qemu_plugin_insn *last;
	uint64_t address;

	if (own->instructions == 0 || own->last || own->across)
		return;
	last = qemu_plugin_tb_get_insn(block, own->instructions - 1);
	address = qemu_plugin_insn_vaddr(last);
	if (PAGE - address % PAGE >= LONGEST)
		return;
	if (own->instructions > 1) {
		own->last = address;
		own->less = begins_across(address);
		return;
	}
	own->across = address % PAGE + qemu_plugin_insn_size(last) > PAGE;
	for (uint32_t slot = 0; own->across && slot < used; slot++)
		if (blocks[slot].last == address)
			blocks[slot].less = true;
}

static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
	uint64_t address = qemu_plugin_tb_vaddr(block);
	int64_t slot =
		slot_of(address, (uint32_t)qemu_plugin_tb_n_insns(block));

	(void)id;
	if (slot < 0) {
		flags |= FULL_TABLE;
	} else {
		look_across(block, &blocks[slot]);
		count_inline(block, (unsigned int)slot);
	}
	if (address == mark_at)
		qemu_plugin_register_vcpu_tb_exec_cb(block, on_mark,
						     CB_NO_REGS, NULL);
	if (address == tick_at)
		qemu_plugin_register_vcpu_tb_exec_cb(block, on_tick,
						     CB_NO_REGS, NULL);
}

static void finish(plugin_id id, void *data)
{
	(void)id;
	(void)data;
	if (!to)
		return;
	if (marks > 1 && marks % 2 == 0)
		write_counts(marks / 2, part);
	put('E');
	put(flags);
	put(marks);
	fclose(to);
	to = NULL;
}

static bool read_windows(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file)
		return false;
	while (cases < MOST_CASES && fscanf(file, "%u %u", &windows[cases][0],
					    &windows[cases][1]) == 2)
		cases++;
	fclose(file);
	return true;
}

EXPORTED int qemu_plugin_install(plugin_id id, const struct plugin_info *info,
				 int argc, char **argv)
{
	if (!info->system_emulation)
		return -1;
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			return -1;
		value++;
		if (!strncmp(argv[i], "mark=", 5))
			mark_at = strtoull(value, NULL, 16);
		else if (!strncmp(argv[i], "tick=", 5))
			tick_at = strtoull(value, NULL, 16);
		else if (!strncmp(argv[i], "windows=", 8)) {
			if (!read_windows(value))
				return -1;
		} else if (!strncmp(argv[i], "to=", 3))
			to = fopen(value, "wb");
		else
			return -1;
	}
	if (!to || !grow())
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
