/* Stacks whose right lines are hard to tell. Each line of a frame is marked with the case and the function that it is of. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef SANITIZED
void __sanitizer_print_stack_trace(void);
#define PRINT() __sanitizer_print_stack_trace()
#elif defined FORM
/* What others make of the same addresses and of dladdr(). */
enum { OPENJ9, FREECAD, EXECINFO, ADDR2LINE };
static __attribute__((always_inline)) inline void print(void) {
  void *a[64];
  int n = backtrace(a, 64);
  for (int i = 0; i < n; i++) {
    Dl_info in = {0};
    dladdr(a[i], &in);
    uintptr_t pc = (uintptr_t)a[i], base = (uintptr_t)in.dli_fbase, from = pc - (uintptr_t)in.dli_saddr;
    const char *name = in.dli_sname;
    switch (FORM) {
    case OPENJ9:
      if (name)
        printf("%s+0x%" PRIxPTR " ", name, from);
      printf("(0x%016" PRIXPTR " [%s+0x%" PRIxPTR "])\n", pc, strrchr(in.dli_fname, '/') + 1, pc - base);
      break;
    case FREECAD:
      if (name)
        printf("#%d  %p in %s from %s+%#" PRIxPTR "\n", i, a[i], name, in.dli_fname, from);
      else
        printf("#%d  %s\n", i, *backtrace_symbols(a + i, 1));
      break;
    case EXECINFO:
      if (!name)
        printf("%p <?" "?\?> at %s\n", a[i], in.dli_fname);
      else if (from)
        printf("%p <%s+%p> at %s\n", a[i], name, (void *)from, in.dli_fname);
      else
        printf("%p <%s> at %s\n", a[i], name, in.dli_fname);
      break;
    case ADDR2LINE:
      if (i == 0)
        printf("Trace=\"addr2line -e %s -p -C -f -i", in.dli_fname);
      printf(" %p%s", a[i], i == n - 1 ? "\"\n" : "");
    }
  }
  fflush(stdout);
}
#define PRINT() print()
#else
static __attribute__((always_inline)) inline void print(void) {
  void *a[64];
  backtrace_symbols_fd(a, backtrace(a, 64), 1);
}
#define PRINT() print()
#endif

__attribute__((noinline)) void handler(int s) {
  PRINT(); // first: handler // interrupted: handler
  _exit(s == 0);
}

__attribute__((noinline, aligned(1))) int innocent(int a) { return a * 7 + 1; }
__attribute__((noinline, aligned(1))) int guilty(volatile int *p) { return *p; } // first: guilty

__attribute__((noinline, noreturn)) void stop(void) {
  PRINT(); // last: stop // lineend: stop
  _exit(0);
}

__attribute__((noinline)) void last(int a) {
  innocent(a);
  stop(); // last: last
}

__attribute__((noinline)) int behind(int a) { return a * 9 + 2; }

__attribute__((noinline)) int lineend(int a) {
  if (a)
    stop(); // lineend: lineend
  return behind(a) + 1;
}

__attribute__((noinline)) int interrupted(volatile int *p) {
  int a = innocent(1);
  a += *p; // interrupted: interrupted
  return a + behind(a);
}

__attribute__((noinline)) int recurse(int n) {
  int r = 1;
  if (n == 0)
    PRINT(); // recursion: recurse
  else
    r += recurse(n - 1); // recursion: recurse // recursion: recurse // recursion: recurse
  return r * 3;
}

int main(int argc, char **argv) {
  void *warm[1];
  backtrace(warm, 1);
#ifndef SANITIZED
  signal(SIGSEGV, handler);
#endif
  volatile int r = 0;
  switch (argc > 1 ? argv[1][0] : 0) {
  case 'f':
    r += guilty((int *)(long)r); // first: main
    break;
  case 'l':
    if (argv[1][1] == 'a')
      last(argc); // last: main
    r += lineend(argc); // lineend: main
    break;
  case 'i':
    r += interrupted((int *)(long)r); // interrupted: main
    break;
  case 'r':
    r += recurse(3); // recursion: main
    break;
  }
  return r == 77;
}
