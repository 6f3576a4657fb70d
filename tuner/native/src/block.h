// What a kernel is given: the rows of a block and where its candidates start.
#pragma once

#include <cstdint>

namespace prunelab {

constexpr int kMostArguments = 5;

struct Block {
  int64_t rows = 0;
  const int64_t* first = nullptr;  // first row of each candidate, relative to the block
  int64_t candidates = 0;
};

using Kernel = void (*)(const Block&, const void* const* in, void* out);

}  // namespace prunelab
