/* Says whether it is traced: when a library is initialized, which forks and starts a thread, and in the program, here and in the fork. With LIBRARY
 * it is the library, with RESOLVE also when its symbols are bound; with ALONE a program that is not begun by the C library. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *where, const char *status)
{
	const char *at = strstr(status, "TracerPid:");
	char said[128];
	int n = snprintf(said, sizeof said, "%s %.*s\n", where, at ? (int)strcspn(at, "\n") : 0, at ? at : "");

	if (write(1, said, n) != n)
		_exit(2);
}

/* It calls nothing before it asks. */
static void ask(const char *where)
{
	char status[4096];
	int file = open("/proc/thread-self/status", O_RDONLY);
	int n = read(file, status, sizeof status - 1);

	status[n > 0 ? n : 0] = 0;
	close(file);
	tell(where, status);
}

#ifdef LIBRARY
int forked;

#ifdef RESOLVE
/* What the linker calls while it binds symbols; it may use no other function yet. */
static char status[4096];

static long call(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

static void resolved(void) { tell("resolver", status); }

static void (*resolve(void))(void)
{
	long file = call(SYS_open, (long)"/proc/self/status", O_RDONLY, 0);

	call(SYS_read, file, (long)status, sizeof status - 1);
	call(SYS_close, file, 0, 0);
	return resolved;
}

void resolver(void) __attribute__((ifunc("resolve")));
#endif

static void *run(void *unused)
{
	ask("thread");
	return unused;
}

__attribute__((constructor)) static void initialize(void)
{
	pthread_t thread;

#ifdef RESOLVE
	resolver();
#endif
	ask("library");
	pthread_create(&thread, 0, run, 0);
	pthread_join(thread, 0);
	forked = fork();
	if (forked)
		waitpid(forked, 0, 0);
	else
		ask("fork");
}
#elif defined ALONE
/* It leaves what is below the stack as it was. */
__asm__(".globl _start\n_start: sub $256, %rsp\nand $-16, %rsp\ncall begin\n");

void begin(void)
{
	if (write(1, "", 0))
		_exit(2);
	ask("program");
	_exit(7);
}
#else
extern int forked;

int main(void)
{
	ask(forked ? "program" : "program in fork");
	return 7;
}
#endif
