/* Says where code of its own, of the library that it needs, and of the one that it is given lies; then waits to be told. */
#include <dlfcn.h>
#include <stdio.h>

void early(void);

int main(int argc, char **argv)
{
	void *late = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;

	early();
	printf("main %p\nearly %p\nputs %p\n", (void *)main, dlsym(RTLD_DEFAULT, "early"), dlsym(RTLD_DEFAULT, "puts"));
	printf("late %p\n\n", late ? dlsym(late, "late") : (void *)1);
	fflush(stdout);
	getchar();
	return 0;
}
