#include "http/events.h"

#include "http/client.h"

namespace slipway::http {
namespace {

constexpr size_t kMaxEventBytes = 8 << 20;

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  for (const char c : value)
    if (c != '\r' && c != '\n') out += c;
  out += '\n';
}

}  // namespace

void append_event(std::string& out, const Event& event) {
  if (!event.id.empty()) append_field(out, "id: ", event.id);
  if (!event.name.empty()) append_field(out, "event: ", event.name);
  std::string_view rest = event.data;
  for (;;) {
    const size_t end = rest.find_first_of("\r\n");
    out += "data: ";
    out += rest.substr(0, end);
    out += '\n';
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + (rest.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  out += '\n';
}

Status EventParser::feed(std::string_view bytes, const std::function<void(Event)>& on_event) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);  // the second half of "\r\n"
    after_return_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + current_.data.size() > kMaxEventBytes)
      return fail(ErrorCode::kTooLarge, "an event of the stream is larger than 8 MiB");
    if (end == std::string_view::npos) break;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    take_line(on_event);
    line_.clear();
  }
  return {};
}

void EventParser::take_line(const std::function<void(Event)>& on_event) {
  if (line_.empty()) {
    if (has_data_) on_event(current_);
    // The id stays in force: an event without one is at the place of the last that had one.
    current_.name.clear();
    current_.data.clear();
    has_data_ = false;
    return;
  }
  std::string_view value;
  std::string_view field = line_;
  if (const size_t colon = field.find(':'); colon != std::string_view::npos) {
    value = field.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    field = field.substr(0, colon);
  }
  if (field == "data") {
    if (has_data_) current_.data += '\n';
    current_.data += value;
    has_data_ = true;
  } else if (field == "event") {
    current_.name = value;
  } else if (field == "id" && !value.contains('\0')) {
    current_.id = value;
  }
}

}  // namespace slipway::http
