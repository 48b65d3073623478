#include "environments/requirements.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "environments/line_text.h"
#include "environments/requirement.h"

namespace slipway::environments {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 8;
constexpr size_t kMaxLines = 2000;
constexpr size_t kMaxFile = 1 << 20;

// "-rbase.txt", "-r base.txt" and "--requirement=base.txt" name a value; nullopt: another line.
std::optional<std::string> value_of(std::string_view line, std::string_view short_name,
                                    std::string_view long_name) {
  if (line.starts_with(long_name)) {
    const std::string_view rest = line.substr(long_name.size());
    if (rest.starts_with('=') || rest.starts_with(' ') || rest.starts_with('\t'))
      return std::string(trimmed(rest.substr(1)));
    return rest.empty() ? std::optional<std::string>("") : std::nullopt;
  }
  if (line.starts_with(short_name) && !line.starts_with("--"))
    return std::string(trimmed(line.substr(short_name.size())));
  return std::nullopt;
}

// A '#' begins a comment at the start of a line or behind a blank.
std::string_view without_comment(std::string_view line) {
  for (size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1))
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  return line;
}

class Reader {
 public:
  explicit Reader(const ReadIncluded& include) : include_(include) {}

  Status read_file(std::string_view text, const std::string& name, int depth) {
    std::string joined;
    size_t number = 0;
    size_t first = 1;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      std::string_view line = trimmed(without_comment(text.substr(0, end)));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++number;
      if (joined.empty()) first = number;
      if (line.ends_with('\\') && !text.empty()) {
        joined += std::string(trimmed(line.substr(0, line.size() - 1))) + " ";
        continue;
      }
      joined += line;
      SLIPWAY_TRY(take(trimmed(joined), name, fmt::format("{}:{}", shown(name), first), depth));
      joined.clear();
    }
    return {};
  }

  Status take(std::string_view line, const std::string& file, const std::string& place, int depth) {
    if (line.empty()) return {};
    if (lines_.size() >= kMaxLines)
      return refuse(place, fmt::format("an environment has at most {} requirements", kMaxLines), "");
    for (const char c : line)
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t')
        return refuse(place, "the line holds a control character", "");
    if (line.find("${") != std::string_view::npos)
      return refuse(place, "variables are not expanded here", "write the value in its place");
    if (const auto included = value_of(line, "-r", "--requirement"))
      return read_included(*included, file, place, depth);
    if (value_of(line, "-c", "--constraint"))
      return refuse(place, "a constraints file is not read here", "write its versions into the requirements");
    if (const auto editable = value_of(line, "-e", "--editable")) return take_editable(*editable, place);
    const Result<std::string> read = is_resolver_option(line) ? parse_resolver_option(line) : canonical(line);
    if (!read) return refuse(place, read.error().message, read.error().next);
    lines_.push_back(*read);
    return {};
  }

  std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  static Status refuse(const std::string& place, const std::string& message, std::string next) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", place, message), std::move(next));
  }

  static Result<std::string> canonical(std::string_view line) {
    SLIPWAY_ASSIGN(const Requirement requirement, parse_requirement(line));
    return to_text(requirement);
  }

  Status read_included(const std::string& path, const std::string& file, const std::string& place,
                       int depth) {
    const std::string joined = (fs::path(file).parent_path() / path).lexically_normal().string();
    if (path.starts_with('/') || !is_clean_relative_path(joined))
      return refuse(place, fmt::format("'{}' lies outside the folder of the requirements", shown(path)),
                    "copy that file into the folder, or write its lines here");
    if (depth >= kMaxDepth)
      return refuse(place, "requirements files include each other too deeply",
                    "one of them probably includes itself");
    const Result<std::string> text = include_(joined);
    if (!text) return refuse(place, text.error().message, text.error().next);
    return read_file(*text, joined, depth + 1);
  }

  // "-e git+https://host/x#egg=name" is a package like any other; "-e ." is not.
  Status take_editable(const std::string& target, const std::string& place) {
    const size_t egg = target.find("#egg=");
    const Result<std::string> read =
        egg == std::string::npos
            ? canonical(target)
            : canonical(fmt::format("{} @ {}", target.substr(egg + 5), target.substr(0, egg)));
    if (!read) return refuse(place, read.error().message, read.error().next);
    lines_.push_back(*read);
    return {};
  }

  const ReadIncluded& include_;
  std::vector<std::string> lines_;
};

}  // namespace

Result<std::string> nothing_to_include(const std::string& path) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' did not come along with this text", shown(path)),
              "write its lines here");
}

ReadIncluded includes_below(fs::path folder) {
  return [folder = std::move(folder)](const std::string& path) -> Result<std::string> {
    const UniqueFd root(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return fail(errno_error(errno, fmt::format("open {}", folder.string())));
    const Result<UniqueFd> file = open_beneath(root.get(), path, O_RDONLY | O_CLOEXEC);
    if (!file)
      return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' cannot be read", shown(path)),
                  "name a file of the same folder");
    std::string text(kMaxFile + 1, '\0');
    size_t size = 0;
    while (size < text.size()) {
      const ssize_t count = ::read(file->get(), text.data() + size, text.size() - size);
      if (count < 0) return fail(errno_error(errno, fmt::format("read {}", shown(path))));
      if (count == 0) break;
      size += static_cast<size_t>(count);
    }
    if (size > kMaxFile)
      return fail(ErrorCode::kTooLarge, fmt::format("'{}' is larger than 1 MiB", shown(path)));
    text.resize(size);
    return text;
  };
}

Result<std::vector<std::string>> read_requirements(std::string_view text, const std::string& file_name,
                                                   const ReadIncluded& include) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Reader reader(include);
  SLIPWAY_TRY(reader.read_file(text, file_name, 0));
  return std::move(reader).lines();
}

Result<std::vector<std::string>> read_requirement_line(std::string_view line, const std::string& file_name,
                                                       const ReadIncluded& include) {
  Reader reader(include);
  SLIPWAY_TRY(reader.take(trimmed(without_comment(line)), file_name, shown(file_name), 0));
  return std::move(reader).lines();
}

}  // namespace slipway::environments
