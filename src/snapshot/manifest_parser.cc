#include "snapshot/manifest_parser.h"

#include <fmt/format.h>

#include <boost/json/basic_parser_impl.hpp>
#include <optional>
#include <string>

#include "base/json.h"

namespace slipway::snapshot {
namespace {

using ErrorOut = boost::system::error_code;

enum Field : unsigned {
  kNone = 0,
  kVersion = 1,
  kFiles = 2,
  kPath = 4,
  kMode = 8,
  kSize = 16,
  kDigest = 32,
};
constexpr unsigned kAllOfTop = kVersion | kFiles;
constexpr unsigned kAllOfEntry = kPath | kMode | kSize | kDigest;

// What Boost's parser calls, piece by piece; false ends it with error() set.
class Handler {
 public:
  static constexpr size_t max_object_size = 16;
  static constexpr size_t max_array_size = kMaxEntries;
  static constexpr size_t max_key_size = 64;
  static constexpr size_t max_string_size = 4096;

  std::vector<Entry>& entries() { return entries_; }
  const std::optional<Error>& error() const { return error_; }

  bool on_document_begin(ErrorOut&) { return true; }
  bool on_document_end(ErrorOut&) { return true; }

  bool on_object_begin(ErrorOut& out) {
    if (place_ == Place::kDocument) {
      place_ = Place::kTop;
      return true;
    }
    if (place_ != Place::kList) return wrong_type(out);
    place_ = Place::kEntry;
    seen_in_entry_ = 0;
    entries_.emplace_back();
    return true;
  }

  bool on_object_end(size_t, ErrorOut& out) {
    if (place_ == Place::kEntry) {
      place_ = Place::kList;
      return seen_in_entry_ == kAllOfEntry ||
             refuse(out, ErrorCode::kInvalidArgument,
                    "a file of the manifest lacks one of its fields path, mode, size and digest");
    }
    place_ = Place::kDocument;
    return seen_at_top_ == kAllOfTop ||
           refuse(out, ErrorCode::kInvalidArgument, "the manifest lacks its version or its list of files");
  }

  bool on_array_begin(ErrorOut& out) {
    if (place_ != Place::kTop || field_ != kFiles) return wrong_type(out);
    place_ = Place::kList;
    return true;
  }
  bool on_array_end(size_t, ErrorOut&) {
    place_ = Place::kTop;
    return true;
  }

  bool on_key_part(boost::json::string_view part, size_t, ErrorOut&) {
    text_ += part;
    return true;
  }
  bool on_key(boost::json::string_view part, size_t, ErrorOut& out) {
    text_ += part;
    field_ = field_of(text_);
    unsigned& seen = place_ == Place::kTop ? seen_at_top_ : seen_in_entry_;
    const bool good = field_ != kNone && (seen & field_) == 0;
    seen |= field_;
    if (!good)
      return refuse(
          out, ErrorCode::kInvalidArgument,
          fmt::format("the manifest has a field '{}' that is unknown or stands there twice", text_));
    text_.clear();
    return true;
  }

  bool on_string_part(boost::json::string_view part, size_t, ErrorOut&) {
    text_ += part;
    return true;
  }
  bool on_string(boost::json::string_view part, size_t, ErrorOut& out) {
    text_ += part;
    if (place_ != Place::kEntry || (field_ != kPath && field_ != kDigest)) return wrong_type(out);
    if (field_ == kPath) {
      entries_.back().path = text_;
    } else if (const auto digest = Digest::parse(text_)) {
      entries_.back().digest = *digest;
    } else {
      return refuse(out, digest.error().code, digest.error().message);
    }
    text_.clear();
    return true;
  }

  bool on_number_part(boost::json::string_view, ErrorOut&) { return true; }
  bool on_int64(int64_t number, boost::json::string_view, ErrorOut& out) {
    return number < 0 ? wrong_type(out) : on_number(static_cast<uint64_t>(number), out);
  }
  bool on_uint64(uint64_t number, boost::json::string_view, ErrorOut& out) { return on_number(number, out); }
  bool on_double(double, boost::json::string_view, ErrorOut& out) { return wrong_type(out); }
  bool on_bool(bool, ErrorOut& out) { return wrong_type(out); }
  bool on_null(ErrorOut& out) { return wrong_type(out); }
  bool on_comment_part(boost::json::string_view, ErrorOut&) { return true; }
  bool on_comment(boost::json::string_view, ErrorOut&) { return true; }

 private:
  enum class Place { kDocument, kTop, kList, kEntry };

  Field field_of(std::string_view name) const {
    if (place_ == Place::kTop) return name == "version" ? kVersion : name == "files" ? kFiles : kNone;
    if (name == "path") return kPath;
    if (name == "mode") return kMode;
    if (name == "size") return kSize;
    return name == "digest" ? kDigest : kNone;
  }

  bool on_number(uint64_t number, ErrorOut& out) {
    if (place_ == Place::kTop && field_ == kVersion)
      return number == 1 || refuse(out, ErrorCode::kInvalidArgument,
                                   fmt::format("the manifest has version {}; this program knows 1", number));
    if (place_ != Place::kEntry) return wrong_type(out);
    if (field_ == kSize) {
      entries_.back().size = number;
    } else if (field_ == kMode && number <= 07777) {
      entries_.back().mode = static_cast<int>(number);
    } else {
      return wrong_type(out);
    }
    return true;
  }

  bool wrong_type(ErrorOut& out) {
    return refuse(
        out, ErrorCode::kInvalidArgument,
        "the manifest must be an object of a version and a list of files with path, mode, size and digest");
  }
  bool refuse(ErrorOut& out, ErrorCode code, std::string message) {
    error_ = Error{.code = code, .message = std::move(message), .next = "", .detail = ""};
    out = boost::json::make_error_code(boost::json::error::exception);
    return false;
  }

  Place place_ = Place::kDocument;
  Field field_ = kNone;
  unsigned seen_at_top_ = 0;
  unsigned seen_in_entry_ = 0;
  std::string text_;  // of a key or a string that comes in parts
  std::vector<Entry> entries_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<Entry>> parse_manifest_entries(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  boost::json::basic_parser<Handler> parser(options);
  ErrorOut error;
  const size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (parser.handler().error()) return fail(*parser.handler().error());
  if (error == boost::json::error::array_too_large)
    return fail(ErrorCode::kTooLarge, fmt::format("the manifest names more than {} files", kMaxEntries));
  if (!error && read < text.size()) error = boost::json::make_error_code(boost::json::error::extra_data);
  if (error)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the manifest is not valid JSON: {}", error.message()));
  return std::move(parser.handler().entries());
}

}  // namespace slipway::snapshot
