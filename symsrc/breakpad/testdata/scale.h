#pragma once
namespace demo {
extern volatile int sink;
static inline int scale(int v, int by) {
  for (int i = 0; i < by; i++)
    sink = v * i;
  return v * by;
}
} // namespace demo
