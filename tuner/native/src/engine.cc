// The functions that prunelab exports through TVM's FFI; docs/native.md describes them.
#include <tvm/ffi/reflection/registry.h>

#include <cstdlib>
#include <limits>

#include "load.h"

namespace prunelab {

using ffi::Tensor;
using ffi::TensorView;

constexpr DLDevice kCpu{kDLCPU, 0};

struct Heap {
  void AllocData(DLTensor* tensor) {
    int64_t cells = 1;
    for (int i = 0; i < tensor->ndim; ++i) cells *= tensor->shape[i];
    tensor->data = std::malloc(std::max<int64_t>(cells * (tensor->dtype.bits / 8), 1));
  }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

template <class T>
T* Data(const TensorView& tensor, std::initializer_list<int64_t> shape, const char* name) {
  TVM_FFI_CHECK(tensor.dtype().bits == 8 * sizeof(T), ValueError)
      << name << ": cells of " << tensor.dtype().bits << " bits, expected " << 8 * sizeof(T);
  TVM_FFI_CHECK(tensor.ndim() == static_cast<int>(shape.size()), ValueError)
      << name << ": " << tensor.ndim() << " dimensions, expected " << shape.size();
  int i = 0;
  for (int64_t extent : shape) {
    TVM_FFI_CHECK(tensor.size(i) == extent, ValueError)
        << name << ": extent " << tensor.size(i) << " of dimension " << i << ", expected " << extent;
    ++i;
  }
  TVM_FFI_CHECK(tensor.IsContiguous(), ValueError) << name << ": not contiguous";
  return static_cast<T*>(tensor.data_ptr());
}

// The first row of each candidate: ascending from 0, below `rows`.
const int64_t* FirstRows(const TensorView& first, int64_t rows, bool several_rows) {
  const int64_t n = first.size(0);
  const int64_t* at = Data<int64_t>(first, {n}, "first");
  bool fine = n > 0 ? at[0] == 0 : rows == 0;
  for (int64_t c = 1; c < n; ++c) fine = fine && at[c - 1] < at[c];
  TVM_FFI_CHECK(fine && (n == 0 || at[n - 1] < rows), ValueError)
      << "first: expected ascending rows from 0";
  TVM_FFI_CHECK(several_rows || n == rows, ValueError)
      << "first: " << n << " candidates of " << rows << " rows, the programme wants a row each";
  return at;
}

// A pruner that answers into the caller's arrays: cells (columns, rows) of int64 or float64 bits,
// first (candidates), features (candidates, features), trees and code (candidates); and, where they
// are not empty, keep (checks, rows) of bytes and sides (2, checks, rows).
ffi::Function LoadPruner(const ffi::String& text) {
  auto loaded = Load(text);
  return ffi::Function::FromTyped([loaded](TensorView cells, TensorView first, TensorView features,
                                           TensorView trees, TensorView code, TensorView keep,
                                           TensorView sides) {
    const Pruner& pruner = loaded->pruner;
    const int64_t rows = cells.size(1), n = first.size(0);
    const int64_t checks = static_cast<int64_t>(pruner.programme.checks.size());
    const int64_t wide = static_cast<int64_t>(pruner.programme.features.size());
    Answers answers;
    answers.features = Data<float>(features, {n, wide}, "features");
    answers.trees = Data<double>(trees, {n}, "trees");
    answers.code = Data<int64_t>(code, {n}, "code");
    if (keep.size(0) > 0) answers.keep = Data<uint8_t>(keep, {checks, rows}, "keep");
    if (sides.size(0) > 0) answers.sides = Data<double>(sides, {2, checks, rows}, "sides");
    std::fill_n(answers.trees, n, std::numeric_limits<double>::quiet_NaN());
    pruner.Judge(Data<int64_t>(cells, {pruner.programme.columns, rows}, "cells"), rows,
                 FirstRows(first, rows, pruner.programme.several_rows), n, answers);
  });
}

// Numbers as cells: column by column, in the column's kind.
std::vector<int64_t> Cells(const Loaded& loaded, const double* columns, int64_t rows) {
  std::vector<int64_t> cells(loaded.kinds.size() * rows);
  for (size_t c = 0; c < loaded.kinds.size(); ++c)
    for (int64_t r = 0; r < rows; ++r) {
      const double x = columns[c * rows + r];
      if (loaded.kinds[c] == 'i')
        cells[c * rows + r] = static_cast<int64_t>(x);
      else
        std::memcpy(&cells[c * rows + r], &x, sizeof(x));
    }
  return cells;
}

// The whole trial stage of a batch in one call: columns (columns, rows) of float64, first
// (candidates) -> mask (bytes), code (int64), probability (float64; nan: the gate was not asked).
ffi::Array<Tensor> PruneSearchSpace(const ffi::String& text, TensorView columns, TensorView first) {
  auto loaded = Load(text);
  const int64_t rows = columns.size(1), n = first.size(0);
  const double* given =
      Data<double>(columns, {static_cast<int64_t>(loaded->kinds.size()), rows}, "columns");
  Tensor mask = Tensor::FromNDAlloc(Heap(), {n}, DLDataType{kDLUInt, 8, 1}, kCpu);
  Tensor code = Tensor::FromNDAlloc(Heap(), {n}, DLDataType{kDLInt, 64, 1}, kCpu);
  Tensor probability = Tensor::FromNDAlloc(Heap(), {n}, DLDataType{kDLFloat, 64, 1}, kCpu);
  Answers answers;
  answers.code = static_cast<int64_t*>(code.data_ptr());
  answers.probability = static_cast<double*>(probability.data_ptr());
  std::fill_n(answers.probability, n, std::numeric_limits<double>::quiet_NaN());
  loaded->pruner.Judge(Cells(*loaded, given, rows).data(), rows,
                       FirstRows(first, rows, loaded->pruner.programme.several_rows), n, answers);
  for (int64_t c = 0; c < n; ++c)
    static_cast<uint8_t*>(mask.data_ptr())[c] = answers.code[c] == kKept;
  return {mask, code, probability};
}

// A function for one candidate, as a postprocessor asks: columns (columns, rows) of float64 -> code.
ffi::Function LoadCandidate(const ffi::String& text) {
  auto loaded = Load(text);
  return ffi::Function::FromTyped([loaded](TensorView columns) -> int64_t {
    const int64_t rows = columns.size(1), first = 0;
    const double* given =
        Data<double>(columns, {static_cast<int64_t>(loaded->kinds.size()), rows}, "columns");
    TVM_FFI_CHECK(rows == 1 || (rows > 1 && loaded->pruner.programme.several_rows), ValueError)
        << "columns: " << rows << " rows of one candidate";
    int64_t code = kKept;
    Answers answers;
    answers.code = &code;
    loaded->pruner.Judge(Cells(*loaded, given, rows).data(), rows, &first, 1, answers);
    return code;
  });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("prunelab.PruneSearchSpace", PruneSearchSpace)
      .def("prunelab.LoadCandidate", LoadCandidate)
      .def("prunelab.LoadPruner", LoadPruner);
}

}  // namespace prunelab
