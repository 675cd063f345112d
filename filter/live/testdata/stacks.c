// Two stacks of one process. A call through a null pointer ends the first one at the signal's trampoline. Later a check fails, which calls
// what does not return, at its very end: the address behind that call is the first one of the next function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NI __attribute__((noinline))
volatile int V;
static sigjmp_buf back;
static const char *as;
static inline __attribute__((always_inline)) void show(int skip) {
  void *a[32];
  int n = backtrace(a, 32) - skip;
  if (!strcmp(as, "glibc")) {
    backtrace_symbols_fd(a + skip, n, 2);
    return;
  }
  for (int i = 0; i < n; i++) {
    Dl_info in = {0};
    dladdr(a[i + skip], &in);
    long at = (char *)a[i + skip] - (char *)in.dli_fbase;
    fprintf(stderr, "    #%d %p (%s+0x%lx)\n", i, a[i + skip], in.dli_fname, at);
  }
}
static void on_segv(int s) { show(0); siglongjmp(back, 1); }
NI void call_hook(void (*f)(void)) { V = 1; f(); V = 2; }
__attribute__((noreturn)) NI void give_up(void) { show(1); _exit(3); }
NI void check_quota(int n) {
  V = n;
  give_up();
}
NI void release_quota(int n) {
  V = n + 3;
}
int main(int c, char **v) {
  as = v[1];
  signal(SIGSEGV, on_segv);
  if (!sigsetjmp(back, 1)) call_hook(0);
  for (int i = 3; i < c; i++) fprintf(stderr, "%s\n", v[i]);
  if (c > 50) release_quota(c);
  check_quota(c);
}
