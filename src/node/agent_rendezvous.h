// The nodes of a run with several processes meet before any of them starts one: each says where it is reached
// and which ports it holds, and learns the same of the others.
//
// A held port is a socket that is bound and does not listen, with SO_REUSEADDR. The system gives such a port
// to nobody who asks for any, and a process that binds it by number with SO_REUSEADDR, as servers do, gets
// it: nothing has to be let go before, and so nobody can come in between.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launch/network.h"
#include "node/agent_link.h"
#include "node/agent_preparation.h"
#include "node/agent_signals.h"
#include "protocol/node.h"

namespace slipway::node {

struct Gathered {
  std::vector<NodeOffer> offers;  // of all nodes, by rank; empty for a run of one process
  std::vector<UniqueFd> ports;    // this node's, to be kept for as long as the attempt lives
  launch::NetworkPlace network;
};

// Waits for the others; the server decides for how long. Ends early, with any error, when the attempt is
// interrupted or canceled. kConflict: a port that was promised before this agent was restarted is taken.
Result<Gathered> meet_other_nodes(ServerLink& server, const AttemptOrder& order, AttemptSignals& signals,
                                  PreparationLog& log);

// A held port; 0: any.
struct HeldPort {
  UniqueFd socket;
  int number = 0;
};
Result<HeldPort> hold_port(int number);

// The interface with that IP address and its subnet; empty: none has it.
launch::NetworkPlace network_place_of(const std::string& address);

}  // namespace slipway::node
