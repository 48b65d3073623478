#include "compute/autoscaler.h"

#include <algorithm>

namespace slipway::compute {

namespace {

constexpr Duration kFirstWait = std::chrono::seconds(1);
constexpr Duration kLongestWait = std::chrono::minutes(5);

class Scaling {
 public:
  explicit Scaling(const ScalerInput& input) : input_(input) {}

  ScalerDecision decide() {
    sort_out();
    let_go_above_max();
    let_go_outdated();
    let_go_idle();
    start();
    return std::move(decision_);
  }

 private:
  void ask_again(Monotonic at) {
    if (!decision_.ask_again || at < *decision_.ask_again) decision_.ask_again = at;
  }

  // Nodes that are over, and the rest by what they do: the longest at it first.
  void sort_out() {
    for (const ScalerNode& node : input_.nodes) {
      switch (node.state) {
        case NodeState::kStarting:
          if (input_.now - node.since >= input_.limits.start_timeout) {
            decision_.give_up.push_back(node.id);
          } else {
            ask_again(node.since + input_.limits.start_timeout);
            starting_.push_back(&node);
          }
          break;
        case NodeState::kIdle: idle_.push_back(&node); break;
        case NodeState::kBusy: busy_.push_back(&node); break;
        case NodeState::kDraining:
        case NodeState::kLost:
          if (!node.holds_attempts) decision_.stop.push_back(node.id);
          break;
      }
    }
    // Ties go by place in the input, which pointers into it tell.
    const auto age = [](const ScalerNode* node) { return std::pair(node->since, node); };
    for (auto* nodes : {&starting_, &idle_, &busy_}) std::ranges::sort(*nodes, {}, age);
  }

  int remaining() const { return static_cast<int>(starting_.size() + idle_.size() + busy_.size()); }

  void drain(std::vector<const ScalerNode*>& from, std::vector<const ScalerNode*>::iterator which) {
    decision_.drain.push_back((*which)->id);
    ask_again(input_.now);  // once it is marked, it may be ready to be stopped
    from.erase(which);
  }

  // The limit was lowered. What does nothing goes first; a busy node takes no new work and ends with what it
  // has.
  void let_go_above_max() {
    while (remaining() > input_.limits.max_nodes) {
      if (!idle_.empty())
        drain(idle_, idle_.begin());
      else if (!starting_.empty())
        drain(starting_, starting_.end() - 1);
      else
        drain(busy_, busy_.end() - 1);
    }
  }

  // Whatever the minimum: others of the right size take their place.
  void let_go_outdated() {
    for (auto node = idle_.begin(); node != idle_.end();) {
      if ((*node)->outdated)
        drain(idle_, node);  // leaves `node` at the one that follows
      else
        ++node;
    }
  }

  void let_go_idle() {
    if (input_.runs_wait) return;
    while (!idle_.empty() && remaining() > input_.limits.min_nodes) {
      const Monotonic until = idle_.front()->since + input_.limits.idle;
      if (input_.now < until) return ask_again(until);
      drain(idle_, idle_.begin());
    }
  }

  void start() {
    const int present = static_cast<int>(input_.nodes.size());
    const int starting = static_cast<int>(starting_.size());
    const int missing = std::max(input_.limits.min_nodes - remaining(), input_.nodes_wanted - starting);
    const int count = std::min(missing, input_.limits.max_nodes - present);
    if (count <= 0) return;
    if (input_.now < input_.backoff.not_before) return ask_again(input_.backoff.not_before);
    decision_.start = count;
  }

  const ScalerInput& input_;
  ScalerDecision decision_;
  std::vector<const ScalerNode*> starting_;
  std::vector<const ScalerNode*> idle_;
  std::vector<const ScalerNode*> busy_;
};

}  // namespace

void StartBackoff::failed(Monotonic now) {
  const int doublings = std::min(failures, 10);
  not_before = now + std::min(kFirstWait * (1 << doublings), kLongestWait);
  ++failures;
}

ScalerDecision scale(const ScalerInput& input) {
  return Scaling(input).decide();
}

}  // namespace slipway::compute
