#include <stdio.h>

/* Lists what the stand-in guest has recorded outputs of. */
int main(void)
{
	puts("Available benchmarks:");
	puts("- local-storage-cache-seq-get");
	puts("- local-storage-cache-int-get");
	puts("- local-storage-cache-hashmap-control");
	puts("- qp-trie-lookup");
	return 0;
}
