#include "data/manifest_text.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

#include "base/json_text.h"

namespace slipway::data {
namespace {

// Takes the text apart from left to right. Once something is not as expected, everything fails.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  bool take_number(uint64_t& number) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }

  // A string with the escapes that append_string writes, and no others.
  bool take_string(std::string& value) {
    if (!take("\"")) return false;
    value.clear();
    while (true) {
      const size_t stop = rest_.find_first_of("\"\\\n");
      if (stop == std::string_view::npos || rest_[stop] == '\n') return false;
      value += rest_.substr(0, stop);
      const bool ended = rest_[stop] == '"';
      rest_.remove_prefix(stop + 1);
      if (ended) return true;
      if (!take_escaped(value)) return false;
    }
  }

 private:
  bool take_escaped(std::string& value) {
    if (rest_.starts_with('"') || rest_.starts_with('\\')) {
      value += rest_.front();
      rest_.remove_prefix(1);
      return true;
    }
    unsigned code = 0;
    if (!take("u00") || rest_.size() < 2) return false;
    const std::string_view digits = rest_.substr(0, 2);
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), code, 16);
    if (error != std::errc() || end != digits.end()) return false;
    value += static_cast<char>(code);
    rest_.remove_prefix(2);
    return true;
  }

  std::string_view rest_;
};

bool read_source(Scanner& scanner, Source& source) {
  std::string kind;
  if (!scanner.take(R"({"kind":)") || !scanner.take_string(kind)) return false;
  const auto known = source_kind_from_text(kind);
  if (!known) return false;
  source.kind = *known;
  if (scanner.take(R"(,"datastore":)") && !scanner.take_string(source.datastore)) return false;
  if (scanner.take(R"(,"location":)") && !scanner.take_string(source.location)) return false;
  return scanner.take("}");
}

bool read_header(Scanner& scanner, ManifestParts& parts) {
  if (!scanner.take(R"({"version":1,"sources":[)")) return false;
  while (!scanner.take("]")) {
    if (!parts.sources.empty() && !scanner.take(",")) return false;
    if (parts.sources.size() == kMaxSources || !read_source(scanner, parts.sources.emplace_back()))
      return false;
  }
  return scanner.take(R"(,"files":)") && scanner.take_number(parts.file_count) &&
         scanner.take(R"(,"bytes":)") && scanner.take_number(parts.bytes) && scanner.take("}\n");
}

bool read_file_line(Scanner& scanner, File& file, std::string& scratch) {
  if (!scanner.take(R"({"path":)") || !scanner.take_string(file.path)) return false;
  if (!scanner.take(R"(,"size":)") || !scanner.take_number(file.size)) return false;
  if (scanner.take(R"(,"digest":)")) {
    if (!scanner.take_string(scratch)) return false;
    const auto digest = Digest::parse(scratch);
    if (!digest) return false;
    file.digest = *digest;
  }
  if (scanner.take(R"(,"tag":)") && !scanner.take_string(file.tag)) return false;
  uint64_t source = 0;
  if (!scanner.take(R"(,"source":)") || !scanner.take_number(source) || source >= kMaxSources) return false;
  file.source = static_cast<uint32_t>(source);
  if (!scanner.take(R"(,"key":)")) {
    file.key = file.path;
  } else if (!scanner.take_string(file.key)) {
    return false;
  }
  return scanner.take("}\n");
}

}  // namespace

Result<ManifestParts> read_manifest_text(std::string_view text) {
  ManifestParts parts;
  Scanner scanner(text);
  if (!read_header(scanner, parts))
    return fail(ErrorCode::kInvalidArgument, "the manifest does not begin with the header of version 1");
  if (parts.file_count > kMaxFiles)
    return fail(ErrorCode::kTooLarge, fmt::format("the manifest names more than {} files", kMaxFiles));
  // The header is not trusted with memory: a line has more than 40 bytes.
  parts.files.reserve(std::min<size_t>(parts.file_count, text.size() / 40));
  std::string scratch;
  while (!scanner.at_end()) {
    if (parts.files.size() == parts.file_count ||
        !read_file_line(scanner, parts.files.emplace_back(), scratch))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("line {} of the manifest does not describe a file", parts.files.size() + 1));
  }
  return parts;
}

std::string write_manifest_text(const std::vector<Source>& sources, const std::vector<File>& files,
                                uint64_t bytes) {
  std::string text = R"({"version":1,"sources":[)";
  text.reserve(files.size() * 160 + 256);
  for (const Source& source : sources) {
    text += &source == sources.data() ? R"({"kind":")" : R"(,{"kind":")";
    text += to_text(source.kind);
    text += '"';
    if (!source.datastore.empty()) append_json_string(text += R"(,"datastore":)", source.datastore);
    if (!source.location.empty()) append_json_string(text += R"(,"location":)", source.location);
    text += '}';
  }
  fmt::format_to(std::back_inserter(text), "],\"files\":{},\"bytes\":{}}}\n", files.size(), bytes);
  for (const File& file : files) {
    append_json_string(text += R"({"path":)", file.path);
    fmt::format_to(std::back_inserter(text), R"(,"size":{})", file.size);
    if (file.digest) append_json_string(text += R"(,"digest":)", file.digest->hex());
    if (!file.tag.empty()) append_json_string(text += R"(,"tag":)", file.tag);
    fmt::format_to(std::back_inserter(text), R"(,"source":{})", file.source);
    if (file.key != file.path) append_json_string(text += R"(,"key":)", file.key);
    text += "}\n";
  }
  return text;
}

}  // namespace slipway::data
