#include "node/supervisor_rank.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/utf8.h"

namespace slipway::node {
namespace {

constexpr size_t kPipeSize = JournalFeed::kMaxChunk;
constexpr size_t kTail = 4096;
constexpr size_t kQuotedBytes = 600;
constexpr int kQuotedLines = 3;

// One line without control characters, cut from the front.
std::string clean_line(std::string_view line) {
  std::string text =
      to_valid_utf8(line.size() > kQuotedBytes ? line.substr(line.size() - kQuotedBytes) : line);
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return text;
}

}  // namespace

Result<UniqueFd> make_fifo(const std::string& path) {
  ::unlink(path.c_str());
  if (::mkfifo(path.c_str(), 0600) != 0) return fail(errno_error(errno, fmt::format("make {}", path)));
  // Also for writing: it has a writer before the first rank comes and after the last has gone.
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return fail(errno_error(errno, fmt::format("open {}", path)));
  return fd;
}

Rank::Rank(int number, std::string name, std::string log, bool quoted, JournalFeed& feed)
    : number_(number),
      name_(name.empty() ? fmt::format("rank {}", number) : std::move(name)),
      log_(std::move(log)),
      quoted_(quoted),
      feed_(&feed) {}

Rank::Rank(const launch::ProcessSpec& spec, StartedProcess process, bool quoted, JournalFeed& feed)
    : Rank(spec.rank, spec.name, spec.log, quoted, feed) {
  pid_ = process.pid;
  pipes_[0] = {.fd = std::move(process.out), .channel = journal::Channel::kStdout};
  pipes_[1] = {.fd = std::move(process.err), .channel = journal::Channel::kStderr};
}

Result<Rank> Rank::open_pipes(const launch::RankPipe& spec, JournalFeed& feed) {
  Rank rank(spec.rank, "", spec.log, true, feed);
  SLIPWAY_ASSIGN(UniqueFd out, make_fifo(spec.path + ".out"));
  SLIPWAY_ASSIGN(UniqueFd err, make_fifo(spec.path + ".err"));
  rank.pipes_[0] = {.fd = std::move(out), .channel = journal::Channel::kStdout};
  rank.pipes_[1] = {.fd = std::move(err), .channel = journal::Channel::kStderr};
  return rank;
}

bool Rank::read(size_t channel) {
  Pipe& pipe = pipes_[channel];
  if (!pipe.fd) return false;
  if (!pipe.buffer) pipe.buffer = std::make_unique_for_overwrite<char[]>(pipe.size);
  const ssize_t count = ::read(pipe.fd.get(), pipe.buffer.get(), pipe.size);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    pipe.fd.reset();
    return false;
  }
  const std::string_view bytes(pipe.buffer.get(), static_cast<size_t>(count));
  feed_->log(log_, pipe.channel, bytes);
  if (quoted_) {
    tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
    if (tail_.size() > 2 * kTail) tail_.erase(0, tail_.size() - kTail);
  }
  // A job that writes much gets a large pipe and a large buffer; most write little and need neither.
  if (pipe.size < kPipeSize && bytes.size() >= pipe.size / 2) {
    feed_->flush();
    pipe.size = kPipeSize;
    pipe.buffer.reset();
    ::fcntl(pipe.fd.get(), F_SETPIPE_SZ, static_cast<int>(kPipeSize));
  }
  return true;
}

void Rank::ended(int wait_status, Timestamp now) {
  wait_status_ = wait_status;
  failed_ = !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0;
  ended_at_ = now;
}

void Rank::could_not_start(const Error& error, Timestamp now) {
  ExitStatus status;
  status.code = error.code == ErrorCode::kNotFound ? 127 : 126;  // as shells have it
  status.reason = error.next.empty() ? error.message : fmt::format("{}; {}", error.message, error.next);
  not_started_ = std::move(status);
  failed_ = true;
  ended_at_ = now;
}

void Rank::describe(ExitStatus& status) const {
  status.ended = ended_at_.value_or(status.ended);
  if (not_started_) {
    status.code = not_started_->code;
    status.reason = not_started_->reason;
  } else if (WIFSIGNALED(wait_status_)) {
    status.signal = WTERMSIG(wait_status_);
    status.code = 128 + status.signal;
    status.reason = fmt::format("killed by signal {} ({})", status.signal, ::strsignal(status.signal));
  } else {
    status.code = WEXITSTATUS(wait_status_);
    if (status.code != 0) status.reason = fmt::format("exited with code {}", status.code);
  }
}

std::string Rank::last_words() const {
  std::string words;
  std::string_view rest = tail_;
  for (int lines = 0; lines < kQuotedLines && !rest.empty();) {
    while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
    const size_t start = rest.rfind('\n');
    const std::string line = clean_line(start == std::string_view::npos ? rest : rest.substr(start + 1));
    rest = start == std::string_view::npos ? std::string_view() : rest.substr(0, start);
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    if (words.size() + line.size() > kQuotedBytes) break;
    words = words.empty() ? line : fmt::format("{} | {}", line, words);
    ++lines;
  }
  return words.empty() ? "" : fmt::format("; it printed last: {}", words);
}

}  // namespace slipway::node
