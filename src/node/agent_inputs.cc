#include "node/agent_inputs.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <thread>

#include "base/file.h"
#include "base/log.h"
#include "data/fetch.h"
#include "data/target_folder.h"
#include "node/agent_input_files.h"

namespace slipway::node {
namespace fs = std::filesystem;
namespace {

constexpr auto kTellEvery = std::chrono::seconds(2);

// What the server tells of one input.
struct InputAnswer {
  std::vector<data::SourceAccess> sources;
  std::string manifest;  // its text
};

// Says now and again how far a download has got.
class ProgressTeller {
 public:
  ProgressTeller(PreparationLog& log, const data::FetchableVersion& version,
                 const data::FetchProgress& progress)
      : log_(log),
        version_(version),
        progress_(progress),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

 private:
  void run(const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any woken;
    while (!woken.wait_for(lock, stop, kTellEvery, [&] { return stop.stop_requested(); }) &&
           !stop.stop_requested()) {
      log_.line(kDataLog, fmt::format("{}: {} of {} files, {} of {}", version_.dataset(),
                                      progress_.files.load(), version_.files().size(),
                                      bytes_text(progress_.bytes), bytes_text(version_.bytes())));
    }
  }

  PreparationLog& log_;
  const data::FetchableVersion& version_;
  const data::FetchProgress& progress_;
  std::jthread thread_;
};

Result<UniqueFd> in_memory(std::string_view text) {
  UniqueFd fd(::memfd_create("slipway-mounts", MFD_CLOEXEC));
  if (!fd) return fail(errno_error(errno, "hold the order to mount in memory"));
  SLIPWAY_TRY(write_all(fd.get(), text));
  return fd;
}

}  // namespace

// The inputs of one attempt.
class InputPlacer::Placing {
 public:
  Placing(InputPlacer& placer, const AttemptOrder& order, const fs::path& folder, AttemptSignals& signals,
          PreparationLog& log)
      : placer_(placer), order_(order), folder_(folder), signals_(signals), log_(log) {}

  Result<PlacedInputs> run() {
    for (const InputOrder& input : order_.inputs) SLIPWAY_TRY(place(input));
    if (!mounts_.mounts.empty()) {
      mounts_.cache = placer_.paths_.cache().string();
      mounts_.cache_bytes = placer_.cache_bytes_;
      mounts_.server = placer_.server_content(order_.run_token);
      SLIPWAY_ASSIGN(placed_.mount_order, in_memory(data::to_text(mounts_)));
    }
    return std::move(placed_);
  }

 private:
  Status place(const InputOrder& input) {
    const std::string dataset = fmt::format("{}:{}", input.dataset, input.version);
    if (input.wanted.mode == DataMode::kDirect) {
      placed_.paths[input.name] = dataset;
      return report(input, {.path = dataset, .mode = "direct"});
    }
    SLIPWAY_ASSIGN(const fs::path at, make_input_folder(folder_, input));
    if (input.wanted.path.starts_with('/')) placed_.elsewhere.push_back(at.string());
    SLIPWAY_ASSIGN(InputAnswer answer, ask(input));
    if (input.wanted.mode == DataMode::kMount && may_mount(dataset))
      return mount(input, dataset, at, std::move(answer));
    return download(input, dataset, at, std::move(answer));
  }

  bool may_mount(const std::string& dataset) {
    const auto& way = placer_.mount_way();
    if (way) {
      mounts_.way = *way;
      return true;
    }
    note_ = fmt::format("it cannot be mounted here and is downloaded instead: {}", way.error().message);
    log_.note("data", fmt::format("{}: {}", dataset, note_));
    return false;
  }

  Status mount(const InputOrder& input, const std::string& dataset, const fs::path& at, InputAnswer answer) {
    SLIPWAY_ASSIGN(const data::Manifest manifest, data::Manifest::parse(answer.manifest));
    const fs::path path = manifest.files().size() == 1 ? at / manifest.files().front().path : at;
    mounts_.mounts.push_back({.at = at.string(),
                              .dataset = dataset,
                              .verify = input.wanted.verify,
                              .sources = std::move(answer.sources),
                              .content = content_target(input),
                              .manifest = std::move(answer.manifest)});
    placed_.mounts.push_back(at.string());
    placed_.paths[input.name] = path.string();
    log_.note("data",
              fmt::format("{} is mounted: {} files, {}", dataset, input.files, bytes_text(input.bytes)));
    return report(input, {.path = path.string(), .mode = "mount"});
  }

  Status download(const InputOrder& input, const std::string& dataset, const fs::path& at,
                  InputAnswer answer) {
    SLIPWAY_ASSIGN(data::Manifest manifest, data::Manifest::parse(answer.manifest));
    SLIPWAY_ASSIGN(const std::unique_ptr<data::FetchableVersion> version,
                   data::FetchableVersion::open({.dataset = dataset,
                                                 .manifest = std::move(manifest),
                                                 .sources = std::move(answer.sources),
                                                 .content = content_target(input),
                                                 .verify = input.wanted.verify},
                                                placer_.server_content(order_.run_token)));
    log_.note("data", fmt::format("downloading {}: {} files, {}", dataset, version->files().size(),
                                  bytes_text(version->bytes())));
    const Monotonic begin = std::chrono::steady_clock::now();
    data::FetchProgress progress;
    data::Fetcher fetcher(placer_.cache_, {.dataset = dataset, .stopped = [this] { return unwanted(); }});
    {
      const ProgressTeller teller(log_, *version, progress);
      SLIPWAY_ASSIGN(const data::TargetFolder target, data::TargetFolder::open(at));
      SLIPWAY_TRY(fetcher.fetch_all(version->wanted(), progress, [&](const data::WantedFile& file, int fd) {
        return target.copy(fd, file.file->path, file.file->size);
      }));
    }
    placer_.cache_.trim();
    const auto took = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begin);
    log_.note("data", fmt::format("{} is in place: {} files, {}, of which {} came over the network, in {}",
                                  dataset, version->files().size(), bytes_text(version->bytes()),
                                  bytes_text(progress.fetched), to_text(took)));
    const fs::path path = version->entry().empty() ? at : at / version->entry();
    placed_.paths[input.name] = path.string();
    Report told{.path = path.string(),
                .mode = "download",
                .note = std::move(note_),
                .fetched = progress.fetched,
                .cached = version->bytes() - std::min<uint64_t>(version->bytes(), progress.fetched),
                .seconds = std::chrono::duration<double>(took).count()};
    if (version->changed() > 0) {
      told.note = fmt::format("{} of its files are not those of the version any more; the input allows it",
                              version->changed());
      log_.note("data", fmt::format("{}: {}", dataset, told.note));
    }
    return report(input, told);
  }

  bool unwanted() const { return signals_.interrupted() || signals_.canceled().has_value(); }

  std::string content_target(const InputOrder& input) const {
    return ServerLink::workspace_target(
        order_.workspace, fmt::format("runs/{}/inputs/{}/content?path=", order_.key.run, input.name));
  }

  // Repeats a call to the server until it is answered; what a run's token cannot reach it never will.
  Status insist(const std::function<Status()>& call) {
    return signals_.insist(call, [this] { return !signals_.canceled(); });
  }

  Result<InputAnswer> ask(const InputOrder& input) {
    InputAnswer answer;
    SLIPWAY_TRY(insist([&]() -> Status {
      http::Call call;
      call.target = placer_.server_.attempt_target(order_.key, "inputs/" + input.name);
      SLIPWAY_ASSIGN(const http::ClientResponse response, placer_.server_.send(std::move(call)));
      if (response.status >= 400) return fail(error_from_json(response.body, response.status));
      SLIPWAY_ASSIGN(const json::object object, parse_json_object(response.body, "the server's answer"));
      json::array sources;
      JsonFields fields(object, "the server's answer");
      fields.required("sources", sources);
      SLIPWAY_TRY(fields.finish_lenient());
      answer.sources.clear();
      for (const json::value& source : sources) {
        SLIPWAY_ASSIGN(answer.sources.emplace_back(), data::source_access_from_json(source.as_object()));
      }
      return {};
    }));
    SLIPWAY_TRY(insist([&]() -> Status {
      SLIPWAY_ASSIGN(answer.manifest, manifest(input));
      return {};
    }));
    return answer;
  }

  // From the cache where an earlier run has left it.
  Result<std::string> manifest(const InputOrder& input) {
    SLIPWAY_ASSIGN(const Digest id, Digest::parse(input.manifest));
    if (auto cached = placer_.cache_.read(id, data::kMaxManifestText)) return cached;
    ServerLink::Lease client = placer_.server_.borrow_as(order_.run_token);
    http::Call call;
    call.target = ServerLink::workspace_target(
        order_.workspace, fmt::format("runs/{}/inputs/{}/manifest", order_.key.run, input.name));
    std::string text;
    call.sink = [&](std::string_view bytes) -> Status {
      if (text.size() + bytes.size() > data::kMaxManifestText)
        return fail(ErrorCode::kTooLarge, "the manifest is too large");
      text += bytes;
      return {};
    };
    SLIPWAY_ASSIGN(const http::ClientResponse response, client->call(std::move(call)));
    if (Digest::of(text) != id) return fail(ErrorCode::kUnavailable, "the server sent another manifest");
    placer_.cache_.offer(id, text);
    return text;
  }

  // For the run's record.
  struct Report {
    std::string path;
    std::string_view mode;
    std::string note = {};
    uint64_t fetched = 0;
    uint64_t cached = 0;
    double seconds = 0;
  };
  Status report(const InputOrder& input, const Report& told) {
    const json::object body{{"path", told.path},           {"mode", told.mode},
                            {"note", told.note},           {"fetched_bytes", told.fetched},
                            {"cached_bytes", told.cached}, {"seconds", told.seconds}};
    return insist([&]() -> Status {
      auto answer =
          placer_.server_.post(placer_.server_.attempt_target(order_.key, "inputs/" + input.name), body);
      if (!answer) return fail(std::move(answer).error());
      return {};
    });
  }

  InputPlacer& placer_;
  const AttemptOrder& order_;
  const fs::path& folder_;
  AttemptSignals& signals_;
  PreparationLog& log_;
  PlacedInputs placed_;
  data::MountOrder mounts_;
  std::string note_;  // why the input that is being placed is not placed as it was asked for
};

Result<PlacedInputs> InputPlacer::place(const AttemptOrder& order, const fs::path& folder,
                                        AttemptSignals& signals, PreparationLog& log) {
  return Placing(*this, order, folder, signals, log).run();
}

const Result<data::MountWay>& InputPlacer::mount_way() {
  const std::lock_guard lock(mutex_);
  if (!mount_way_) mount_way_ = data::find_mount_way(paths_.attempts());
  return *mount_way_;
}

data::ServerContent InputPlacer::server_content(const Secret& token) const {
  const fs::path blobs = paths_.home / "blobs";
  std::error_code error;
  return {.url = server_.url(),
          .token = token,
          .ca_file = ca_file_,
          .blobs = fs::is_directory(blobs, error) ? blobs : fs::path()};
}

}  // namespace slipway::node
