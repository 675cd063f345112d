/* Prints its mappings and then, for each way to come to be where it is, the stack that the compiler's unwinder walks: per frame
   the program counter and whether the instruction is at it (1) or before it (0). With an argument it only spends time. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <setjmp.h>
#include <unwind.h>

#define NOINLINE __attribute__((noinline))

static sigjmp_buf again;
static volatile int zero, sink;
static int *volatile nowhere;

static _Unwind_Reason_Code frame(struct _Unwind_Context *c, void *arg) {
  int exact = 0;
  unsigned long pc = _Unwind_GetIPInfo(c, &exact);
  if (!pc)
    return _URC_END_OF_STACK;
  if (++*(int *)arg > 1)
    printf("F %lx %d\n", pc, exact);
  return _URC_NO_REASON;
}

NOINLINE static void walk(const char *name) {
  int n = 0;
  printf("S %s\n", name);
  _Unwind_Backtrace(frame, &n);
  fflush(stdout);
}

static const char *scene;

NOINLINE static void handler(int s) {
  walk(scene);
  siglongjmp(again, s);
}

static inline __attribute__((always_inline)) int small(int n) {
  if (n > 1000)
    return n;
  walk(scene);
  return n * 3 + sink;
}

NOINLINE static int leaf(int n) {
  int r = small(n);
  sink += r;
  return r + 1;
}

NOINLINE static int middle(int n) {
  int r = 2;
  r += leaf(n);
  return r * 5;
}

NOINLINE static int deep(int n) {
  int r = 1;
  if (n)
    r += deep(n - 1);
  else
    r += middle(n);
  return r + sink;
}

NOINLINE static int quiet(int n) {
  return n * 7 + sink;
}

NOINLINE static int faulty(int *p) {
  int r = quiet(1);
  r += *p;
  return r + quiet(2);
}

NOINLINE static int atonce(int *p) { return *p; }

NOINLINE static int *get(int n) {
  sink += n;
  return nowhere;
}

NOINLINE static int aftercall(int n) {
  int r = 3;
  r += *get(n);
  return r;
}

NOINLINE static int divide(int n) {
  int r = 100;
  r /= zero;
  return r + n;
}

__attribute__((noinline, noreturn)) static void leave(int n) {
  walk(scene);
  siglongjmp(again, n + 1);
}

NOINLINE static void nowayback(int n) {
  sink += n;
  leave(n);
}

NOINLINE static int next(int n) { return n + sink; }

NOINLINE static int compare(const void *a, const void *b) {
  if (!zero++)
    walk(scene);
  return *(const int *)a - *(const int *)b;
}

NOINLINE static int sorted(int n) {
  int a[3] = {3, 1, 2};
  zero = 0;
  qsort(a, 3, sizeof *a, compare);
  zero = 0;
  return a[0] + n;
}

NOINLINE static int raised(int n) {
  int r = 5;
  r += raise(SIGABRT);
  return r + n;
}

NOINLINE static int pointed(int n) {
  int (*volatile f)(int) = deep;
  return f(n) + 1;
}

NOINLINE static int environment(int n) {
  int r = 4;
  r += *getenv("NO_SUCH_VARIABLE");
  return r + n;
}

NOINLINE static int work(int n) {
  int r = n;
  for (int i = 0; i < 2000; i++)
    r += quiet(i);
  return r;
}

NOINLINE static int spin(int n) {
  int r = 2;
  for (int i = 0; i < 20000; i++)
    r += work(n);
  return r;
}

NOINLINE static void run(int i) {
  switch (i) {
  case 0: scene = "plain"; sink = deep(0); break;
  case 1: scene = "recursion"; sink = deep(4); break;
  case 2: scene = "fault"; sink = faulty(nowhere); break;
  case 3: scene = "fault at once"; sink = atonce(nowhere); break;
  case 4: scene = "fault after a call"; sink = aftercall(1); break;
  case 5: scene = "division"; sink = divide(1); break;
  case 6: scene = "no way back"; nowayback(1); next(1); break;
  case 7: scene = "callback"; sink = sorted(1); break;
  case 8: scene = "raise"; sink = raised(1); break;
  case 9: scene = "pointer"; sink = pointed(2); break;
  case 10: scene = "fault after a library's call"; sink = environment(1); break;
  }
}

int main(int argc, char **argv) {
  if (argc > 1) {
    sink = spin(1);
    return 0;
  }
  char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    printf("M %s", line);
  fflush(stdout);
  int signals[] = {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL, SIGTRAP};
  for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
    signal(signals[i], handler);
  for (volatile int i = 0; i <= 10; i++)
    if (!sigsetjmp(again, 1))
      run(i);
  return 0;
}
