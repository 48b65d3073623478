#include "serving/runtimes/worker_model.h"

#include <fmt/format.h>
#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "serving/protocols/binary_tensor.h"
#include "serving/runtimes/worker_process.h"

namespace slipway::serving {
namespace {

constexpr std::chrono::minutes kLoadTime{10};
constexpr std::chrono::milliseconds kStep{200};
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::seconds kLongestPause{30};

// Tensors of an answer, in the bytes it came with.
class FrameOutputs final : public Outputs {
 public:
  static Result<std::unique_ptr<Outputs>> make(Frame frame, const Signature& signature) {
    auto outputs = std::make_unique<FrameOutputs>();
    const json::value* list = frame.header.if_contains("outputs");
    if (list == nullptr || !list->is_array() || list->as_array().size() != signature.outputs.size())
      return fail(ErrorCode::kInternal, "the model's process gave another number of outputs than it said");
    std::string_view rest = frame.rest;
    for (const json::value& item : list->as_array()) {
      SLIPWAY_TRY(outputs->add(item, rest, signature.outputs[outputs->owned_.size()].name));
    }
    for (size_t i = 0; i < outputs->owned_.size(); ++i) {
      const Tensor& tensor = outputs->owned_[i];
      outputs->tensors_.push_back({.name = signature.outputs[i].name,
                                   .type = tensor.type,
                                   .shape = tensor.shape,
                                   .data = tensor.elements.data(),
                                   .bytes = tensor.elements.size()});
    }
    return outputs;
  }

 private:
  Status add(const json::value& item, std::string_view& rest, const std::string& name) {
    std::string type;
    uint64_t bytes = 0;
    json::array sizes;
    if (item.is_object()) {
      JsonFields fields(item.as_object(), "an output");
      fields.required("type", type);
      fields.required("bytes", bytes);
      fields.required("shape", sizes);
      SLIPWAY_TRY(fields.finish_lenient());
    }
    const auto known = data_type_from_text(type);
    if (!known || bytes > rest.size())
      return fail(ErrorCode::kInternal,
                  fmt::format("the model's process gave an output '{}' that is none", name));
    Shape shape;
    for (const json::value& size : sizes) shape.push_back(size.is_int64() ? size.as_int64() : -1);
    SLIPWAY_ASSIGN(Tensor tensor, read_binary(rest.substr(0, bytes), *known, std::move(shape)));
    rest.remove_prefix(bytes);
    owned_.push_back(std::move(tensor));
    return {};
  }

  std::deque<Tensor> owned_;  // a deque does not move what it holds
};

Result<std::vector<TensorSpec>> read_specs(const json::value& list) {
  std::vector<TensorSpec> specs;
  if (!list.is_array()) return fail(ErrorCode::kInternal, "a worker described no tensors");
  for (const json::value& item : list.as_array()) {
    TensorSpec& spec = specs.emplace_back();
    std::string type;
    JsonFields fields(item.as_object(), "a tensor");
    fields.required("name", spec.name);
    fields.required("type", type);
    SLIPWAY_TRY(fields.finish_lenient());
    spec.type = data_type_from_text(type).value_or(DataType::kFp64);
    const json::value* shape = item.as_object().if_contains("shape");
    if (shape == nullptr || !shape->is_array()) continue;  // any
    spec.shape.emplace();
    for (const json::value& size : shape->as_array())
      spec.shape->push_back(size.is_int64() ? size.as_int64() : -1);
  }
  return specs;
}

// What the first frame of a worker says.
struct Description {
  std::vector<Signature> signatures;
  bool raw = false;
  std::string input_schema;
  std::string output_schema;
};

Result<Description> read_first_frame(const json::object& header) {
  Description about;
  std::string failure;
  json::array signatures;
  JsonFields fields(header, "a worker's description");
  fields.optional("error", failure);
  fields.optional("raw", about.raw);
  fields.optional("input_schema", about.input_schema);
  fields.optional("output_schema", about.output_schema);
  fields.optional("signatures", signatures);
  SLIPWAY_TRY(fields.finish_lenient());
  if (!failure.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("the model cannot be served: {}", failure),
                "the lines above say more; --python names the interpreter that has the model's packages");
  for (const json::value& item : signatures) {
    Signature& signature = about.signatures.emplace_back();
    const json::object& object = item.as_object();
    signature.name = object.at("name").as_string();
    signature.method = "tensorflow/serving/predict";
    SLIPWAY_ASSIGN(signature.inputs, read_specs(object.at("inputs")));
    SLIPWAY_ASSIGN(signature.outputs, read_specs(object.at("outputs")));
    const json::value* batchable = object.if_contains("batchable");
    signature.batchable = batchable == nullptr || batchable->as_bool();
  }
  return about;
}

// What runs in a worker is the model's own code and can write anything: nonsense is an error like others.
Result<Description> read_description(const json::object& header) {
  try {
    return read_first_frame(header);
  } catch (const std::exception& exception) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the model's process does not say what the model is: {}", exception.what()));
  }
}

class WorkerModel final : public Model {
 public:
  explicit WorkerModel(WorkerOrder order) : order_(std::move(order)) {
    keeper_ = std::thread([this] {
      ::pthread_setname_np(::pthread_self(), "keeper");
      keep();
    });
  }
  ~WorkerModel() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    keeper_.join();
  }

  // Waits for the first worker; its description is the model's.
  Status wait_until_loaded() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return loaded_ || first_failure_; });
    if (!loaded_) return fail(*first_failure_);
    return {};
  }

  std::string_view runtime() const override { return order_.kind; }
  std::string_view platform() const override { return order_.platform; }
  const std::vector<Signature>& signatures() const override { return about_.signatures; }
  bool waits() const override { return true; }
  unsigned instances() const override { return order_.workers; }
  bool takes_raw() const override { return about_.raw; }
  std::string input_schema() const override { return about_.input_schema; }
  std::string output_schema() const override { return about_.output_schema; }

  Result<std::unique_ptr<Outputs>> run(size_t signature, std::span<const SlipwayTensor> inputs,
                                       Monotonic deadline) override {
    json::array described;
    std::vector<std::string> texts;
    std::vector<std::string_view> parts;
    texts.reserve(inputs.size());
    for (const SlipwayTensor& input : inputs) {
      const TensorView view{.name = input.name,
                            .type = static_cast<DataType>(input.type),
                            .shape = {input.shape, static_cast<size_t>(input.rank)},
                            .data = static_cast<const char*>(input.data),
                            .bytes = input.bytes};
      if (view.type == DataType::kBytes) {
        append_binary(texts.emplace_back(), view);
        parts.emplace_back(texts.back());
      } else {
        parts.emplace_back(view.data, view.bytes);
      }
      described.push_back(json::object{{"type", to_text(view.type)},
                                       {"shape", json::array(view.shape.begin(), view.shape.end())},
                                       {"bytes", parts.back().size()}});
    }
    SLIPWAY_ASSIGN(Frame frame,
                   call({{"run", signature}, {"inputs", std::move(described)}}, parts, deadline));
    return FrameOutputs::make(std::move(frame), about_.signatures[signature]);
  }

  Result<RawAnswer> invoke(const RawRequest& request, Monotonic deadline) override {
    json::array headers;
    for (const auto& [name, value] : request.headers) headers.push_back(json::array{name, value});
    const std::string_view body[] = {request.body};
    SLIPWAY_ASSIGN(
        Frame frame,
        call({{"method", request.method}, {"target", request.target}, {"headers", std::move(headers)}}, body,
             deadline));
    RawAnswer answer;
    json::array given;
    JsonFields fields(frame.header, "a worker's answer");
    fields.required("status", answer.status);
    fields.required("content_type", answer.content_type);
    fields.optional("headers", given);
    SLIPWAY_TRY(fields.finish_lenient());
    if (answer.status < 200 || answer.status > 599)
      return fail(ErrorCode::kInternal, fmt::format("run() answered with the status {}", answer.status));
    for (const json::value& pair : given)
      if (pair.is_array() && pair.as_array().size() == 2 && pair.as_array()[0].is_string() &&
          pair.as_array()[1].is_string())
        answer.headers.emplace_back(pair.as_array()[0].as_string(), pair.as_array()[1].as_string());
    answer.body = std::move(frame.rest);
    return answer;
  }

 private:
  // One exchange with an idle worker.
  Result<Frame> call(const json::object& header, std::span<const std::string_view> parts,
                     Monotonic deadline) {
    SLIPWAY_ASSIGN(std::unique_ptr<WorkerProcess> worker, take(deadline));
    Status sent = worker->link.send(header, parts, deadline);
    Result<Frame> frame = sent ? worker->link.receive(deadline) : Result<Frame>(fail(sent.error()));
    if (!frame) {
      give_up(std::move(worker), frame.error());
      return frame;
    }
    std::string failure;
    std::string code;
    bool spent = false;
    JsonFields fields(frame->header, "a worker's answer");
    fields.optional("error", failure);
    fields.optional("code", code);
    fields.optional("spent", spent);
    const Status read = fields.finish_lenient();
    if (spent) {
      give_up(std::move(worker), {.code = ErrorCode::kExhausted,
                                  .message = "it has used up the memory it may have",
                                  .next = "",
                                  .detail = ""});
    } else {
      give_back(std::move(worker));
    }
    SLIPWAY_TRY(read);
    if (!failure.empty())
      return fail(code == "invalid" ? ErrorCode::kInvalidArgument : ErrorCode::kInternal,
                  fmt::format("the model could not compute: {}", failure));
    return frame;
  }

  Result<std::unique_ptr<WorkerProcess>> take(Monotonic deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline,
                        [this] { return !idle_.empty() || (last_failure_ && live_ == 0) || stopping_; });
    if (!idle_.empty()) {
      auto worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
    if (last_failure_ && live_ == 0)
      return fail(ErrorCode::kUnavailable,
                  fmt::format("the model's process does not start again: {}", last_failure_->message),
                  "the service's log says more");
    return fail(ErrorCode::kTimeout, "no process of the model was free in time",
                "raise --workers, or send less at once");
  }

  void give_back(std::unique_ptr<WorkerProcess> worker) {
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(worker));
    }
    changed_.notify_all();
  }

  void give_up(std::unique_ptr<WorkerProcess> worker, const Error& why) {
    log_warning("serving.worker_lost", {{"pid", worker->process.pid()}, {"why", why.message}});
    worker.reset();
    {
      const std::lock_guard lock(mutex_);
      --live_;
    }
    changed_.notify_all();
  }

  // The keeper: has as many workers as ordered, and looks after those that are idle.
  void keep() {
    std::chrono::milliseconds pause = kFirstPause;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      drop_dead_idle();
      if (live_ >= order_.workers) {
        changed_.wait_for(lock, std::chrono::seconds(1),
                          [this] { return stopping_ || live_ < order_.workers; });
        continue;
      }
      lock.unlock();
      auto started = start_one();
      lock.lock();
      if (started) {
        pause = kFirstPause;
        last_failure_.reset();
        ++live_;
        idle_.push_back(std::move(*started));
        loaded_ = true;
        changed_.notify_all();
        continue;
      }
      last_failure_ = started.error();
      if (!loaded_) {
        first_failure_ = started.error();
        changed_.notify_all();
        return;
      }
      changed_.notify_all();
      log_error("serving.worker_not_started", {{"error", started.error()}});
      changed_.wait_for(lock, pause, [this] { return stopping_; });
      pause = std::min<std::chrono::milliseconds>(pause * 2, kLongestPause);
    }
    idle_.clear();
  }

  // Those that were killed while nobody used them are noticed before a request meets them.
  void drop_dead_idle() {
    const size_t removed = std::erase_if(idle_, [](const std::unique_ptr<WorkerProcess>& worker) {
      const auto how = worker->process.ended();
      if (how) log_warning("serving.worker_lost", {{"why", *how}});
      return how.has_value();
    });
    live_ -= static_cast<unsigned>(removed);
  }

  bool is_stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  Result<std::unique_ptr<WorkerProcess>> start_one() {
    SLIPWAY_ASSIGN(WorkerProcess worker, WorkerProcess::start(order_));
    const Monotonic deadline = std::chrono::steady_clock::now() + kLoadTime;
    // In steps, so that a server that is told to stop does not wait for a model that loads.
    while (!worker.link.readable(kStep) && !is_stopping() && std::chrono::steady_clock::now() < deadline) {
    }
    if (is_stopping()) return fail(ErrorCode::kUnavailable, "the server is stopping");
    auto frame = worker.link.receive(deadline);
    if (!frame) {
      const auto how = worker.process.ended();
      return fail(
          ErrorCode::kUnavailable,
          fmt::format("the model's process ended while it loaded the model{}", how ? ": " + *how : ""),
          "the lines above say more; --python names the interpreter that has the model's packages");
    }
    SLIPWAY_ASSIGN(Description about, read_description(frame->header));
    if (!loaded_) about_ = std::move(about);  // before anybody can read it
    return std::make_unique<WorkerProcess>(std::move(worker));
  }

  const WorkerOrder order_;
  Description about_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<WorkerProcess>> idle_;
  unsigned live_ = 0;  // idle or taken
  bool loaded_ = false;
  bool stopping_ = false;
  std::optional<Error> first_failure_;
  std::optional<Error> last_failure_;
  std::thread keeper_;
};

}  // namespace

Result<std::unique_ptr<Model>> start_workers(const WorkerOrder& order) {
  auto model = std::make_unique<WorkerModel>(order);
  SLIPWAY_TRY(model->wait_until_loaded());
  return model;
}

}  // namespace slipway::serving
