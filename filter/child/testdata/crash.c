/* Says where its code lies and crashes at once. Its argument says how: plainly, in a thread, in a process that it forks, after another program
 * that it executes, or with a library that it loads late, unloads, and puts another one in the place of. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void early(void);

static void say(const char *name, void *at)
{
	char text[64];
	int n = snprintf(text, sizeof text, "%s %p\n", name, at);

	if (write(1, text, n) != n)
		_exit(2);
}

static void *crash(void *late)
{
	int *volatile nowhere = 0;

	early();
	say("main", crash);
	say("early", dlsym(RTLD_DEFAULT, "early"));
	say("puts", dlsym(RTLD_DEFAULT, "puts"));
	if (late)
		say("late", late);
	*nowhere = 1;
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;
	void *late;

	if (!strcmp(how, "thread")) {
		pthread_create(&thread, 0, crash, 0);
		pthread_join(thread, 0);
	} else if (!strcmp(how, "fork")) {
		if (!fork())
			crash(0);
		wait(0);
	} else if (!strcmp(how, "exec")) {
		execl(argv[0], argv[0], (char *)0);
	} else if (!strcmp(how, "late")) {
		late = dlopen(argv[2], RTLD_NOW);
		crash(late ? dlsym(late, "late") : 0);
	} else if (!strcmp(how, "instead")) {
		late = dlopen(argv[2], RTLD_NOW);
		if (late)
			dlclose(late);
		late = dlopen(argv[3], RTLD_NOW);
		crash(late ? dlsym(late, "other") : 0);
	} else {
		crash(0);
	}
	return 0;
}
