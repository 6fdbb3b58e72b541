// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first program of a guest whose kernel has drivers as modules: loads
 * them in the order of /modules/order, mounts the root file system as the
 * kernel would have done by its command line, and becomes the init that the
 * command line names.
 *
 * Needs no library, so that any gcc makes it.
 */
#define CMDLINE_BYTES 8192
#define ORDER_BYTES 65536
#define MS_RDONLY 1
#define MS_MOVE 8192
#define MS_SILENT 32768
#define O_CLOEXEC 02000000
#define EEXIST 17

enum { READ = 0, WRITE = 1, OPEN = 2, CLOSE = 3, EXECVE = 59, EXIT = 60, CHDIR = 80, UNLINK = 87, CHROOT = 161,
       MOUNT = 165, UMOUNT2 = 166, FINIT_MODULE = 313 };

static long call(long number, long a, long b, long c, long d, long e)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

static long length(const char *text)
{
	long n = 0;

	while (text[n])
		n++;
	return n;
}

static void say(const char *what, const char *about)
{
	static const char name[] = "cliffwatch initramfs: ";

	call(WRITE, 2, (long)name, sizeof(name) - 1, 0, 0);
	call(WRITE, 2, (long)what, length(what), 0, 0);
	call(WRITE, 2, (long)about, length(about), 0, 0);
	call(WRITE, 2, (long)"\n", 1, 0, 0);
}

/* The kernel panics when its init ends, which the host sees. */
static void give_up(const char *what, const char *about)
{
	say(what, about);
	for (;;)
		call(EXIT, 1, 0, 0, 0, 0);
}

static void read_file(const char *path, char *text, long size)
{
	long file = call(OPEN, (long)path, O_CLOEXEC, 0, 0, 0);
	long got = 0, n;

	if (file < 0)
		give_up("cannot open ", path);
	while (got < size - 1 && (n = call(READ, file, (long)text + got, size - 1 - got, 0, 0)) > 0)
		got += n;
	text[got] = 0;
	call(CLOSE, file, 0, 0, 0, 0);
}

static void load(const char *path)
{
	long file = call(OPEN, (long)path, O_CLOEXEC, 0, 0, 0);
	long result;

	if (file < 0)
		give_up("cannot open ", path);
	result = call(FINIT_MODULE, file, (long)"", 0, 0, 0);
	call(CLOSE, file, 0, 0, 0, 0);
	if (result < 0 && result != -EEXIST)
		give_up("the kernel does not take its module ", path);
	call(UNLINK, (long)path, 0, 0, 0, 0);
}

static void load_modules(void)
{
	static char order[ORDER_BYTES];
	char *line = order, *end;

	read_file("/modules/order", order, sizeof(order));
	for (end = order; *end; end++) {
		if (*end == '\n') {
			*end = 0;
			load(line);
			line = end + 1;
		}
	}
}

/*
 * The last value of a word of the command line; what comes after a word `--`
 * are init's own arguments. Cuts the words off from each other only once all
 * have been looked for: `found` points into the text.
 */
static char *value_of(char *text, const char *name)
{
	char *found = 0, *word = text;

	while (*word) {
		long n = 0;

		while (*word == ' ' || *word == '\n')
			word++;
		if (word[0] == '-' && word[1] == '-' && (word[2] == ' ' || !word[2]))
			break;
		while (name[n] && word[n] == name[n])
			n++;
		if (!name[n])
			found = word + n;
		while (*word && *word != ' ' && *word != '\n')
			word++;
	}
	return found;
}

static void end_word(char *word)
{
	while (*word && *word != ' ' && *word != '\n')
		word++;
	*word = 0;
}

static void must(long result, const char *what)
{
	if (result < 0)
		give_up("failed: ", what);
}

/* argc, argv and the environment lie on the stack, as the kernel left them. */
__attribute__((used)) void begin(long *stack)
{
	static char cmdline[CMDLINE_BYTES];
	char **argv = (char **)(stack + 1);
	char **envp = argv + stack[0] + 1;
	char *init, *flags;

	load_modules();
	must(call(MOUNT, (long)"proc", (long)"/proc", (long)"proc", 0, 0), "mount of /proc");
	read_file("/proc/cmdline", cmdline, sizeof(cmdline));
	call(UMOUNT2, (long)"/proc", 0, 0, 0, 0);
	init = value_of(cmdline, "init=");
	flags = value_of(cmdline, "rootflags=");
	if (!init || !flags)
		give_up("the command line has no init= or no rootflags=: ", cmdline);
	end_word(init);
	end_word(flags);
	must(call(MOUNT, (long)"/dev/root", (long)"/root", (long)"9p", MS_RDONLY | MS_SILENT, (long)flags),
	     "mount of the root file system (9p)");
	must(call(CHDIR, (long)"/root", 0, 0, 0, 0), "chdir to the root file system");
	must(call(MOUNT, (long)".", (long)"/", 0, MS_MOVE, 0), "move of the root file system");
	must(call(CHROOT, (long)".", 0, 0, 0, 0), "chroot to the root file system");
	must(call(CHDIR, (long)"/", 0, 0, 0, 0), "chdir to /");
	argv[0] = init;
	call(EXECVE, (long)init, (long)argv, (long)envp, 0, 0);
	give_up("cannot start ", init);
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
