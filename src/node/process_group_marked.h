// Processes found by the mark in their environment.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

namespace slipway::node {

// Calls `found` for every process of this machine whose environment holds the mark, with a pidfd that is sure
// to mean the process that was looked at; this process itself is passed over.
void for_each_marked(std::string_view mark, const std::function<void(pid_t pid, int pidfd)>& found);

// Sends the signal to every such process; how many there were.
size_t signal_marked(std::string_view mark, int signal);

}  // namespace slipway::node
