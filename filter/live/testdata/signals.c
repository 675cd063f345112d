// A program that faults in two ways: with `own` at the first instruction of a function, below a handler of its own that prints its stack, as
// many do, and otherwise right behind a call.
#include <signal.h>
#include <string.h>
#include <unistd.h>
void __sanitizer_print_stack_trace(void);
#define NI __attribute__((noinline))
struct node { int v; struct node *next; };
struct node *volatile head;
volatile int V;
static void on_segv(int s) {
  __sanitizer_print_stack_trace(); // printed
  _exit(3);
}
NI int scale_cell(int n) { return V + n; }
#ifdef __OPTIMIZE__
__attribute__((no_sanitize("all")))
#endif
NI int read_cell(const int *p) {
  return *p; // interrupted
}
NI struct node *find(int n) { return head ? head->next : 0; }
NI int value(int n) {
  return find(n)
             ->v; // behind
}
int main(int c, char **v) {
  if (c < 2 || strcmp(v[1], "own")) {
    V = value(c);
    return V;
  }
  signal(SIGSEGV, on_segv);
  V = scale_cell(c);
  V += read_cell((int *)0 + c - 2); // called
  return V;
}
