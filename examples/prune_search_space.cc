// Prunes candidates from C++, through TVM's FFI.  Build:
//
//   c++ -std=c++17 prune_search_space.cc -o prune_search_space \
//     $(tvm-ffi-config --cxxflags) $(tvm-ffi-config --ldflags) $(tvm-ffi-config --libs) \
//     -ldl -Wl,-rpath,$(tvm-ffi-config --libdir)
//
// Run: ./prune_search_space LIBRARY PRUNER.json < COLUMNS
//
// LIBRARY is what tuner.native.library.built() returns, PRUNER.json what
// tuner.native.export.exported(...).to_json() says.  COLUMNS are two counts, columns and rows, and
// the numbers, column by column.  Prints a line a candidate: code (-1: kept, -2: the gate, else the
// position of the check that objects) and the gate's probability.
#include <dlfcn.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

namespace ffi = tvm::ffi;

template <class T>
struct View : DLTensor {
  View(std::vector<T>* cells, std::vector<int64_t> extents, DLDataTypeCode code)
      : extents_(std::move(extents)), strides_(extents_.size(), 1) {
    for (size_t i = extents_.size(); i-- > 1;) strides_[i - 1] = strides_[i] * extents_[i];
    data = cells->data();
    device = {kDLCPU, 0};
    ndim = static_cast<int>(extents_.size());
    dtype = {static_cast<uint8_t>(code), 8 * sizeof(T), 1};
    shape = extents_.data();
    strides = strides_.data();
    byte_offset = 0;
  }

 private:
  std::vector<int64_t> extents_, strides_;
};

int main(int argc, char** argv) {
  if (argc != 3 || !dlopen(argv[1], RTLD_NOW)) {
    std::cerr << (argc != 3 ? "usage: prune_search_space LIBRARY PRUNER.json" : dlerror()) << "\n";
    return 2;
  }
  std::ifstream file(argv[2]);
  const std::string pruner{std::istreambuf_iterator<char>(file), {}};
  int64_t columns = 0, rows = 0;
  std::cin >> columns >> rows;
  std::vector<double> cells(columns * rows);
  for (double& cell : cells) std::cin >> cell;
  std::vector<int64_t> first(rows);  // every candidate one row
  std::iota(first.begin(), first.end(), 0);

  View<double> given(&cells, {columns, rows}, kDLFloat);
  View<int64_t> starts(&first, {rows}, kDLInt);
  auto prune = ffi::Function::GetGlobalRequired("prunelab.PruneSearchSpace");
  auto said = prune(ffi::String(pruner), static_cast<DLTensor*>(&given),
                    static_cast<DLTensor*>(&starts))
                  .cast<ffi::Array<ffi::Tensor>>();
  const auto* code = static_cast<const int64_t*>(said[1].data_ptr());
  const auto* probability = static_cast<const double*>(said[2].data_ptr());
  for (int64_t i = 0; i < rows; ++i)
    std::printf("%lld %.17g\n", static_cast<long long>(code[i]), probability[i]);
}
