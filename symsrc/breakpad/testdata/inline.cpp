// What the test files are made of: calls inlined two deep, over two files.
#include "scale.h"

namespace demo {
volatile int sink;

static inline int twice(int v) {
  sink = v;
  return scale(v, 2) + 1;
}

struct Meter {
  int level;
  __attribute__((noinline)) int read(int by);
};

int Meter::read(int by) {
  int sum = 0;
  for (int i = 0; i < by; i++)
    sum += twice(level + i);
  return sum;
}
} // namespace demo

extern "C" __attribute__((noinline)) int plain(int v) {
  demo::sink = v;
  return demo::twice(v);
}

int main(int argc, char **) {
  demo::Meter m{argc};
  return m.read(plain(argc)) == 0;
}
