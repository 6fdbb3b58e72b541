#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* BEHAVIOUR is that of the toy kernel which the stand-in guest runs; the numbers are made up. */
int main(int argc, char **argv)
{
	const char *behaviour = getenv("BEHAVIOUR"), *data = getenv("CLIFFWATCH_DATA");
	int steps = argc == 5 ? atoi(argv[3] + strlen("--steps=")) : 0;
	char line[100] = "";

	if (argc != 5 || strcmp(argv[2], "a b * $HOME") || strcmp(argv[4], "--fast")) {
		fprintf(stderr, "counter: these are not my arguments\n");
		return 2;
	}
	if (!strcmp(behaviour, "silent"))
		return 0;
	if (!strcmp(behaviour, "broken")) {
		fprintf(stderr, "counter: no such system call\n");
		return 1;
	}
	if (data && *data && !fgets(line, sizeof(line), fopen(data, "r")))
		return 3;
	printf("BenchmarkCount 1000 %d %s", 100 * steps + atoi(line), strcmp(behaviour, "other-unit") ? "insns" : "cycles");
	if (strcmp(behaviour, "fewer") && strcmp(behaviour, "other-unit"))
		printf(" %d states", strcmp(behaviour, "slow") ? 50 * steps : 60 * steps);
	printf(" 0.25000 misses/op 7 bytes\n");
	return 0;
}
