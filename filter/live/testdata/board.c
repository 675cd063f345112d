/* A program of a board: calls that are direct, by way of a pointer, one after another, and inlined. */
volatile int sink;

__attribute__((noinline)) int leaf(int n) {
	sink = n;
	return sink + 1;
}

static inline int inlined(int n) {
	return leaf(n) * 3;
}

__attribute__((noinline)) void nothing(void) {
	sink++;
}

__attribute__((noinline)) int twice(void) {
	nothing();
	nothing();
	return sink;
}

__attribute__((noinline)) int through(int (*f)(int), int n) {
	int a = f(n);
	return f(a) + inlined(a);
}

__attribute__((noinline)) int deep(int n) {
	if (n > 0)
		return deep(n - 1) + twice();
	return through(leaf, n) + inlined(n);
}

__attribute__((noinline, noreturn)) void stop(void) {
	sink = deep(3);
	for (;;)
		nothing();
}

void _start(void) {
	stop();
}
