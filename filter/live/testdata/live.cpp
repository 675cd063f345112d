// A program with a fault for each sanitizer, chosen by its argument.
#include <atomic>
#include <stdlib.h>
#include <string.h>
#include <thread>
int shared;
static inline __attribute__((always_inline)) int deref(int *p) { return *p; }
namespace n {
__attribute__((noinline)) int use(int *p) { return deref(p) + 1; }
struct A { __attribute__((noinline)) int run(int *p) { return use(p) + 2; } };
}
__attribute__((noinline)) void race() { shared++; }
// The two accesses of the race never happen at the same instant, where ThreadSanitizer may miss them; a relaxed flag keeps
// them apart and yet orders nothing.
std::atomic<bool> raced;
void first() { race(); raced.store(true, std::memory_order_relaxed); }
int main(int argc, char **argv) {
  const char *what = argv[1];
  n::A a;
  if (!strcmp(what, "free")) {
    int *p = (int *)malloc(sizeof(int)); *p = argc; free(p);
    return a.run(p);
  }
  if (!strcmp(what, "null")) return a.run((int *)(size_t)(argc - 2));
  if (!strcmp(what, "overflow")) { int x = 0x7fffffff; x += argc; return x == 3; }
  if (!strcmp(what, "race")) {
    std::thread t(first);
    while (!raced.load(std::memory_order_relaxed)) std::this_thread::yield();
    race();
    t.join();
  }
}
