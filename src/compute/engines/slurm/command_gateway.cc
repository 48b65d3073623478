// Slurm's own programs, where slurmrestd is missing. Started from argument arrays; the tokens of a job's
// agents go by the environment, so that they are not seen on a command line.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "base/file.h"
#include "base/subprocess.h"
#include "compute/engines/slurm/gateway.h"
#include "compute/engines/slurm/node_summary.h"

namespace slipway::compute {
namespace {

constexpr Duration kPatience = std::chrono::seconds(30);
// Between the fields of a line: nothing in them can be one.
constexpr char kBetween = '\x1f';

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

int64_t number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string fields_format(std::initializer_list<std::string_view> fields) {
  return fmt::format("{}", fmt::join(fields, std::string(1, kBetween)));
}

std::vector<std::string> sbatch_arguments(const SlurmJobOrder& order) {
  std::vector<std::string> arguments{"--parsable",
                                     "--job-name=" + order.name,
                                     "--comment=" + order.comment,
                                     "--chdir=/",
                                     "--input=/dev/null",
                                     "--output=/dev/null",
                                     "--error=/dev/null",
                                     fmt::format("--nodes={}", order.nodes),
                                     fmt::format("--ntasks={}", order.nodes),
                                     "--ntasks-per-node=1",
                                     "--no-requeue",
                                     "--export=ALL"};
  if (!order.partition.empty()) arguments.push_back("--partition=" + order.partition);
  if (!order.account.empty()) arguments.push_back("--account=" + order.account);
  if (order.cpus > 0) arguments.push_back(fmt::format("--cpus-per-task={}", order.cpus));
  if (order.memory_mb > 0) arguments.push_back(fmt::format("--mem={}M", order.memory_mb));
  if (order.gpus > 0) arguments.push_back(fmt::format("--gres=gpu:{}", order.gpus));
  if (order.minutes > 0) arguments.push_back(fmt::format("--time={}", order.minutes));
  if (order.exclusive) arguments.push_back("--exclusive");
  // It puts its own first line before it.
  arguments.push_back("--wrap=" + order.script.substr(order.script.find('\n') + 1));
  return arguments;
}

class CommandGateway final : public SlurmGateway {
 public:
  Result<std::string> version() override {
    SLIPWAY_ASSIGN(const std::string answer, call("scontrol", {"ping"}));
    if (!answer.contains("UP"))
      return fail(ErrorCode::kUnavailable, "Slurm's controller does not answer", "is slurmctld running?");
    SLIPWAY_ASSIGN(const std::string about, call("sbatch", {"--version"}));
    const std::string_view first = split(about, '\n').front();  // "slurm-wlm 22.05.8"
    return std::string(first.substr(first.rfind(' ') + 1));
  }

  Result<EngineNodes> nodes(const std::string& partition) override {
    std::vector<std::string> arguments{"--noheader", "--Node",
                                       "--format=" + fields_format({"%N", "%T", "%c", "%m", "%G"})};
    if (!partition.empty()) arguments.push_back("--partition=" + partition);
    SLIPWAY_ASSIGN(const std::string answer, call("sinfo", arguments));
    NodeSummary summary(partition);
    std::string_view before;  // a node is listed once for each partition it is in
    for (const std::string_view line : split(answer, '\n')) {
      const auto fields = split(line, kBetween);
      if (fields.size() != 5 || fields[0] == before) continue;
      before = fields[0];
      summary.add(fields[1], static_cast<double>(number(fields[2])), static_cast<uint64_t>(number(fields[3])),
                  gpus_in(fields[4]));
    }
    return summary.result();
  }

  Result<int64_t> submit(const SlurmJobOrder& order) override {
    std::map<std::string, std::string> variables = order.variables;
    for (const auto& [name, value] : order.secrets) variables[name] = value.reveal();
    SLIPWAY_ASSIGN(const ProgramEnd end, run("sbatch", sbatch_arguments(order), variables));
    const int64_t id = number(end.output);
    if (end.good() && id > 0) return id;
    if (end.last_lines.contains("Requested node configuration is not available"))
      return fail(ErrorCode::kInvalidArgument, fmt::format("Slurm refuses the job: {}", end.last_lines),
                  "sinfo shows what the partition has");
    // What it says before it has sent anything, or what the controller has said.
    if (end.last_lines.contains("Batch job submission failed") &&
        !end.last_lines.contains("Unable to contact") && !end.last_lines.contains("timed out") &&
        !end.last_lines.contains("Zero Bytes"))
      return fail(ErrorCode::kPermissionDenied, fmt::format("Slurm refuses the job: {}", end.last_lines),
                  "slipway compute update changes partition and account");
    return fail(failed("sbatch", end));
  }

  Status cancel(int64_t job) override {
    SLIPWAY_ASSIGN(const ProgramEnd end, run("scancel", {fmt::format("{}", job)}, {}));
    if (end.good() || end.last_lines.contains("Invalid job id")) return {};
    return fail(failed("scancel", end));
  }

  Result<std::vector<SlurmJob>> jobs() override { return list({"--me"}); }

  Result<std::optional<SlurmJob>> job(int64_t job) override {
    auto found = list({fmt::format("--jobs={}", job)});
    if (!found && found.error().message.contains("Invalid job id")) return std::nullopt;
    if (!found) return fail(std::move(found).error());
    for (SlurmJob& one : *found)
      if (one.id == job) return std::move(one);
    return std::nullopt;
  }

 private:
  Result<std::vector<SlurmJob>> list(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--noheader", "--states=all",
                                       "--format=" + fields_format({"%A", "%T", "%r", "%N", "%k"})});
    SLIPWAY_ASSIGN(const std::string answer, call("squeue", arguments));
    std::vector<SlurmJob> found;
    for (const std::string_view line : split(answer, '\n')) {
      const auto fields = split(line, kBetween);
      if (fields.size() != 5 || !fields[4].starts_with(kCommentStart)) continue;
      SlurmJob job;
      job.id = number(fields[0]);
      job.state = fields[1];
      job.reason = fields[2];
      job.nodes = fields[3];
      job.comment = fields[4];
      found.push_back(std::move(job));
    }
    return found;
  }

  static Error failed(std::string_view program, const ProgramEnd& end) {
    return {.code = ErrorCode::kUnavailable,
            .message = fmt::format("{} failed: {}", program,
                                   end.timed_out ? "no answer in time" : std::string_view(end.last_lines)),
            .next = "is slurmctld running, and does sinfo work for the user of this server?",
            .detail = ""};
  }

  Result<std::string> call(std::string_view program, const std::vector<std::string>& arguments) {
    SLIPWAY_ASSIGN(ProgramEnd end, run(program, arguments, {}));
    if (!end.good()) return fail(failed(program, end));
    return std::move(end.output);
  }

  Result<ProgramEnd> run(std::string_view program, const std::vector<std::string>& arguments,
                         const std::map<std::string, std::string>& variables) {
    const char* path = std::getenv("PATH");
    const auto found = find_on_path(program, path != nullptr ? path : "/usr/bin:/bin");
    if (found.empty())
      return fail(ErrorCode::kUnreachable, fmt::format("there is no program {} on this machine", program),
                  "apt install slurm-client, or attach the cluster with --endpoint");
    std::map<std::string, std::string> environment;
    for (const char* name : {"PATH", "HOME", "LANG", "USER", "SLURM_CONF", "SLURM_JWT"})
      if (const char* value = std::getenv(name)) environment[name] = value;
    for (const auto& [name, value] : variables) environment[name] = value;
    return run_program({.program = found,
                        .arguments = arguments,
                        .environment = environment,
                        .folder = "/",
                        .longest = kPatience,
                        .wanted = [] { return true; },
                        .on_line = [](std::string_view) {},
                        .keep_output = true});
  }
};

}  // namespace

std::unique_ptr<SlurmGateway> make_command_gateway() {
  return std::make_unique<CommandGateway>();
}

}  // namespace slipway::compute
