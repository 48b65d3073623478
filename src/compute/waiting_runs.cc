#include "compute/waiting_runs.h"

#include <algorithm>

namespace slipway::compute {

namespace {

std::pair<int64_t, int64_t> place_in_line(const WaitingRun& run) {
  return {run.since.micros, run.seq};
}

// In steps of the job's priority; all runs of one queue are of the same cluster, whose own priority changes
// nothing between them.
int64_t height(const WaitingRun& run, const Moment& moment) {
  const int64_t steps =
      moment.ageing > Duration::zero() ? (moment.now.micros - run.since.micros) / moment.ageing.count() : 0;
  return std::min<int64_t>(static_cast<int>(run.priority) + std::max<int64_t>(steps, 0),
                           static_cast<int>(JobPriority::kHigh));
}

}  // namespace

bool WaitingRuns::goes_before(const WaitingRun& a, const WaitingRun& b, const Moment& moment) {
  const int64_t of_a = height(a, moment);
  const int64_t of_b = height(b, moment);
  return of_a != of_b ? of_a > of_b : place_in_line(a) < place_in_line(b);
}

bool WaitingRuns::add(WaitingRun run) {
  if (!places_.emplace(run.seq, std::pair(run.priority, run.since)).second) return false;
  Line& line = line_of(run.priority);
  line.insert(std::ranges::lower_bound(line, place_in_line(run), {}, place_in_line), std::move(run));
  return true;
}

bool WaitingRuns::remove(int64_t seq) {
  const WaitingRun* const run = find(seq);
  if (run == nullptr) return false;
  Line& line = line_of(run->priority);
  line.erase(std::ranges::lower_bound(line, place_in_line(*run), {}, place_in_line));
  places_.erase(seq);
  return true;
}

const WaitingRun* WaitingRuns::find(int64_t seq) const {
  const auto found = places_.find(seq);
  if (found == places_.end()) return nullptr;
  const auto& [priority, since] = found->second;
  const Line& line = lines_[static_cast<size_t>(priority)];
  return &*std::ranges::lower_bound(line, std::pair(since.micros, seq), {}, place_in_line);
}

std::optional<size_t> WaitingRuns::position(int64_t seq, const Moment& moment) const {
  const WaitingRun* const run = find(seq);
  if (run == nullptr) return std::nullopt;
  size_t before = 0;
  for (const Line& line : lines_) {
    const auto end = std::ranges::partition_point(
        line, [&](const WaitingRun& other) { return goes_before(other, *run, moment); });
    before += static_cast<size_t>(end - line.begin());
  }
  return before;
}

const WaitingRun* WaitingRuns::Cursor::next() {
  const WaitingRun* first = nullptr;
  size_t from = 0;
  for (size_t i = 0; i < at_.size(); ++i) {
    const Line& line = queue_.lines_[i];
    if (at_[i] == line.size()) continue;
    const WaitingRun& candidate = line[at_[i]];
    if (first != nullptr && !goes_before(candidate, *first, moment_)) continue;
    first = &candidate;
    from = i;
  }
  if (first != nullptr) ++at_[from];
  return first;
}

}  // namespace slipway::compute
