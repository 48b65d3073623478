// The half of the allocator that submits jobs.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/digest.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "compute/engines/local/agent_process.h"
#include "compute/engines/slurm/slurm_allocator.h"

namespace slipway::compute {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

namespace {

Result<Digest> digest_of(const fs::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(errno_error(errno, fmt::format("open {}", path.string())));
  Hasher hasher;
  std::vector<char> buffer(1 << 20);
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0) return fail(errno_error(errno, fmt::format("read {}", path.string())));
    if (count == 0) return hasher.finish();
    hasher.update({buffer.data(), static_cast<size_t>(count)});
  }
}

}  // namespace

// In the order they were asked for: Slurm's own queue begins there.
void SlurmAllocator::submit_all() {
  while (true) {
    AllocationRequest request;
    ClusterSpec spec;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ || settings_changed_ || steady_clock::now() < not_before_) return;
      const Track* next = nullptr;
      for (const auto& [key, track] : tracks_)
        if (track.phase == TrackPhase::kToSubmit && (next == nullptr || track.order < next->order))
          next = &track;
      if (next == nullptr) return;
      request = next->request;
      spec = spec_;
    }
    if (!submit(request, spec)) return;
  }
}

// It is not wanted any more, and was never submitted.
void SlurmAllocator::drop_unsubmitted() {
  std::vector<AllocationEvent> events;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(tracks_, [&](const auto& entry) {
      const bool drop = entry.second.phase == TrackPhase::kToSubmit && entry.second.cancel_at;
      if (drop)
        events.push_back({.kind = AllocationEventKind::kGone, .key = entry.first, .job = "", .reason = ""});
      return drop;
    });
  }
  if (!events.empty()) changed_.notify_all();
  tell(events);
}

// False: Slurm is in trouble, and the rest is not tried now.
bool SlurmAllocator::submit(const AllocationRequest& request, const ClusterSpec& spec) {
  auto order = prepare_order(request, spec);
  if (!order) {
    note_problem(order.error());
    return false;
  }
  const auto job = gateway_->submit(*order);
  if (job) {
    note_answer();
    took(request.key, *job);
    return true;
  }
  const Error& error = job.error();
  if (error.code == ErrorCode::kInvalidArgument) {
    refused(request.key, error);
    return true;
  }
  const bool surely_not = error.code == ErrorCode::kUnreachable || error.code == ErrorCode::kPermissionDenied;
  if (!surely_not) {
    const std::lock_guard lock(mutex_);
    if (const auto found = tracks_.find(request.key); found != tracks_.end())
      found->second.phase = TrackPhase::kUnsure;
    next_look_ = {};
  }
  note_problem(error);
  return false;
}

Result<SlurmJobOrder> SlurmAllocator::prepare_order(const AllocationRequest& request,
                                                    const ClusterSpec& spec) {
  SLIPWAY_ASSIGN(const std::string program, program_for(spec));
  SLIPWAY_ASSIGN(const std::vector<Secret> tokens, options_.make_node_tokens(spec.key(), request));
  SlurmJobOrder order = job_order(request, spec);
  add_agent(order,
            {.program = program,
             .server_url = spec.slurm.server_url.empty() ? options_.server_url : spec.slurm.server_url,
             .scratch = spec.slurm.scratch,
             .shared = spec.slurm.shared,
             .ca_certificate = options_.ca_certificate},
            request.id, tokens);
  return order;
}

// Nodes start the very program that this server is: from the shared folder where there is one, under a name
// of its content, so that an upgrade of the server takes nothing away from jobs that wait.
Result<std::string> SlurmAllocator::program_for(const ClusterSpec& spec) {
  if (!program_.empty()) return program_;
  const fs::path own = own_program();
  if (spec.slurm.shared.empty()) {
    std::error_code failed;
    program_ = own == "/proc/self/exe" ? fs::read_symlink(own, failed).string() : own.string();
    return program_;
  }
  SLIPWAY_ASSIGN(const Digest digest, digest_of("/proc/self/exe"));
  const fs::path folder = fs::path(spec.slurm.shared) / "programs";
  const fs::path there = folder / fmt::format("slipway-{}", digest.hex().substr(0, 16));
  std::error_code failed;
  if (!fs::exists(there, failed)) {
    SLIPWAY_TRY(make_folders(folder));
    const fs::path aside = fs::path(there).concat(fmt::format(".{}", ::getpid()));
    fs::copy_file("/proc/self/exe", aside, fs::copy_options::overwrite_existing, failed);
    if (!failed) fs::permissions(aside, fs::perms(0755), failed);
    if (!failed) fs::rename(aside, there, failed);
    if (failed)
      return fail(ErrorCode::kUnavailable,
                  fmt::format("the program cannot be put into {}: {}", folder.string(), failed.message()),
                  "the server's user must be able to write the shared folder");
  }
  program_ = there.string();
  return program_;
}

void SlurmAllocator::took(const AllocationKey& key, int64_t job) {
  log_info("slurm.submitted", {{"run", key.run}, {"attempt", key.attempt}, {"job", job}});
  {
    const std::lock_guard lock(mutex_);
    const auto found = tracks_.find(key);
    if (found == tracks_.end()) return;
    found->second.phase = TrackPhase::kAccepted;
    found->second.job = job;
    found->second.canceled = false;
  }
  tell({{.kind = AllocationEventKind::kAccepted, .key = key, .job = std::to_string(job), .reason = ""}});
}

void SlurmAllocator::refused(const AllocationKey& key, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    tracks_.erase(key);
  }
  changed_.notify_all();
  tell({{.kind = AllocationEventKind::kRefused, .key = key, .job = "", .reason = error.message},
        {.kind = AllocationEventKind::kGone, .key = key, .job = "", .reason = error.message}});
}

}  // namespace slipway::compute
