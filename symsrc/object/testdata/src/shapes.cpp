// Inlining of every depth, templates, local classes, lambdas, cold parts, dropped functions, #line.
#include "leaf.h"

extern "C" void sink(int);

namespace geo {
template <class T> struct Shape {
  T w, h;
  T area() const { return w * h + leaf<T>(w); }
  virtual T pick(T x) { return x > 3 ? area() : side<T>(x); }
};
namespace {
int hidden(int x) {
  int r = 0;
  for (int i = 0; i < x; i++)
    r += leaf<int>(i) ^ x;
  return r;
}
} // namespace
struct Local {
  static int run(int x) {
    struct In {
      static int deep(int y) { return hidden(y) * 2; }
    };
    return In::deep(x) + 1;
  }
};
int in_anon(int x) { return hidden(x) + Local::run(x); }
} // namespace geo

__attribute__((noinline)) static int apply(int (*f)(int), int x) { return f(x) + 1; }

extern "C" __attribute__((noinline)) int entry(int x) {
  auto twice = [](int a) { return leaf<int>(a) * 2; };
  return apply(twice, x) + apply([](int a) { return side<int>(a) + 3; }, x);
}

static void cold_one(int x) {
  if (__builtin_expect(x > 1000, 0)) {
    sink(x);
    sink(x + 1);
    __builtin_trap();
  }
  sink(x);
}

#line 77 "made/up.y"
int lined(int x) {
  cold_one(x);
  return x + 1;
}
#line 60 "shapes.cpp"

__attribute__((noinline)) int dropped(int x) { return x * 17 + leaf<int>(x); }
__attribute__((noinline)) int same_a(int x) { return x * 3 + 1; }
__attribute__((noinline)) int same_b(int x) { return x * 3 + 1; }

extern "C" int shapes_main(int c) {
  geo::Shape<int> s;
  s.w = c;
  s.h = 3;
  geo::Shape<int> *p = &s;
  lined(c);
  return p->pick(c) + geo::in_anon(c) + entry(c) + other(c) + same_a(c) + same_b(c);
}

extern "C" void _start() { shapes_main(4); }
