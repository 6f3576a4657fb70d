// From JSON (docs/native.md) to a pruner.
#pragma once

#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pruner.h"

namespace prunelab {

namespace ffi = tvm::ffi;

inline ffi::Any At(const ffi::json::Object& object, const char* key) {
  auto found = object.find(ffi::String(key));
  TVM_FFI_CHECK(found != object.end(), ValueError) << "pruner: key \"" << key << "\" is missing";
  return (*found).second;
}

inline ffi::json::Object ObjectAt(const ffi::json::Object& object, const char* key) {
  return At(object, key).cast<ffi::json::Object>();
}

inline ffi::json::Array ArrayAt(const ffi::json::Object& object, const char* key) {
  return At(object, key).cast<ffi::json::Array>();
}

inline std::string TextAt(const ffi::json::Object& object, const char* key) {
  return At(object, key).cast<ffi::String>();
}

inline int64_t IntAt(const ffi::json::Object& object, const char* key) {
  return At(object, key).cast<int64_t>();
}

// JSON does not tell 1.0 from 1.
inline double Number(const ffi::Any& value) {
  if (auto whole = value.as<int64_t>()) return static_cast<double>(*whole);
  return value.cast<double>();
}

template <class T>
std::vector<T> List(const ffi::json::Array& values) {
  std::vector<T> out;
  for (const ffi::Any& value : values) {
    if constexpr (std::is_floating_point_v<T>)
      out.push_back(Number(value));
    else
      out.push_back(static_cast<T>(value.cast<int64_t>()));
  }
  return out;
}

// The 8 bytes of a number that Python printed.
inline int64_t Bits(const std::string& kind, const std::string& text) {
  if (kind == "b") return text == "True";
  if (kind == "i") return std::strtoll(text.c_str(), nullptr, 10);
  const double number = std::strtod(text.c_str(), nullptr);
  int64_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

// `kinds` gets the kind of each column.
inline void LoadProgramme(const ffi::json::Object& from, Programme* to, std::vector<char>* kinds) {
  to->several_rows = At(from, "several_rows").cast<bool>();
  for (const ffi::Any& column : ArrayAt(from, "columns"))
    kinds->push_back(TextAt(column.cast<ffi::json::Object>(), "kind").at(0));
  to->columns = static_cast<int>(kinds->size());
  for (const ffi::Any& any : ArrayAt(from, "constants")) {
    const auto constant = any.cast<ffi::json::Object>();
    to->constants.push_back(Bits(TextAt(constant, "kind"), TextAt(constant, "value")));
  }
  for (const ffi::Any& any : ArrayAt(from, "checks")) {
    const auto check = any.cast<ffi::json::Object>();
    to->checks.push_back({static_cast<int>(IntAt(check, "keep")),
                          static_cast<int>(IntAt(check, "need")),
                          static_cast<int>(IntAt(check, "have"))});
  }
  for (const ffi::Any& any : ArrayAt(from, "features")) {
    const auto measure = any.cast<ffi::json::Object>();
    to->features.push_back({static_cast<int>(IntAt(measure, "value")), TextAt(measure, "how")});
  }
  std::vector<Programme::Instruction> instructions;
  for (const ffi::Any& any : ArrayAt(from, "instructions")) {
    const auto one = any.cast<ffi::json::Object>();
    instructions.push_back(
        {TextAt(one, "op"), TextAt(one, "kind"), List<int>(ArrayAt(one, "args"))});
  }
  to->Compile(instructions);
}

inline void LoadForest(const ffi::json::Object& from, Forest* to) {
  for (const ffi::Any& any : ArrayAt(from, "trees")) {
    const auto tree = any.cast<ffi::json::Object>();
    to->AddTree(List<int64_t>(ArrayAt(tree, "feature")), List<double>(ArrayAt(tree, "threshold")),
                List<int64_t>(ArrayAt(tree, "left")), List<int64_t>(ArrayAt(tree, "right")),
                List<double>(ArrayAt(tree, "value")));
  }
}

inline void LoadGate(const ffi::json::Object& from, Gate* to) {
  *to = {true,
         Number(At(from, "slope")),
         Number(At(from, "offset")),
         Number(At(from, "spread")),
         Number(At(from, "best_log")),
         Number(At(from, "threshold")),
         Number(At(from, "margin"))};
}

struct Loaded {
  Pruner pruner;
  std::vector<char> kinds;  // of the columns
};

inline std::shared_ptr<const Loaded> Load(const ffi::String& text) {
  const auto root = ffi::json::Parse(text).cast<ffi::json::Object>();
  auto out = std::make_shared<Loaded>();
  const auto programme = ObjectAt(root, "programme");
  LoadProgramme(programme, &out->pruner.programme, &out->kinds);
  const ffi::Any forest = At(root, "forest"), gate = At(root, "gate");
  if (forest != nullptr) LoadForest(forest.cast<ffi::json::Object>(), &out->pruner.forest);
  if (gate != nullptr) LoadGate(gate.cast<ffi::json::Object>(), &out->pruner.gate);
  for (const ffi::Any& fold : ArrayAt(root, "folds"))
    LoadForest(fold.cast<ffi::json::Object>(), &out->pruner.folds.emplace_back());
  int at = 0;
  for (const ffi::Any& measure : ArrayAt(programme, "features")) {
    if (TextAt(measure.cast<ffi::json::Object>(), "name") == "least_us") out->pruner.least = at;
    ++at;
  }
  TVM_FFI_CHECK(!out->pruner.gate.ready || out->pruner.least >= 0, ValueError)
      << "pruner: a gate without the feature least_us";
  return out;
}

}  // namespace prunelab
