// Prints a stack in one of several situations. Its log has no build IDs.
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int depth;

__attribute__((noinline)) void show(void) {
	void *stack[64];
	int n = backtrace(stack, 64);
	backtrace_symbols_fd(stack, n, 2);
	depth++;
}

__attribute__((noinline)) static int compare(const void *a, const void *b) {
	if (!depth)
		show();
	depth++;
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) int sorted(int *v, int n) {
	qsort(v, n, sizeof *v, compare);
	return v[0] + depth;
}

__attribute__((noinline)) int deep(int n) {
	if (n == 0) {
		show();
		return depth;
	}
	int r = deep(n - 1);
	return r + depth;
}

__attribute__((noinline)) static int faulty(volatile int *p) {
	*p = 1;
	return depth;
}

__attribute__((noinline)) int caller(void *p) {
	int r = faulty(p);
	return r + depth;
}

static void handler(int s) {
	show();
	_exit(0);
}

static void *thread(void *p) {
	deep(2);
	depth++;
	return p;
}

int main(int argc, char **argv) {
	const char *scene = argc > 1 ? argv[1] : "";
	int v[] = {3, 1, 2};
	signal(SIGSEGV, handler);
	signal(SIGABRT, handler);
	if (!strcmp(scene, "deep"))
		printf("%d\n", deep(3));
	if (!strcmp(scene, "qsort"))
		printf("%d\n", sorted(v, 3));
	if (!strcmp(scene, "segv"))
		printf("%d\n", caller(0));
	if (!strcmp(scene, "abort"))
		abort();
	if (!strcmp(scene, "memcpy"))
		memcpy((char *)8 + depth, v, sizeof v + depth);
	if (!strcmp(scene, "thread")) {
		pthread_t t;
		pthread_create(&t, 0, thread, 0);
		pthread_join(t, 0);
	}
	return depth;
}
