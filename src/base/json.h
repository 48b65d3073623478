// JSON in and out. Input is bounded in depth; a wrong or unknown field is named in the error.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"

namespace slipway {

namespace json = boost::json;

constexpr size_t kMaxJsonDepth = 32;

// Parses a whole document; `what` stands in the message: "the job".
Result<json::value> parse_json(std::string_view text, std::string_view what);
// The same, and the document must be an object.
Result<json::object> parse_json_object(std::string_view text, std::string_view what);

// Reads the fields of one object and remembers the first thing that is wrong, so that a reader is a plain
// list of fields with one check at the end:
//
//   JsonFields fields(object, "the job");
//   fields.required("command", job.command);
//   fields.optional("tags", job.tags);
//   SLIPWAY_TRY(fields.finish());        // a wrong type, a missing field, or a field nobody asked for
class JsonFields {
 public:
  JsonFields(const json::object& object, std::string_view what) : object_(object), what_(what) {}

  template <class T>
  void required(std::string_view name, T& target) {
    if (!take(name, target) && !error_) error_ = missing(name);
  }
  // Leaves `target` as it is when the field is absent or null.
  template <class T>
  void optional(std::string_view name, T& target) {
    take(name, target);
  }
  // Accepts a field without looking at it.
  void ignore(std::string_view name) { known_.insert(std::string(name)); }

  // The first error; unknown fields are errors.
  Status finish();
  // The same, but unknown fields are let pass: for messages of a newer peer.
  Status finish_lenient();

 private:
  template <class T>
  bool take(std::string_view name, T& target) {
    known_.insert(std::string(name));
    const json::value* value = object_.if_contains(name);
    if (value == nullptr || value->is_null()) return false;
    read(name, *value, target);
    return true;
  }

  void read(std::string_view name, const json::value& value, bool& target);
  void read(std::string_view name, const json::value& value, int& target);
  void read(std::string_view name, const json::value& value, int64_t& target);
  void read(std::string_view name, const json::value& value, uint64_t& target);
  void read(std::string_view name, const json::value& value, double& target);
  void read(std::string_view name, const json::value& value, std::string& target);
  void read(std::string_view name, const json::value& value, Timestamp& target);
  void read(std::string_view name, const json::value& value, json::object& target);
  void read(std::string_view name, const json::value& value, json::array& target);
  void read(std::string_view name, const json::value& value, std::vector<std::string>& target);
  void read(std::string_view name, const json::value& value, std::map<std::string, std::string>& target);
  template <class Tag>
  void read(std::string_view name, const json::value& value, Id<Tag>& target) {
    std::string text;
    read(name, value, text);
    target = Id<Tag>(std::move(text));
  }
  template <class T>
  void read(std::string_view name, const json::value& value, std::optional<T>& target) {
    T inner{};
    read(name, value, inner);
    target = std::move(inner);
  }

  void wrong(std::string_view name, std::string_view expected);
  Error missing(std::string_view name) const;

  const json::object& object_;
  std::string what_;
  std::set<std::string> known_;
  std::optional<Error> error_;
};

json::object to_json(const std::map<std::string, std::string>& map);
json::array to_json(const std::vector<std::string>& list);
// A whole number as 4, not as 4E0.
json::value json_number(double number);

// {"error": {"code", "message", "next"}}: the body of every failed request, and of `--json` on failure.
json::object to_json(const Error& error);
// Reads such a body back; an unreadable one becomes an error for the status itself.
Error error_from_json(std::string_view body, int http_status);

}  // namespace slipway
