// Builds a document as Boost.JSON does, but for numbers with a fraction: its own parser (before 1.85) may be
// off by one in the last place, and a metric is to come out as it went in.
#include "base/json_document.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>

namespace slipway {
namespace {

using boost::json::string_view;
using boost::system::error_code;

struct Builder {
  explicit Builder(boost::json::storage_ptr storage) : storage(storage), stack(std::move(storage)) {}

  static constexpr size_t max_object_size = boost::json::object::max_size();
  static constexpr size_t max_array_size = boost::json::array::max_size();
  static constexpr size_t max_key_size = boost::json::string::max_size();
  static constexpr size_t max_string_size = boost::json::string::max_size();

  bool on_document_begin(error_code&) {
    stack.reset(storage);
    return true;
  }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(size_t size, error_code&) {
    stack.push_object(size);
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(size_t size, error_code&) {
    stack.push_array(size);
    return true;
  }
  bool on_key_part(string_view part, size_t, error_code&) {
    stack.push_chars(part);
    return true;
  }
  bool on_key(string_view part, size_t, error_code&) {
    stack.push_key(part);
    return true;
  }
  bool on_string_part(string_view part, size_t, error_code&) {
    stack.push_chars(part);
    return true;
  }
  bool on_string(string_view part, size_t, error_code&) {
    stack.push_string(part);
    return true;
  }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(int64_t number, string_view, error_code&) {
    stack.push_int64(number);
    return true;
  }
  bool on_uint64(uint64_t number, string_view, error_code&) {
    stack.push_uint64(number);
    return true;
  }
  // `text` is the whole number: the document is given in one piece. Beyond the range of a double, `rounded`
  // is an infinity or a zero already.
  bool on_double(double rounded, string_view text, error_code&) {
    double exact = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
    stack.push_double(error == std::errc{} && end == text.data() + text.size() ? exact : rounded);
    return true;
  }
  bool on_bool(bool value, error_code&) {
    stack.push_bool(value);
    return true;
  }
  bool on_null(error_code&) {
    stack.push_null();
    return true;
  }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

  boost::json::storage_ptr storage;
  boost::json::value_stack stack;
};

}  // namespace

boost::json::value parse_document(std::string_view text, size_t max_depth, error_code& error,
                                  boost::json::storage_ptr storage) {
  boost::json::parse_options options;
  options.max_depth = max_depth;
  boost::json::basic_parser<Builder> parser(options, std::move(storage));
  const size_t taken = parser.write_some(false, text.data(), text.size(), error);
  if (!error && taken < text.size()) error = boost::json::error::extra_data;
  if (error) return {};
  return parser.handler().stack.release();
}

}  // namespace slipway
