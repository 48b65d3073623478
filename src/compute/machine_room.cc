#include "compute/machine_room.h"

namespace slipway::compute {

MachineRoom::MachineRoom(const MachineUse& use, Priority cluster)
    : left_(use.machine), others_(cluster == Priority::kDedicated ? use.low : use.dedicated) {
  left_ -= use.dedicated;
  left_ -= use.low;
}

bool MachineRoom::take(const Amount& amount, bool risen) {
  const auto fits = [this](auto asked, auto left, auto of_others) {
    return of_others == 0 || asked == 0 || (!closed_ && asked <= left);
  };
  if (!risen && (!fits(amount.milli_cpus, left_.milli_cpus, others_.milli_cpus) ||
                 !fits(amount.memory_bytes, left_.memory_bytes, others_.memory_bytes) ||
                 !fits(amount.gpus, left_.gpus, others_.gpus)))
    return false;
  left_ -= amount;
  return true;
}

}  // namespace slipway::compute
