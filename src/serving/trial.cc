#include "serving/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <future>

#include "base/fd.h"
#include "base/file.h"
#include "serving/protocols/routes.h"

namespace slipway::serving {
namespace {

// What is larger is not shown in a model's record.
constexpr size_t kMaxSampleElements = 16 << 10;
constexpr size_t kMaxSampleText = 256 << 10;
constexpr std::chrono::minutes kAskTime{5};

// The work of the one request there is, on the thread that asks.
class OneTurn final : public http::Turn {
 public:
  size_t index() const override { return 0; }
  void at_end(std::move_only_function<void()> work) override { works_.push_back(std::move(work)); }
  void end() {
    for (auto& work : works_) work();
  }

 private:
  std::vector<std::move_only_function<void()>> works_;
};

json::value zero_of(DataType type) {
  if (type == DataType::kBytes) return "";
  if (type == DataType::kBool) return false;
  if (is_floating(type)) return 0.0;
  return 0;
}

json::value zeros(DataType type, std::span<const int64_t> shape) {
  if (shape.empty()) return zero_of(type);
  json::array list;
  for (int64_t i = 0; i < std::max<int64_t>(shape.front(), 1); ++i)
    list.push_back(zeros(type, shape.subspan(1)));
  return list;
}

bool can_be_shown(const Signature& signature) {
  size_t total = 0;
  for (const TensorSpec& spec : signature.inputs) {
    if (!spec.shape) return false;
    Shape shape = *spec.shape;
    for (int64_t& dimension : shape) dimension = std::max<int64_t>(dimension, 1);
    const auto count = element_count(shape, kMaxSampleElements);
    if (!count) return false;
    total += *count;
  }
  return total <= kMaxSampleElements;
}

// One row of zeros as a body of /score: {"instances": [row]}, for scikit-learn {"data": [row]}, for a model
// without rows {"inputs": ...}. Empty where the model's shapes do not tell.
std::string sample_of_zeros(const Model& model) {
  if (model.signatures().empty() || !can_be_shown(model.signatures().front())) return "";
  const Signature& signature = model.signatures().front();
  const bool rows = signature.batchable;
  const auto value_of = [rows](const TensorSpec& spec) {
    return zeros(spec.type, std::span(*spec.shape).subspan(rows ? 1 : 0));
  };
  json::value value;
  if (signature.inputs.size() == 1) {
    value = value_of(signature.inputs.front());
  } else {
    json::object members;
    for (const TensorSpec& spec : signature.inputs) members[spec.name] = value_of(spec);
    value = std::move(members);
  }
  const char* member = !rows ? "inputs" : model.runtime() == "scikit-learn" ? "data" : "instances";
  if (rows) value = json::array{std::move(value)};
  return json::serialize(json::object{{member, std::move(value)}});
}

Result<http::Response> ask(const http::Router& router, const std::string& body) {
  SLIPWAY_ASSIGN(const http::Match match, router.find(http::Method::kPost, "/score"));
  http::Request request;
  request.method = http::Method::kPost;
  request.path = "/score";
  request.headers["content-type"] = "application/json";
  request.body = body;
  // shared_ptr: by this thread and the one that answers.
  const auto answered = std::make_shared<std::promise<Result<http::Response>>>();
  std::future<Result<http::Response>> response = answered->get_future();
  OneTurn turn;
  match.route->deferred(
      request, turn, [answered](Result<http::Response> answer) { answered->set_value(std::move(answer)); });
  turn.end();
  return response.get();  // a request has its own deadline
}

std::string message_of(const http::Response& response) {
  const auto* body = std::get_if<std::string>(&response.body);
  const auto parsed = parse_json(body == nullptr ? "" : *body, "the answer");
  if (parsed && parsed->is_object() && parsed->as_object().contains("message"))
    return std::string(parsed->as_object().at("message").as_string());
  return fmt::format("it answered with the status {}", response.status);
}

json::value shown(const std::string& text) {
  if (text.empty() || text.size() > kMaxSampleText) return nullptr;
  auto parsed = parse_json(text, "the sample");
  return parsed ? std::move(*parsed) : json::value(text);
}

json::array to_json(const std::vector<TensorSpec>& specs) {
  json::array list;
  for (const TensorSpec& spec : specs) {
    json::value shape;
    if (spec.shape) shape = json::array(spec.shape->begin(), spec.shape->end());
    list.push_back(
        json::object{{"name", spec.name}, {"datatype", to_text(spec.type)}, {"shape", std::move(shape)}});
  }
  return list;
}

json::value signature_of(const Model& model) {
  json::object by_name;
  for (const Signature& signature : model.signatures())
    by_name[signature.name] =
        json::object{{"inputs", to_json(signature.inputs)}, {"outputs", to_json(signature.outputs)}};
  return by_name;
}

Status write_text(const char* file, std::string_view text) {
  const UniqueFd fd(::open(file, O_WRONLY | O_CLOEXEC));
  if (!fd) return fail(errno_error(errno, fmt::format("open {}", file)));
  return write_all(fd.get(), text);
}

// Asks the loaded model and adds what came of it.
Status ask_once(const TrialOptions& options, LoadedModel& loaded, Trial& trial) {
  const std::string body = options.sample.empty() ? sample_of_zeros(*loaded.model) : options.sample;
  if (body.empty()) return {};
  Statistics statistics;
  Batcher batcher(*loaded.model, {}, 1, statistics);
  ServedModel served{.name = loaded.name,
                     .version = loaded.version,
                     .model = *loaded.model,
                     .batcher = batcher,
                     .statistics = statistics,
                     .timeout = kAskTime};
  http::Router router;
  add_routes(router, served, body.size());
  const auto response = ask(router, body);
  batcher.stop();
  if (!response) return fail(response.error());
  if (response->status >= 400) {
    const std::string why = message_of(*response);
    if (!options.sample.empty() || response->status >= 500)
      return fail(ErrorCode::kUnsupported, fmt::format("the model failed when it was asked: {}", why),
                  "give a sample of what it takes with --sample, or repair the model");
    trial.note = fmt::format("it loads; zeros told nothing, since {}", why);
    return {};
  }
  trial.sample_input = shown(body);
  if (const auto* text = std::get_if<std::string>(&response->body)) trial.sample_output = shown(*text);
  return {};
}

}  // namespace

Result<Trial> try_model(const TrialOptions& options) {
  SLIPWAY_ASSIGN(LoadedModel loaded, load_model(options.load));
  Trial trial;
  trial.runtime = loaded.model->runtime();
  trial.signature = signature_of(*loaded.model);
  SLIPWAY_TRY(ask_once(options, loaded, trial));
  return trial;
}

bool leave_network() {
  if (::unshare(CLONE_NEWNET) == 0) return true;
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  // The same user as before to everybody. Where the maps cannot be written its files are its own all the
  // same.
  (void)write_text("/proc/self/setgroups", "deny");
  (void)write_text("/proc/self/uid_map", fmt::format("{0} {0} 1", user));
  (void)write_text("/proc/self/gid_map", fmt::format("{0} {0} 1", group));
  return true;
}

json::object to_json(const Trial& trial) {
  json::object object{{"serves", true},
                      {"runtime", trial.runtime},
                      {"signature", trial.signature},
                      {"sample_input", trial.sample_input},
                      {"sample_output", trial.sample_output}};
  if (!trial.note.empty()) object["note"] = trial.note;
  return object;
}

}  // namespace slipway::serving
