// Regression trees of LightGBM over float32 features, for a block of candidates at once.
//
// The leaves of a tree are numbered from left to right.  A node whose test fails rules out the
// leaves of its left subtree; the lowest leaf that is left is where the candidate ends (Lucchese et
// al., "QuickScorer", SIGIR 2015).  No branch depends on the data, so that the compiler vectorises.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace prunelab {

class Forest {
 public:
  static constexpr int kLeaves = 32;

  // One tree: children are node numbers, or ~leaf where negative, as in LightGBM's text format.
  void AddTree(const std::vector<int64_t>& feature, const std::vector<double>& threshold,
               const std::vector<int64_t>& left, const std::vector<int64_t>& right,
               const std::vector<double>& value) {
    Tree tree{nodes_.size(), 0, values_.size()};
    if (feature.empty()) {
      values_.push_back(value[0]);
    } else {
      std::vector<uint32_t> under(feature.size());  // leaves of each node's left subtree
      Number(0, left, right, value, tree.value, &under);
      for (size_t i = 0; i < feature.size(); ++i)
        nodes_.push_back({static_cast<int>(feature[i]), Below(threshold[i]), ~under[i]});
    }
    tree.last = nodes_.size();
    trees_.push_back(tree);
  }

  bool empty() const { return trees_.empty(); }

  // scores[r] of n candidates; feature f of candidate r is at features[f * n + r].
  void Predict(const float* features, int64_t n, double* scores) const {
    std::vector<uint32_t> alive(n);
    for (int64_t r = 0; r < n; ++r) scores[r] = 0.0;
    for (const Tree& tree : trees_) {
      for (int64_t r = 0; r < n; ++r) alive[r] = ~0u;
      for (size_t k = tree.first; k < tree.last; ++k)
        Apply(nodes_[k], features + nodes_[k].feature * n, n, alive.data());
      const double* value = values_.data() + tree.value;
      for (int64_t r = 0; r < n; ++r) scores[r] += value[__builtin_ctz(alive[r])];
    }
  }

 private:
  struct Node {
    int feature;
    float threshold;
    uint32_t keep;  // leaves that stay possible where the test fails
  };
  struct Tree {
    size_t first, last, value;
  };

  static void Apply(const Node& node, const float* x, int64_t n, uint32_t* __restrict alive) {
    for (int64_t r = 0; r < n; ++r) alive[r] &= x[r] <= node.threshold ? ~0u : node.keep;
  }

  // The largest float32 that is no more than the threshold: the same answer for every float32.
  static float Below(double threshold) {
    float rounded = static_cast<float>(threshold);
    if (static_cast<double>(rounded) <= threshold) return rounded;
    return std::nextafter(rounded, -std::numeric_limits<float>::infinity());
  }

  // Numbers the leaves below a child from left to right; returns their bits.
  uint32_t Number(int64_t child, const std::vector<int64_t>& left,
                  const std::vector<int64_t>& right, const std::vector<double>& value,
                  size_t base, std::vector<uint32_t>* under) {
    if (child < 0) {
      values_.push_back(value[~child]);
      return 1u << (values_.size() - 1 - base);
    }
    uint32_t below = Number(left[child], left, right, value, base, under);
    (*under)[child] = below;
    return below | Number(right[child], left, right, value, base, under);
  }

  std::vector<Node> nodes_;
  std::vector<Tree> trees_;
  std::vector<double> values_;
};

}  // namespace prunelab
