// Operations of a programme over one block of rows.  Every cell is 8 bytes: a double, an int64, or a
// bool as int64 0 or 1.  Each does what numpy's function of the same name does, to the last bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "block.h"
#include "warp.h"

namespace prunelab {

template <class T, class R, class F>
void Unary(const Block& block, const void* const* in, void* out) {
  const T* x = static_cast<const T*>(in[0]);
  R* __restrict y = static_cast<R*>(out);
  for (int64_t i = 0; i < block.rows; ++i) y[i] = static_cast<R>(F::Of(x[i]));
}

template <class T, class R, class F>
void Binary(const Block& block, const void* const* in, void* out) {
  const T *x = static_cast<const T*>(in[0]), *y = static_cast<const T*>(in[1]);
  R* __restrict z = static_cast<R*>(out);
  for (int64_t i = 0; i < block.rows; ++i) z[i] = static_cast<R>(F::Of(x[i], y[i]));
}

template <class T>
void Where(const Block& block, const void* const* in, void* out) {
  const int64_t* m = static_cast<const int64_t*>(in[0]);
  const T *x = static_cast<const T*>(in[1]), *y = static_cast<const T*>(in[2]);
  T* __restrict z = static_cast<T*>(out);
  for (int64_t i = 0; i < block.rows; ++i) z[i] = m[i] ? x[i] : y[i];
}

template <class T>
bool Nan(T x) { return x != x; }

struct Add { template <class T> static T Of(T x, T y) { return x + y; } };
struct Subtract { template <class T> static T Of(T x, T y) { return x - y; } };
struct Multiply { template <class T> static T Of(T x, T y) { return x * y; } };
struct Divide { static double Of(double x, double y) { return x / y; } };
struct Maximum { template <class T> static T Of(T x, T y) { return (x >= y) | Nan(x) ? x : y; } };
struct Minimum { template <class T> static T Of(T x, T y) { return (x <= y) | Nan(x) ? x : y; } };
struct Less { template <class T> static bool Of(T x, T y) { return x < y; } };
struct LessEqual { template <class T> static bool Of(T x, T y) { return x <= y; } };
struct Greater { template <class T> static bool Of(T x, T y) { return x > y; } };
struct GreaterEqual { template <class T> static bool Of(T x, T y) { return x >= y; } };
struct Equal { template <class T> static bool Of(T x, T y) { return x == y; } };
struct NotEqual { template <class T> static bool Of(T x, T y) { return x != y; } };
struct And { static int64_t Of(int64_t x, int64_t y) { return x & y; } };
struct Or { static int64_t Of(int64_t x, int64_t y) { return x | y; } };
struct Xor { static int64_t Of(int64_t x, int64_t y) { return x ^ y; } };
struct Not { static int64_t Of(int64_t x) { return x ^ 1; } };
struct Ceil { static double Of(double x) { return std::ceil(x); } };
struct Floor { static double Of(double x) { return std::floor(x); } };
struct Sqrt { static double Of(double x) { return std::sqrt(x); } };
struct Exp2 { static double Of(double x) { return std::exp2(x); } };
struct Absolute { template <class T> static T Of(T x) { return x < 0 ? -x : x; } };
struct Negative { template <class T> static T Of(T x) { return -x; } };
struct IsFinite { static bool Of(double x) { return std::isfinite(x); } };
struct Cast { template <class T> static T Of(T x) { return x; } };

// numpy's pairwise sum of what follows the first element, added to the first, as reduceat does it.
inline double Pairwise(const double* x, int64_t n) {
  if (n < 8) {
    double sum = -0.0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
  }
  if (n > 128) {
    int64_t half = n / 2 - (n / 2) % 8;
    return Pairwise(x, half) + Pairwise(x + half, n - half);
  }
  double r[8];
  for (int k = 0; k < 8; ++k) r[k] = x[k];
  int64_t i = 8;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) r[k] += x[i + k];
  double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  for (; i < n; ++i) sum += x[i];
  return sum;
}

struct Sum {
  static double Over(const double* x, int64_t n) { return n == 1 ? x[0] : x[0] + Pairwise(x + 1, n - 1); }
  static int64_t Over(const int64_t* x, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
  }
};

template <class F>
struct Fold {
  template <class T>
  static T Over(const T* x, int64_t n) {
    T all = x[0];
    for (int64_t i = 1; i < n; ++i) all = F::Of(all, x[i]);
    return all;
  }
};

// Reduces the rows of each candidate and gives every row the result.
template <class T, class F>
void Candidate(const Block& block, const void* const* in, void* out) {
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  for (int64_t c = 0; c < block.candidates; ++c) {
    int64_t start = block.first[c];
    int64_t stop = c + 1 < block.candidates ? block.first[c + 1] : block.rows;
    T all = F::Over(x + start, stop - start);
    for (int64_t i = start; i < stop; ++i) y[i] = all;
  }
}

// The kernel of an operation by name and kind of operands; nullptr where there is none.
inline Kernel Find(const std::string& op, const std::string& kind) {
  using I = int64_t;
  static const std::unordered_map<std::string, Kernel> kernels = {
#define PRUNELAB_BOTH(name, F) \
  {name "f", Binary<double, double, F>}, {name "i", Binary<I, I, F>}
#define PRUNELAB_COMPARE(name, F)                                    \
  {name "f", Binary<double, I, F>}, {name "i", Binary<I, I, F>}, \
  {name "b", Binary<I, I, F>}
#define PRUNELAB_FOLD(name, F) {name "f", Candidate<double, F>}, {name "i", Candidate<I, F>}
      PRUNELAB_BOTH("add", Add),
      PRUNELAB_BOTH("subtract", Subtract),
      PRUNELAB_BOTH("multiply", Multiply),
      PRUNELAB_BOTH("maximum", Maximum),
      PRUNELAB_BOTH("minimum", Minimum),
      PRUNELAB_COMPARE("less", Less),
      PRUNELAB_COMPARE("less_equal", LessEqual),
      PRUNELAB_COMPARE("greater", Greater),
      PRUNELAB_COMPARE("greater_equal", GreaterEqual),
      PRUNELAB_COMPARE("equal", Equal),
      PRUNELAB_COMPARE("not_equal", NotEqual),
      PRUNELAB_FOLD("sum", Sum),
      PRUNELAB_FOLD("most", Fold<Maximum>),
      PRUNELAB_FOLD("least", Fold<Minimum>),
#undef PRUNELAB_BOTH
#undef PRUNELAB_COMPARE
#undef PRUNELAB_FOLD
      {"dividef", Binary<double, double, Divide>},
      {"addb", Binary<I, I, Or>},
      {"multiplyb", Binary<I, I, And>},
      {"andb", Binary<I, I, And>},
      {"orb", Binary<I, I, Or>},
      {"xorb", Binary<I, I, Xor>},
      {"notb", Unary<I, I, Not>},
      {"ceilf", Unary<double, double, Ceil>},
      {"floorf", Unary<double, double, Floor>},
      {"sqrtf", Unary<double, double, Sqrt>},
      {"exp2f", Unary<double, double, Exp2>},
      {"absolutef", Unary<double, double, Absolute>},
      {"absolutei", Unary<I, I, Absolute>},
      {"negativef", Unary<double, double, Negative>},
      {"negativei", Unary<I, I, Negative>},
      {"isfinitef", Unary<double, I, IsFinite>},
      {"to_fi", Unary<I, double, Cast>},
      {"to_fb", Unary<I, double, Cast>},
      {"to_ib", Unary<I, I, Cast>},
      {"wheref", Where<double>},
      {"wherei", Where<I>},
      {"whereb", Where<I>},
      {"warp_sectorsf", WarpAccess<Sectors>},
      {"warp_wavefrontsf", WarpAccess<Wavefronts>},
  };
  auto found = kernels.find(op + kind);
  return found == kernels.end() ? nullptr : found->second;
}

}  // namespace prunelab
