// What one warp-wide access of a GPU costs; the counterpart of hwsim/gpu_sm/access.py, which
// describes it.  Arguments: bytes of one thread's access, threads in the fastest digit, the two
// strides in bytes, threads of the block.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "block.h"

namespace prunelab {

constexpr int kWarp = 32, kBanks = 32, kBankBytes = 4, kSectorBytes = 32, kPhases = 8;
constexpr double kFar = static_cast<double>(int64_t{1} << 40);

using Starts = std::array<int64_t, kWarp>;

// Both take a warp's starts in any order, and sort copies of them.
struct Sectors {
  static double Of(Starts start, int64_t width) {
    Ascend(start.begin(), start.end());
    int64_t last = -1, count = 0;
    for (int64_t from : start)
      for (int64_t s = from / kSectorBytes; s <= (from + width - 1) / kSectorBytes; ++s)
        if (s > last) ++count, last = s;
    return static_cast<double>(count);
  }

  template <class Iterator>
  static void Ascend(Iterator from, Iterator to) {
    if (!std::is_sorted(from, to)) std::sort(from, to);
  }
};

struct Wavefronts {
  static double Of(const Starts& start, int64_t width) {
    const int words = static_cast<int>(std::max<int64_t>(width / kBankBytes, 1));
    if (words == 1) return Passes(start, words, kWarp);
    const int lanes = words == 2 ? kWarp / 2 : kWarp / 4;
    const bool merged = Same(start, 1) || Same(start, 2);
    return Passes(start, words, merged ? 2 * lanes : lanes);
  }

 private:
  static bool Same(const Starts& start, int bit) {
    for (int t = 0; t < kWarp; ++t)
      if (start[t] != start[t ^ bit]) return false;
    return true;
  }

  // Groups of lanes are served one after another, each in as many passes as its fullest bank has
  // distinct words.
  static double Passes(Starts start, int words, int lanes) {
    int passes = 0;
    for (int t = 0; t < kWarp; t += lanes) {
      Sectors::Ascend(start.begin() + t, start.begin() + t + lanes);
      passes += Fullest(start.data() + t, words, lanes);
    }
    return passes;
  }

  static int Fullest(const int64_t* ascending, int words, int lanes) {
    std::array<uint8_t, kBanks> in_bank{};
    int64_t last = -1;
    int fullest = 0;
    for (int t = 0; t < lanes; ++t)
      for (int64_t w = ascending[t] / kBankBytes, end = w + words; w < end; ++w)
        if (w > last) {
          fullest = std::max<int>(fullest, ++in_bank[w & (kBanks - 1)]);
          last = w;
        }
    return fullest;
  }
};

// Mean of F over the warps of a block: one, or eight where the thread run does not divide a warp.
template <class F>
double OverWarps(const std::array<int64_t, 5>& key) {
  const int64_t run = std::max<int64_t>(key[1], 1), threads = std::max<int64_t>(key[4], 1);
  const bool even = kWarp % run == 0 || run % kWarp == 0;
  double value[kPhases] = {}, used = 0;
  for (int phase = 0; phase < (even ? 1 : kPhases); ++phase) {
    if (phase * kWarp >= threads) break;
    Starts start;
    int64_t fast = phase * kWarp % run, slow = phase * kWarp / run;
    for (int lane = 0; lane < kWarp; ++lane) {
      start[lane] = phase * kWarp + lane < threads ? fast * key[2] + slow * key[3] : start[0];
      if (++fast == run) fast = 0, ++slow;
    }
    value[phase] = F::Of(start, key[0]);
    used += 1;
  }
  if (even) return value[0];
  const double weight = 1.0 / used;
  for (double& v : value) v *= weight;
  return ((value[0] + value[1]) + (value[2] + value[3])) +
         ((value[4] + value[5]) + (value[6] + value[7]));
}

// Remembers recent patterns: few distinct ones occur in a table of many rows.
template <class F>
void WarpAccess(const Block& block, const void* const* in, void* out) {
  struct Slot {
    std::array<int64_t, 5> key{-1, -1, -1, -1, -1};
    double value = 0;
  };
  thread_local std::array<Slot, 4096> recent;
  double* y = static_cast<double*>(out);
  for (int64_t i = 0; i < block.rows; ++i) {
    std::array<int64_t, 5> key;
    uint64_t hash = 0;
    for (int k = 0; k < 5; ++k) {
      key[k] = static_cast<int64_t>(std::min(static_cast<const double*>(in[k])[i], kFar));
      hash = (hash ^ static_cast<uint64_t>(key[k])) * 0x9E3779B97F4A7C15u;
    }
    Slot& slot = recent[hash >> 52];
    if (slot.key != key) slot = {key, OverWarps<F>(key)};
    y[i] = slot.value;
  }
}

}  // namespace prunelab
