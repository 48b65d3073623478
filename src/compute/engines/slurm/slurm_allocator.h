// Allocations as jobs of Slurm: each is submitted once, followed by its comment, and ended when it is not
// wanted any more. One thread a cluster does all that waits for Slurm; only `goes_on` asks on its caller's.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/secret.h"
#include "compute/allocator.h"
#include "compute/engines/slurm/gateway.h"
#include "compute/engines/slurm/reconcile.h"

namespace slipway::compute {

struct SlurmOptions {
  // The cluster's JWT, opened; empty when it has none.
  std::function<Result<Secret>(const ClusterKey&)> open_token;
  // Tokens for the request's nodes, by rank; those made before for the same nodes are dead.
  std::function<Result<std::vector<Secret>>(const ClusterKey&, const AllocationRequest&)> make_node_tokens;
  std::string server_url;      // for clusters that name no other
  std::string ca_certificate;  // PEM of the server, where it has one of its own
};

class SlurmAllocator final : public Allocator {
 public:
  SlurmAllocator(const ClusterSpec& spec, SlurmOptions options, AllocationSink sink);
  // Leaves the jobs as they are. No event is told any more once it returns.
  ~SlurmAllocator() override;

  void request(const AllocationRequest& request) override;
  void take_up(const AllocationRequest& request, const std::string& job, bool up) override;
  void nodes_are_up(const AllocationKey& key) override;
  void release(const AllocationKey& key, Duration grace) override;
  std::optional<AllocationView> find(const AllocationKey& key) const override;
  bool goes_on(const AllocationKey& key) override;
  void cluster_changed(const ClusterSpec& spec) override;
  AllocatorStatus status() const override;
  void end_waiting(Duration within) override;

 private:
  void loop();
  bool wait_for_work();
  Monotonic next_work() const;
  Track new_track(const AllocationRequest& request);
  void open_gateway();
  std::unique_ptr<SlurmGateway> make_gateway() const;

  void drop_unsubmitted();
  void submit_all();
  bool submit(const AllocationRequest& request, const ClusterSpec& spec);
  Result<SlurmJobOrder> prepare_order(const AllocationRequest& request, const ClusterSpec& spec);
  Result<std::string> program_for(const ClusterSpec& spec);
  void took(const AllocationKey& key, int64_t job);
  void refused(const AllocationKey& key, const Error& error);
  void cancel_due();
  void look_at_jobs();
  void carry_out(const AllocationKey& key, const std::vector<Finding>& findings,
                 std::vector<AllocationEvent>& events, std::vector<int64_t>& cancel);
  void look_at_cluster();
  void note_problem(const Error& error);
  void note_answer();
  void tell(const std::vector<AllocationEvent>& events) const;

  const ClusterName name_;
  const SlurmOptions options_;
  const AllocationSink sink_;
  std::unique_ptr<SlurmGateway> gateway_;  // of the thread
  std::string program_;                    // of the thread: where nodes find it, once it is there

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  ClusterSpec spec_;
  bool stopping_ = false;
  bool settings_changed_ = true;
  std::map<AllocationKey, Track> tracks_;
  int64_t next_order_ = 0;
  AllocatorStatus status_;
  int failures_ = 0;  // in a row
  Monotonic not_before_{};
  Monotonic next_look_{};
  Monotonic next_status_{};

  std::mutex asking_;  // guards the gateway of those who ask
  std::unique_ptr<SlurmGateway> asked_;

  std::thread thread_;
};

}  // namespace slipway::compute
