// The one machine that local clusters share, and who may use how much of it.
//
// Dedicated clusters share it among themselves as they will, and so do those of low priority while they are
// alone. Between the two there is one rule: of each kind of resource that runs of dedicated clusters use,
// runs of low rank use at most what those leave. It is kept when runs are placed; a run of a dedicated
// cluster that it stands in the way of makes others leave (preemption.h). Runs of low clusters that have
// waited their way up count as dedicated, and are not held to it.
#pragma once

#include "compute/cluster.h"
#include "compute/shares.h"

namespace slipway::compute {

struct MachineUse {
  Amount machine;
  Amount dedicated;  // of runs that stand at kLowestDedicatedRank or higher
  Amount low;        // of the others
};

// What is left for the waiting runs of one cluster.
class MachineRoom {
 public:
  MachineRoom(const MachineUse& use, Priority cluster);

  // Sets aside what a run takes of the machine; false: there is not enough. `risen`: it need not ask.
  bool take(const Amount& amount, bool risen);
  // What is left is kept for one that it was not enough for.
  void close() { closed_ = true; }

 private:
  Amount left_;
  Amount
      others_;  // of the runs that the rule holds them apart from: of what those use nothing, all may be had
  bool closed_ = false;
};

}  // namespace slipway::compute
