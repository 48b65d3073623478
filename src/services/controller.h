// Keeps every service as it should be: starts, switches, replaces and ends replicas, scales them with the
// load, and tells the front door who answers.
//
// Invariants
//   1. What a service is, and what is to be done about it, is in the store: a controller that is started anew
//      goes on where the last one was. In memory are only the pauses between tries and the average of the
//      load.
//   2. A replica is in the store before its run is submitted, and its run can be found by the replica's
//   number.
//   3. The front door knows a replica only after the store says that it is ready, and no longer before the
//      store says that it is draining.
// One thread of its own (the loop); the other members may be called from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/notifier.h"
#include "compute/node_registry.h"
#include "data/credentials.h"
#include "metrics/metric_store.h"
#include "runs/log_store.h"
#include "runs/submission.h"
#include "services/autoscale.h"
#include "services/front_door.h"
#include "services/replica_run.h"
#include "store/database.h"

namespace slipway::services {

std::string service_topic(int64_t service);

// Ports of services, on the server that listens.
struct Doors {
  std::function<Result<uint16_t>(const std::string& service, uint16_t port)> open;
  std::function<void(const std::string& service)> close;
};

class Controller {
 public:
  struct Parts {
    store::Database& database;
    runs::Orchestrator& orchestrator;
    runs::Submissions& submissions;
    const compute::NodeRegistry& nodes;
    runs::LogStore& logs;
    metrics::MetricStore& metrics;
    FrontDoor& door;
    Notifier& notifier;
    const Clock& clock;
    const data::Seal& seal;
  };
  // All parts outlive it.
  explicit Controller(Parts parts) : parts_(parts) {}
  ~Controller() { stop(); }

  // Publishes the replicas that answered when the last server ended. To be called before requests come.
  Status load();
  void start(Doors doors);
  void stop();
  // After `stop`, when the server ends by order: the runs of all replicas are about to be canceled, which is
  // no failure of theirs.
  Status let_all_go();
  // Before a workspace is deleted: removes what is kept of its deleted services. kConflict, naming it, while
  // there is a service, or a replica that has not ended.
  Status clear(const WorkspaceName& workspace);
  // Something about the service has changed.
  void wake(int64_t service);

 private:
  // What is remembered of a service between two looks at it.
  struct Tended {
    std::map<int, Pace> paces;
    std::map<int64_t, Monotonic> draining_since;
    std::map<int64_t, Notifier::Subscription> watched;  // by replica
    Autoscaler autoscaler;
    std::optional<Monotonic> look_again;
    std::string published;  // sealed keys and places, to notice a change
    bool door_open = false;
    bool door_problem_told = false;
  };

  void loop();
  void tend_all(const std::set<int64_t>& dirty, bool everything);
  Status tend(int64_t seq, Tended& tended);
  Result<Facts> gather(store::Reader& reader, int64_t seq, const Tended& tended) const;
  Status store_changes(store::Writer& writer, Facts& facts, const Changes& changes) const;
  Status submit_missing(const Facts& facts);
  Status end_run(const Facts& facts, const Replica& replica);
  Status publish(const Facts& facts, Tended& tended);
  void watch(const Facts& facts, Tended& tended);
  Status scale(Facts& facts, Tended& tended);
  Status open_door(Service& service, Tended& tended);
  Status tidy();
  Status forget(const Service& service, const Replica& replica);

  Parts parts_;
  Doors doors_;
  std::map<int64_t, Tended> tended_;  // the loop's alone
  Monotonic tidied_{};

  std::mutex mutex_;  // guards the three below
  std::condition_variable changed_;
  std::set<int64_t> dirty_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace slipway::services
