// Rules, features and gate of a trial stage over a kernel table.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "forest.h"
#include "programme.h"

namespace prunelab {

constexpr int64_t kKept = -1, kGate = -2;  // codes of what no rule prunes

// Platt scaling and the two conditions of pruner/gate.py; `ready` without trees is false.
struct Gate {
  bool ready = false;
  double slope = 0, offset = 0, spread = 1, best_log = 0, threshold = 1, margin = 0;
};

// Where the answers go; a null pointer is an answer that nobody asked for.
struct Answers {
  uint8_t* keep = nullptr;         // (checks, rows)
  double* sides = nullptr;         // (2, checks, rows): need, have
  int64_t* code = nullptr;         // (candidates): first check that objects, kGate or kKept
  float* features = nullptr;       // (candidates, features)
  double* trees = nullptr;         // (candidates) sum of the trees; nan: not asked
  double* probability = nullptr;   // (candidates) of being worthless; nan: not asked
};

class Pruner {
 public:
  Programme programme;
  Forest forest;
  std::vector<Forest> folds;  // all of them have to agree with the gate
  Gate gate;
  int least = -1;  // which feature is the lower bound of the latency

  // cells: (columns, rows) of 8 bytes; first: the first row of each candidate.
  void Judge(const int64_t* cells, int64_t rows, const int64_t* first, int64_t candidates,
             const Answers& answers) const {
    thread_local std::vector<int64_t> workspace, starts;
    thread_local std::vector<const void*> values;
    const int64_t size = std::min(rows, std::max(kBlock, Longest(first, candidates, rows)));
    programme.Prepare(size, &values, &workspace);
    for (int64_t c = 0; c < candidates;) {
      const int64_t start = first[c];
      starts.clear();
      while (c + static_cast<int64_t>(starts.size()) < candidates) {
        const int64_t next = c + static_cast<int64_t>(starts.size()) + 1;
        if ((next < candidates ? first[next] : rows) - start > size) break;
        starts.push_back(first[next - 1] - start);
      }
      const int64_t next = c + static_cast<int64_t>(starts.size());
      const Block block{(next < candidates ? first[next] : rows) - start, starts.data(), next - c};
      programme.Run(block, cells, rows, start, &values);
      Report(block, start, c, rows, values, answers);
      c = next;
    }
  }

 private:
  static int64_t Longest(const int64_t* first, int64_t candidates, int64_t rows) {
    int64_t longest = 0;
    for (int64_t c = 0; c < candidates; ++c)
      longest = std::max(longest, (c + 1 < candidates ? first[c + 1] : rows) - first[c]);
    return longest;
  }

  void Report(const Block& block, int64_t start, int64_t candidate, int64_t rows,
              const std::vector<const void*>& values, const Answers& answers) const {
    std::vector<int64_t> code(block.candidates, kKept);
    for (int64_t k = static_cast<int64_t>(programme.checks.size()) - 1; k >= 0; --k)
      Object(block, k, static_cast<const int64_t*>(values[programme.checks[k].keep]), &code);
    Sides(block, start, rows, values, answers);
    if (!programme.features.empty()) Ask(block, candidate, values, answers, &code);
    if (answers.code) std::copy(code.begin(), code.end(), answers.code + candidate);
  }

  static void Object(const Block& block, int64_t check, const int64_t* keep,
                     std::vector<int64_t>* code) {
    for (int64_t c = 0; c < block.candidates; ++c) {
      const int64_t stop = c + 1 < block.candidates ? block.first[c + 1] : block.rows;
      for (int64_t r = block.first[c]; r < stop; ++r)
        if (!keep[r]) (*code)[c] = check;
    }
  }

  void Sides(const Block& block, int64_t start, int64_t rows,
             const std::vector<const void*>& values, const Answers& answers) const {
    const int64_t checks = static_cast<int64_t>(programme.checks.size());
    for (int64_t k = 0; k < checks; ++k) {
      const Check& check = programme.checks[k];
      if (answers.keep)
        std::copy_n(static_cast<const int64_t*>(values[check.keep]), block.rows,
                    answers.keep + k * rows + start);
      if (!answers.sides) continue;
      std::copy_n(static_cast<const double*>(values[check.need]), block.rows,
                  answers.sides + k * rows + start);
      std::copy_n(static_cast<const double*>(values[check.have]), block.rows,
                  answers.sides + (checks + k) * rows + start);
    }
  }

  // Features of all candidates, and the gate's opinion on those that no check objects to.
  void Ask(const Block& block, int64_t candidate, const std::vector<const void*>& values,
           const Answers& answers, std::vector<int64_t>* code) const {
    const int64_t wide = static_cast<int64_t>(programme.features.size());
    thread_local std::vector<float> features, asked;
    thread_local std::vector<int64_t> alive;
    thread_local std::vector<double> trees;
    features.resize(wide * block.candidates);
    for (int64_t f = 0; f < wide; ++f) Reduce(block, f, values, features.data() + f * block.candidates);
    if (answers.features)
      for (int64_t c = 0; c < block.candidates; ++c)
        for (int64_t f = 0; f < wide; ++f)
          answers.features[(candidate + c) * wide + f] = features[f * block.candidates + c];
    if (forest.empty()) return;
    alive.clear();
    for (int64_t c = 0; c < block.candidates; ++c)
      if ((*code)[c] == kKept) alive.push_back(c);
    const int64_t n = static_cast<int64_t>(alive.size());
    asked.resize(wide * n);
    trees.resize(n);
    for (int64_t f = 0; f < wide; ++f)
      for (int64_t i = 0; i < n; ++i) asked[f * n + i] = features[f * block.candidates + alive[i]];
    forest.Predict(asked.data(), n, trees.data());
    for (int64_t i = 0; i < n; ++i) {
      if (answers.trees) answers.trees[candidate + alive[i]] = trees[i];
      if (gate.ready) Opine(candidate, alive[i], trees[i], asked[least * n + i], answers, code);
    }
    if (gate.ready && !folds.empty()) Doubt(alive, asked, code);
  }

  // Keeps what the gate prunes where one of the folds' forests does not put it beyond the cut.
  // asked: (features, alive).
  void Doubt(const std::vector<int64_t>& alive, const std::vector<float>& asked,
             std::vector<int64_t>* code) const {
    const int64_t n = static_cast<int64_t>(alive.size());
    std::vector<int64_t> pruned;
    for (int64_t i = 0; i < n; ++i)
      if ((*code)[alive[i]] == kGate) pruned.push_back(i);
    const int64_t m = static_cast<int64_t>(pruned.size());
    const int64_t wide = static_cast<int64_t>(programme.features.size());
    std::vector<float> features(wide * m);
    for (int64_t f = 0; f < wide; ++f)
      for (int64_t i = 0; i < m; ++i) features[f * m + i] = asked[f * n + pruned[i]];
    std::vector<double> trees(m);
    for (const Forest& fold : folds) {
      fold.Predict(features.data(), m, trees.data());
      for (int64_t i = 0; i < m; ++i)
        if (!Beyond(Predicted(trees[i], features[least * m + i]))) (*code)[alive[pruned[i]]] = kKept;
    }
  }

  static double Predicted(double trees, float least_us) {
    return trees + std::log(std::max(static_cast<double>(least_us), 1e-3));
  }

  bool Beyond(double predicted) const { return predicted > gate.best_log + gate.margin; }

  void Opine(int64_t candidate, int64_t c, double trees, float least_us, const Answers& answers,
             std::vector<int64_t>* code) const {
    const double predicted = Predicted(trees, least_us);
    const double z = std::clamp(
        gate.slope * ((predicted - gate.best_log) / gate.spread) + gate.offset, -40.0, 40.0);
    const double probability = 1 / (1 + std::exp(-z));
    if (answers.probability) answers.probability[candidate + c] = probability;
    if (probability > gate.threshold && Beyond(predicted)) (*code)[c] = kGate;
  }

  void Reduce(const Block& block, int64_t feature, const std::vector<const void*>& values,
              float* out) const {
    const Measure& measure = programme.features[feature];
    const double* x = static_cast<const double*>(values[measure.value]);
    for (int64_t c = 0; c < block.candidates; ++c) {
      const int64_t at = block.first[c];
      const int64_t n = (c + 1 < block.candidates ? block.first[c + 1] : block.rows) - at;
      double all = x[at];
      if (n > 1 && measure.how == "add") all = Sum::Over(x + at, n);
      if (n > 1 && measure.how == "maximum") all = Fold<Maximum>::Over(x + at, n);
      if (n > 1 && measure.how == "minimum") all = Fold<Minimum>::Over(x + at, n);
      out[c] = static_cast<float>(all);
    }
  }
};

}  // namespace prunelab
