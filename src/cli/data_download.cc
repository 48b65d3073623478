#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/answer.h"
#include "cli/data_transfer.h"
#include "cli/interruption.h"
#include "cli/quantities.h"
#include "data/cache.h"
#include "data/fetch.h"
#include "data/target_folder.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAside = ".slipway-download";

struct DownloadChoice {
  std::string dataset;
  std::string folder;
  bool overwrite = false;
  bool no_verify = false;
};

enum class Standing { kMissing, kThere, kOther };

// Whether the file is there already, as its version has it. Where only a size is known, that decides.
Result<Standing> standing_of(const data::TargetFolder& target, const data::File& file) {
  const auto fd = target.open_file(file.path);
  if (!fd && fd.error().code == ErrorCode::kNotFound) return Standing::kMissing;
  if (!fd) return fail(fd.error());
  struct stat status{};
  if (::fstat(fd->get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uint64_t>(status.st_size) != file.size)
    return Standing::kOther;
  if (!file.digest) return Standing::kThere;
  SLIPWAY_ASSIGN(const Digest digest, data::digest_of(fd->get()));
  return digest == *file.digest ? Standing::kThere : Standing::kOther;
}

Result<std::vector<data::WantedFile>> still_wanted(const data::FetchableVersion& version,
                                                   const data::TargetFolder& target,
                                                   const DownloadChoice& choice) {
  std::vector<data::WantedFile> wanted;
  for (const data::WantedFile& file : version.wanted()) {
    SLIPWAY_ASSIGN(const Standing standing, standing_of(target, *file.file));
    if (standing == Standing::kOther && !choice.overwrite)
      return fail(ErrorCode::kConflict,
                  fmt::format("{}/{} is there already, with another content than {} has", choice.folder,
                              file.file->path, version.dataset()),
                  "choose another folder, or replace what differs with --overwrite");
    if (standing != Standing::kThere) wanted.push_back(file);
  }
  return wanted;
}

// Shows on a terminal how far it has got, until it is destroyed.
class ProgressLine {
 public:
  ProgressLine(Console& console, const data::FetchProgress& progress, uint64_t files, uint64_t bytes)
      : thread_([&console, &progress, files, bytes](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            console.progress(fmt::format("downloading {} of {}, {} of {}", progress.files.load(),
                                         count_of(static_cast<int64_t>(files), "file"),
                                         bytes_text(progress.bytes), bytes_text(bytes)));
            for (int i = 0; i < 10 && !stop.stop_requested(); ++i)
              std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
        }) {}

 private:
  std::jthread thread_;
};

void show(Console& console, const DownloadChoice& choice, const data::FetchableVersion& version,
          const data::FetchProgress& progress, size_t already_there) {
  if (console.json()) {
    console.print_json({{"dataset", version.dataset()},
                        {"folder", choice.folder},
                        {"files", version.files().size()},
                        {"skipped", already_there},
                        {"bytes", version.bytes()},
                        {"received", progress.fetched.load()},
                        {"changed", version.changed()}});
    return;
  }
  console.line(choice.folder);
  console.hint(fmt::format("{} of {}, {} received{}",
                           count_of(static_cast<int64_t>(version.files().size()), "file"), version.dataset(),
                           bytes_text(progress.fetched),
                           already_there == 0 ? "" : fmt::format("; {} already there", already_there)));
  if (version.changed() > 0)
    console.hint(fmt::format("{} of them are not those of the version any more", version.changed()));
}

Result<int> download(Context& context, const DownloadChoice& choice) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(FoundVersion found, find_version(session, choice.dataset));
  SLIPWAY_ASSIGN(const auto version, data::FetchableVersion::open({.dataset = found.dataset,
                                                                   .manifest = std::move(found.files),
                                                                   .sources = std::move(found.sources),
                                                                   .content = found.content,
                                                                   .verify = !choice.no_verify},
                                                                  found.server));
  SLIPWAY_ASSIGN(const data::TargetFolder target, data::TargetFolder::open(choice.folder));
  SLIPWAY_ASSIGN(const auto wanted, still_wanted(*version, target, choice));
  uint64_t bytes = 0;
  for (const data::WantedFile& file : wanted) bytes += file.file->size;
  const fs::path aside = fs::path(choice.folder) / kAside;
  SLIPWAY_ASSIGN(const auto cache, data::FileCache::open(aside, UINT64_MAX));
  data::FetchProgress progress;
  const Interruption interruption([] {});
  data::Fetcher fetcher(*cache,
                        {.dataset = found.dataset, .stopped = [&] { return interruption.happened(); }});
  Status fetched;
  {
    const ProgressLine line(context.console, progress, wanted.size(), bytes);
    fetched = fetcher.fetch_all(wanted, progress, [&](const data::WantedFile& file, int fd) -> Status {
      Status taken = target.take(cache->path_of(file.key), file.file->path);
      // Another file with the same content has taken it.
      if (!taken && taken.error().code == ErrorCode::kNotFound)
        taken = target.copy(fd, file.file->path, file.file->size);
      return taken;
    });
  }
  context.console.progress("");
  if (!fetched && interruption.happened())
    return fail(ErrorCode::kUnavailable,
                fmt::format("stopped after {} of {}", bytes_text(progress.bytes), bytes_text(bytes)),
                "the same command goes on from there");
  if (!fetched) return fail(session.explained(fetched.error()));
  std::error_code ignored;
  fs::remove_all(aside, ignored);
  show(context.console, choice, *version, progress, version->files().size() - wanted.size());
  return 0;
}

}  // namespace

void add_data_download(Command data, Context& context) {
  const auto choice = std::make_shared<DownloadChoice>();
  Command command = data.command("download", "Bring the files of a dataset's version here",
                                 "slipway data download mnist:2 ./mnist");
  command.positional("NAME[:VERSION]", choice->dataset, "the dataset; without a version the newest",
                     Completes::kDataset);
  command.positional("DIR", choice->folder, "the folder to put them in", Completes::kFolder);
  command.flag("--overwrite", choice->overwrite, "replace files that differ from the version's");
  command.flag("--no-verify", choice->no_verify, "take content that is not the version's any more as it is");
  command.action([choice, &context] { return download(context, *choice); });
}

}  // namespace slipway::cli
