// A programme as the engine keeps it: kernels over slots of a workspace that holds one block of rows.
#pragma once

#include <tvm/ffi/error.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops.h"

namespace prunelab {

constexpr int64_t kBlock = 256;  // rows: a workspace of a hundred slots stays within L2

struct Check {
  int keep, need, have;
};

struct Measure {
  int value;
  std::string how;
};

class Programme {
 public:
  struct Instruction {
    std::string op, kind;
    std::vector<int> args;
  };

  int columns = 0;
  bool several_rows = false;
  std::vector<int64_t> constants;  // bits of a double, an int64, or a bool
  std::vector<Check> checks;
  std::vector<Measure> features;

  // Takes the instructions and gives each value a slot; slots of values that are dead are reused.
  void Compile(const std::vector<Instruction>& instructions) {
    const int given = columns + static_cast<int>(constants.size());
    std::vector<int> last = LastUses(instructions, given);
    slot_.assign(given, -1);
    for (int i = columns; i < given; ++i) slot_[i] = slots_++;  // a constant keeps its slot
    std::vector<int> free;
    for (size_t i = 0; i < instructions.size(); ++i) {
      const Instruction& instruction = instructions[i];
      Kernel kernel = Find(instruction.op, instruction.kind);
      TVM_FFI_CHECK(kernel != nullptr, ValueError)
          << "operation " << instruction.op << " of " << instruction.kind << ": unknown";
      int out = free.empty() ? slots_++ : free.back();
      if (!free.empty()) free.pop_back();
      slot_.push_back(out);
      const std::vector<int>& args = instruction.args;
      TVM_FFI_CHECK(args.size() <= kMostArguments, ValueError) << "instruction " << i << ": "
                                                               << args.size() << " arguments";
      for (size_t k = 0; k < args.size(); ++k) {
        bool again = std::find(args.begin(), args.begin() + k, args[k]) != args.begin() + k;
        if (args[k] >= given && last[args[k]] == static_cast<int>(i) + given && !again)
          free.push_back(slot_[args[k]]);
      }
      steps_.push_back({kernel, args});
    }
  }

  // Runs the block that starts at row `start` of columns of `rows` cells each.
  void Run(const Block& block, const int64_t* cells, int64_t rows, int64_t start,
           std::vector<const void*>* values) const {
    for (int i = 0; i < columns; ++i) (*values)[i] = cells + i * rows + start;
    const int given = columns + static_cast<int>(constants.size());
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const void* in[kMostArguments];
      for (size_t k = 0; k < step.args.size(); ++k) in[k] = (*values)[step.args[k]];
      step.kernel(block, in, const_cast<void*>((*values)[given + i]));
    }
  }

  // Pointers of all values into a workspace of blocks of `size` rows; constants are filled in.
  void Prepare(int64_t size, std::vector<const void*>* values,
               std::vector<int64_t>* workspace) const {
    workspace->resize(slots_ * size);
    values->assign(slot_.size(), nullptr);
    for (size_t i = columns; i < slot_.size(); ++i)
      (*values)[i] = workspace->data() + slot_[i] * size;
    for (size_t k = 0; k < constants.size(); ++k) {
      int64_t* at = workspace->data() + slot_[columns + k] * size;
      for (int64_t r = 0; r < size; ++r) at[r] = constants[k];
    }
  }

 private:
  struct Step {
    Kernel kernel;
    std::vector<int> args;
  };

  // The number of the instruction (counted from `given`) after which a value is dead.
  std::vector<int> LastUses(const std::vector<Instruction>& instructions, int given) const {
    std::vector<int> last(given + instructions.size(), 0);
    for (size_t i = 0; i < instructions.size(); ++i)
      for (int arg : instructions[i].args) {
        TVM_FFI_CHECK(arg >= 0 && arg < given + static_cast<int>(i), ValueError)
            << "instruction " << i << ": argument " << arg << " is no earlier value";
        last[arg] = given + static_cast<int>(i);
      }
    const int end = given + static_cast<int>(instructions.size());
    for (const Check& check : checks) last.at(check.keep) = last.at(check.need) = last.at(check.have) = end;
    for (const Measure& measure : features) last.at(measure.value) = end;
    return last;
  }

  int slots_ = 0;
  std::vector<int> slot_;  // of each value; -1: a column, read where it lies
  std::vector<Step> steps_;
};

}  // namespace prunelab
