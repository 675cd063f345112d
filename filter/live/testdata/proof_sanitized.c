// Makes one of the mistakes that gcc's sanitizers report, without build IDs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int zero;

__attribute__((noinline)) static int compare(const void *a, const void *b) {
	char *p = malloc(4);
	free(p);
	p[zero] = 1;
	return *(const int *)a - *(const int *)b + p[0];
}

__attribute__((noinline)) int sorted(int *v, int n) {
	qsort(v, n, sizeof *v, compare);
	return v[0] + zero;
}

__attribute__((noinline)) int freed(void) {
	char *p = malloc(10 + zero);
	free(p);
	int r = p[zero];
	return r + zero;
}

__attribute__((noinline)) int outer(void) {
	int r = freed();
	return r + zero;
}

__attribute__((noinline)) int faulty(volatile int *p) {
	*p = 1;
	return zero;
}

__attribute__((noinline)) int twice(void) {
	char *p = malloc(10);
	free(p);
	if (!zero)
		free(p);
	return zero;
}

__attribute__((noinline)) int leak(void) {
	char *p = malloc(10);
	p[0] = zero;
	p = 0;
	return zero;
}

__attribute__((noinline)) int shift(int n) { return 1 << n; }

int main(int argc, char **argv) {
	const char *scene = argc > 1 ? argv[1] : "";
	int v[] = {3, 1, 2}, r = 0;
	if (!strcmp(scene, "freed"))
		r = outer();
	if (!strcmp(scene, "qsort"))
		r = sorted(v, 3);
	if (!strcmp(scene, "segv"))
		r = faulty(0);
	if (!strcmp(scene, "twice"))
		r = twice();
	if (!strcmp(scene, "leak"))
		r = leak();
	if (!strcmp(scene, "shift"))
		r = shift(40 + zero);
	if (!strcmp(scene, "memset")) {
		char b[8];
		memset(b, 1, 100 + zero);
		r = b[zero];
	}
	if (!strcmp(scene, "abort"))
		abort();
	printf("%d\n", r);
	return 0;
}
