/* What Walks.java calls: it calls back through functions of its own, and faults right after a call. */
static volatile int sink;

__attribute__((noinline)) static int *get(int n) {
  sink = n;
  return 0;
}

__attribute__((noinline)) static int faulty(int n) {
  int r = 1;
  r += *get(n); // hs_err: faulty
  return r;
}

int Java_Walks_boom(void *environment, void *class, int n) {
  int r = 1;
  r += faulty(n); // hs_err: Java_Walks_boom
  return r + sink;
}
