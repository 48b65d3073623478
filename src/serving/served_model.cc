#include "serving/served_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <exception>

#include "base/log.h"
#include "http/grpc.h"

namespace slipway::serving {
namespace {

// Reading one that is larger takes long enough for other connections of the I/O thread to notice.
constexpr size_t kLargeBody = 256 << 10;

std::vector<std::string> names_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> names;
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return names;
}

// One request under way; shared by the steps that may run on different threads.
struct Call {
  ServedModel& served;
  const Protocol& protocol;
  http::Request& request;
  http::Answer answer;
  Monotonic arrived = std::chrono::steady_clock::now();

  void finish(http::Response response) {
    Statistics& statistics = served.statistics;
    const auto took = std::chrono::steady_clock::now() - arrived;
    // A call of gRPC fails with a message and the status 200.
    const bool failed = response.status >= 400 || response.headers.contains("grpc-message");
    ++(failed ? statistics.failed : statistics.succeeded);
    statistics.request_nanoseconds.fetch_add(static_cast<uint64_t>(std::chrono::nanoseconds(took).count()),
                                             std::memory_order_relaxed);
    statistics.latency.add(took);
    statistics.in_flight.fetch_sub(1, std::memory_order_relaxed);
    answer(std::move(response));
  }
  void refuse(const Error& error) {
    if (http_status(error.code) == 500) log_error("serving.request_failed", {{"error", error}});
    http::Response response = protocol.refuse(error);
    if (response.status == 429 || response.status == 503) response.headers["Retry-After"] = "1";
    finish(std::move(response));
  }
};

Result<Inference> read_guarded(Call& call) {
  try {
    return call.protocol.read(call.served, call.request);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kTooLarge, "there is not enough memory for the request's tensors",
                "send fewer rows");
  } catch (const std::exception& exception) {
    return fail(Error{.code = ErrorCode::kInternal,
                      .message = "the request could not be read",
                      .next = "try again; the server's log says more",
                      .detail = exception.what()});
  }
}

// How many rows the inputs have in common; 0 when they cannot be run together with others.
int64_t rows_of(const Signature& signature, const std::vector<Tensor>& inputs) {
  if (!signature.batchable) return 0;
  const int64_t rows = inputs.front().shape.front();
  for (const Tensor& tensor : inputs)
    if (tensor.shape.front() != rows) return 0;
  return rows;
}

Result<Job> make_job(const std::shared_ptr<Call>& call) {
  SLIPWAY_ASSIGN(Inference inference, read_guarded(*call));
  Job job;
  job.signature = inference.signature;
  job.rows = rows_of(call->served.model.signatures()[inference.signature], inference.inputs);
  job.inputs = std::move(inference.inputs);
  job.arrived = call->arrived;
  job.deadline =
      call->arrived + std::min(call->served.timeout, inference.timeout.value_or(call->served.timeout));
  job.done = [call, respond = std::move(inference.respond)](Result<JobOutputs> outputs) {
    if (!outputs) return call->refuse(outputs.error());
    call->finish(respond(*outputs));
  };
  return job;
}

}  // namespace

Status ServedModel::check(std::string_view wanted, std::string_view wanted_version) const {
  if (wanted != name)
    return fail(ErrorCode::kNotFound, fmt::format("there is no model '{}' here", wanted),
                fmt::format("this server has the model '{}'", name));
  if (!wanted_version.empty() && wanted_version != version)
    return fail(ErrorCode::kNotFound,
                fmt::format("the model '{}' has no version '{}' here", name, wanted_version),
                fmt::format("this server has its version {}", version));
  return {};
}

Result<size_t> ServedModel::find_signature(std::string_view wanted) const {
  if (wanted.empty()) return 0;
  std::vector<std::string> known;
  for (size_t i = 0; i < model.signatures().size(); ++i) {
    if (model.signatures()[i].name == wanted) return i;
    known.push_back(model.signatures()[i].name);
  }
  return fail(ErrorCode::kInvalidArgument, fmt::format("the model has no signature '{}'", wanted),
              fmt::format("it has: {}", fmt::join(known, ", ")));
}

void infer(ServedModel& served, const Protocol& protocol, http::Request& request, http::Turn& turn,
           http::Answer answer) {
  served.statistics.in_flight.fetch_add(1, std::memory_order_relaxed);
  // shared_ptr: by the step that is under way and, once there is a job, by the job.
  const auto call = std::make_shared<Call>(
      Call{.served = served, .protocol = protocol, .request = request, .answer = std::move(answer)});
  if (served.model.signatures().empty())
    return call->refuse({.code = ErrorCode::kUnsupported,
                         .message = "this service is an entry script and takes requests at /score alone",
                         .next = "POST to /score",
                         .detail = ""});
  if (request.body.size() > kLargeBody || http::is_compressed_grpc(request)) {
    const bool taken = served.batcher.submit_work([call] {
      auto job = make_job(call);
      if (!job) return call->refuse(job.error());
      call->served.batcher.submit(std::move(*job));
    });
    if (!taken) call->refuse(Batcher::refusal());
    return;
  }
  auto job = make_job(call);
  if (!job) return call->refuse(job.error());
  served.batcher.submit(std::move(*job), turn);
}

Result<size_t> InputSlots::find(std::string_view name) const {
  for (size_t i = 0; i < signature_.inputs.size(); ++i)
    if (signature_.inputs[i].name == name) return i;
  return fail(ErrorCode::kInvalidArgument, fmt::format("the model has no input '{}'", name),
              fmt::format("its inputs are: {}", fmt::join(names_of(signature_.inputs), ", ")));
}

Status InputSlots::put(size_t index, Tensor tensor) {
  const TensorSpec& spec = signature_.inputs[index];
  if (tensors_[index])
    return fail(ErrorCode::kInvalidArgument, fmt::format("the input '{}' is given twice", spec.name));
  SLIPWAY_TRY(check_fits(spec, tensor.type, tensor.shape));
  tensors_[index] = std::move(tensor);
  return {};
}

Result<std::vector<Tensor>> InputSlots::take() {
  std::vector<Tensor> all;
  all.reserve(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i])
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the input '{}' is missing", signature_.inputs[i].name),
                  fmt::format("give all of: {}", fmt::join(names_of(signature_.inputs), ", ")));
    all.push_back(std::move(*tensors_[i]));
  }
  return all;
}

Result<Tensor> stack(std::vector<Tensor> parts, const std::string& input) {
  Tensor& first = parts.front();
  Tensor whole{.type = first.type, .shape = first.shape, .elements = {}, .text = nullptr};
  whole.shape.insert(whole.shape.begin(), static_cast<int64_t>(parts.size()));
  const size_t each = first.elements.size();
  whole.elements = Elements(each * parts.size());
  if (whole.type == DataType::kBytes) whole.text = std::make_unique<std::string>();
  std::vector<size_t> sizes;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].shape != first.shape)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("row {} of input '{}' has the shape {} and the first row {}", i, input,
                              to_text(parts[i].shape), to_text(first.shape)),
                  "send rows of equal shape");
    if (each > 0) std::memcpy(whole.elements.data() + i * each, parts[i].elements.data(), each);
    if (whole.text) *whole.text += *parts[i].text;
  }
  if (whole.text) {
    const char* at = whole.text->data();
    auto* strings = whole.elements.as<SlipwayBytes>();
    for (size_t i = 0; i < whole.elements.size() / sizeof(SlipwayBytes); ++i) {
      strings[i].data = at;
      at += strings[i].size;
    }
  }
  return whole;
}

}  // namespace slipway::serving
