#pragma once
template <class T> static inline T leaf(T x) {
  T r = x;
  while (r > 100)
    r -= r >> 2;
  return r + 1;
}
template <class T> T side(T x) {
  if (x & 1)
    return leaf<T>(x) - 2;
  return x;
}
int other(int);
