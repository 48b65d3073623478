// slurmrestd, version v0.0.38 of its API.
#include <fmt/format.h>
#include <string.h>

#include <algorithm>

#include "compute/engines/slurm/array_scanner.h"
#include "compute/engines/slurm/gateway.h"
#include "compute/engines/slurm/node_summary.h"
#include "http/client.h"

namespace slipway::compute {
namespace {

constexpr std::string_view kBase = "/slurm/v0.0.38";
constexpr std::chrono::milliseconds kConnectTime{3000};
constexpr std::chrono::milliseconds kAnswerTime{20000};

// Of slurm_errno.h.
constexpr int64_t kInvalidJobId = 2017;
constexpr int64_t kAlreadyDone = 2021;
constexpr int64_t kNodeConfigNotAvailable = 2014;
bool is_refusal(int64_t code) {  // by the controller, which has looked at the job
  return code >= 2000 && code < 3000;
}

struct SlurmError {
  int64_t code = 0;
  std::string text;
};

// The first of an answer's errors; nullopt: there is none.
std::optional<SlurmError> error_in(const json::object& answer) {
  const json::value* errors = answer.if_contains("errors");
  if (errors == nullptr || !errors->is_array() || errors->get_array().empty()) return std::nullopt;
  SlurmError found;
  for (const json::value& item : errors->get_array()) {
    if (!item.is_object()) continue;
    std::string description;
    JsonFields fields(item.get_object(), "an error of Slurm");
    fields.optional("error_number", found.code);
    fields.optional("error_code", found.code);
    fields.optional("error", found.text);
    fields.optional("description", description);
    if (found.text.empty() || found.text == "Unspecified error") found.text = std::move(description);
    if (is_refusal(found.code)) break;
  }
  return found;
}

Error bad_answer(std::string_view what) {
  return {.code = ErrorCode::kUnavailable,
          .message = fmt::format("slurmrestd answered what {} cannot be read from", what),
          .next = "slipway needs slurmrestd with -s openapi/v0.0.38 (Slurm 21.08 to 23.02)",
          .detail = ""};
}

SlurmJob read_job(const json::object& object) {
  SlurmJob job;
  JsonFields fields(object, "a job of Slurm");
  fields.optional("job_id", job.id);
  fields.optional("job_state", job.state);
  fields.optional("state_reason", job.reason);
  fields.optional("state_description", job.description);
  fields.optional("comment", job.comment);
  fields.optional("nodes", job.nodes);
  fields.optional("exit_code", job.exit_status);
  fields.optional("preempt_time", job.preempt_time);
  fields.optional("restart_cnt", job.restarts);
  return job;
}

json::object job_body(const SlurmJobOrder& order) {
  json::object variables = slipway::to_json(order.variables);
  for (const auto& [name, value] : order.secrets) variables[name] = value.reveal();
  json::object job{{"name", order.name},
                   {"comment", order.comment},
                   {"environment", std::move(variables)},
                   {"current_working_directory", "/"},
                   {"standard_input", "/dev/null"},
                   {"standard_output", "/dev/null"},
                   {"standard_error", "/dev/null"},
                   {"nodes", order.nodes},
                   {"tasks", order.nodes},
                   {"tasks_per_node", 1},
                   {"no_requeue", true}};
  if (!order.partition.empty()) job["partition"] = order.partition;
  if (!order.account.empty()) job["account"] = order.account;
  if (order.cpus > 0) job["cpus_per_task"] = order.cpus;
  if (order.memory_mb > 0) job["memory_per_node"] = order.memory_mb;
  if (order.gpus > 0) job["gres"] = fmt::format("gpu:{}", order.gpus);
  if (order.minutes > 0) job["time_limit"] = order.minutes;
  if (order.exclusive) job["exclusive"] = "exclusive";
  return {{"script", order.script}, {"job", std::move(job)}};
}

class RestGateway final : public SlurmGateway {
 public:
  RestGateway(const std::string& endpoint, const std::string& user, Secret token)
      : endpoint_(endpoint),
        user_(user),
        token_(std::move(token)),
        client_({.url = endpoint, .connect_time = kConnectTime, .answer_time = kAnswerTime}) {}

  Result<std::string> version() override {
    SLIPWAY_ASSIGN(const json::object answer, ask(http::Method::kGet, "/ping"));
    if (const auto error = error_in(answer)) return fail(controller_error(*error));
    const json::value document(answer);
    boost::system::error_code none;
    const json::value* release = document.find_pointer("/meta/Slurm/release", none);
    if (release == nullptr || !release->is_string()) return fail(bad_answer("its version"));
    return std::string(release->get_string());
  }

  Result<EngineNodes> nodes(const std::string& partition) override {
    NodeSummary summary(partition);
    SLIPWAY_TRY(scan("/nodes", "nodes", [&](std::string_view text) {
      if (const auto node = parse_json_object(text, "a node of Slurm")) summary.add(*node);
    }));
    return summary.result();
  }

  Result<int64_t> submit(const SlurmJobOrder& order) override {
    SLIPWAY_ASSIGN(const json::object answer,
                   ask(http::Method::kPost, "/job/submit", json::serialize(job_body(order))));
    int64_t id = 0;
    JsonFields fields(answer, "the answer of slurmrestd");
    fields.optional("job_id", id);
    // With a number it was taken, whatever else is remarked about it.
    if (id > 0) return id;
    const auto error = error_in(answer);
    if (!error) return fail(bad_answer("the number of a job"));
    if (!is_refusal(error->code)) return fail(controller_error(*error));
    return fail(
        error->code == kNodeConfigNotAvailable ? ErrorCode::kInvalidArgument : ErrorCode::kPermissionDenied,
        fmt::format("Slurm refuses the job: {}", error->text),
        "sinfo shows what the partition has; slipway compute update changes partition and account");
  }

  Status cancel(int64_t job) override {
    SLIPWAY_ASSIGN(const json::object answer, ask(http::Method::kDelete, fmt::format("/job/{}", job)));
    const auto error = error_in(answer);
    if (!error || error->code == kInvalidJobId || error->code == kAlreadyDone) return {};
    return fail(controller_error(*error));
  }

  Result<std::vector<SlurmJob>> jobs() override {
    std::vector<SlurmJob> found;
    SLIPWAY_TRY(scan("/jobs", "jobs", [&](std::string_view text) {
      // Most are not ours, and are not worth parsing.
      if (::memmem(text.data(), text.size(), kCommentStart.data(), kCommentStart.size()) == nullptr) return;
      if (const auto job = parse_json_object(text, "a job of Slurm")) found.push_back(read_job(*job));
    }));
    return found;
  }

  Result<std::optional<SlurmJob>> job(int64_t job) override {
    SLIPWAY_ASSIGN(const json::object answer, ask(http::Method::kGet, fmt::format("/job/{}", job)));
    if (const auto error = error_in(answer)) {
      if (error->code == kInvalidJobId) return std::nullopt;
      return fail(controller_error(*error));
    }
    const json::value* jobs = answer.if_contains("jobs");
    if (jobs == nullptr || !jobs->is_array()) return fail(bad_answer("a job"));
    for (const json::value& item : jobs->get_array())
      if (item.is_object()) return read_job(item.get_object());
    return std::nullopt;
  }

 private:
  http::Call call(http::Method method, std::string_view path, std::string body = {}) const {
    http::Call made{.method = method, .target = fmt::format("{}{}", kBase, path), .body = std::move(body)};
    if (!token_.empty()) {
      made.headers["X-SLURM-USER-NAME"] = user_;
      made.headers["X-SLURM-USER-TOKEN"] = token_.reveal();
    }
    return made;
  }

  // Its errors are in the answer, with the status 500.
  Result<json::object> ask(http::Method method, std::string_view path, std::string body = {}) {
    auto response = client_.send(call(method, path, std::move(body)));
    if (!response) return fail(told(std::move(response).error()));
    SLIPWAY_TRY(check_status(response->status));
    auto answer = parse_json_object(response->body, "the answer of slurmrestd");
    if (!answer) return fail(bad_answer("anything"));
    return answer;
  }

  Status scan(std::string_view path, std::string_view field,
              const std::function<void(std::string_view)>& on_element) {
    ArrayScanner scanner(field, on_element);
    http::Call made = call(http::Method::kGet, path);
    made.sink = [&](std::string_view bytes) { return scanner.feed(bytes); };
    auto response = client_.send(std::move(made));
    if (!response) return fail(told(std::move(response).error()));
    SLIPWAY_TRY(check_status(response->status));
    const auto rest =
        parse_json_object(response->status < 300 ? scanner.rest() : response->body, "the answer");
    if (!rest) return fail(bad_answer("a list"));
    if (const auto error = error_in(*rest)) return fail(controller_error(*error));
    if (response->status >= 300 || !scanner.complete()) return fail(bad_answer("a list"));
    return {};
  }

  Status check_status(int status) const {
    if (status == 401 || status == 403)
      return fail(ErrorCode::kPermissionDenied, fmt::format("slurmrestd at {} refuses the token", endpoint_),
                  "renew it: scontrol token > jwt; slipway compute update NAME --token-file jwt");
    if (status == 404)
      return fail(ErrorCode::kUnsupported, fmt::format("slurmrestd at {} does not speak v0.0.38", endpoint_),
                  "start it with -s openapi/v0.0.38, or attach the cluster without --endpoint to use sbatch");
    return {};
  }

  Error told(Error error) const {
    error.message = fmt::format("slurmrestd does not answer: {}", error.message);
    error.next = fmt::format("is slurmrestd running, and may this user reach {}?", endpoint_);
    return error;
  }

  static Error controller_error(const SlurmError& error) {
    return {.code = ErrorCode::kUnavailable,
            .message = fmt::format("Slurm's controller does not answer slurmrestd: {}", error.text),
            .next = "is slurmctld running, and is the token of slurmrestd good?",
            .detail = fmt::format("error {}", error.code)};
  }

  const std::string endpoint_;
  const std::string user_;
  const Secret token_;
  http::Client client_;
};

}  // namespace

std::unique_ptr<SlurmGateway> make_rest_gateway(const std::string& endpoint, const std::string& user,
                                                Secret token) {
  return std::make_unique<RestGateway>(endpoint, user, std::move(token));
}

}  // namespace slipway::compute
