void start_kernel(void) {}
