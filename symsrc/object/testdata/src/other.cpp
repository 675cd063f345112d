#include "leaf.h"

static int counter;
int table[16];

static int stat_c(int x) { return side<int>(x) + leaf<int>(x + 1); }

int other(int x) {
  for (int i = 0; i < x; i++)
    table[i & 15] += stat_c(i);
  return counter += x;
}

extern "C" __attribute__((noinline)) void sink(int x) { table[0] = x; }

// Hand-written code: a symbol without a size, one without a line, and two names at one address.
__asm__(".text\n.globl nosize\nnosize:\n nop\n nop\n.type sized,%function\nsized:\nalias:\n nop\n nop\n.size sized,2\n nop\n");
