#define BPF_ANSWER 42
