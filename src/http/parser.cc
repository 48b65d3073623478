#include "http/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace slipway::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

struct Sink {
  std::string* target = nullptr;
  size_t limit = 0;

  size_t take(std::string_view bytes) const {
    if (target == nullptr || target->size() >= limit) return 0;
    const size_t count = std::min(bytes.size(), limit - target->size());
    target->append(bytes.substr(0, count));
    return count;
  }
};

// Beast's parser with its callbacks writing straight into a Head: no container of fields in between.
template <bool is_request>
class Parser final : public beast::http::basic_parser<is_request> {
 public:
  Parser(Head& head, Sink& sink, size_t header_limit) : head_(head), sink_(sink) {
    this->header_limit(static_cast<uint32_t>(header_limit));
    this->body_limit(boost::none);  // the session knows the route's limit
    this->eager(false);
  }

  bool skips_fields = false;

 private:
  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target, int version,
                       error_code&) override {
    head_.method = std::string(method);
    head_.target = std::string(target);
    head_.version = version;
  }
  void on_response_impl(int status, beast::string_view, int version, error_code&) override {
    head_.status = status;
    head_.version = version;
  }
  void on_field_impl(beast::http::field field, beast::string_view name, beast::string_view value,
                     error_code& ec) override {
    if (skips_fields && field != beast::http::field::connection &&
        field != beast::http::field::transfer_encoding)
      return;
    auto [place, fresh] = head_.headers.try_emplace(lower_case(name), std::string(value));
    if (fresh) return;
    // A second one of these would let two readers of the request disagree.
    if (place->first == "host" || place->first == "authorization" || place->first == "transfer-encoding")
      ec = beast::http::error::bad_field;
    place->second += ", ";
    place->second += std::string_view(value);
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
  size_t on_body_impl(beast::string_view bytes, error_code&) override { return sink_.take(bytes); }
  void on_chunk_header_impl(uint64_t, beast::string_view, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, beast::string_view bytes, error_code&) override {
    return sink_.take(bytes);
  }
  void on_finish_impl(error_code&) override {}

  Head& head_;
  Sink& sink_;
};

Error parse_error(const error_code& ec) {
  using beast::http::error;
  if (ec == error::header_limit || ec == error::buffer_overflow)
    return {ErrorCode::kTooLarge, "the header of the message is too large",
            "send fewer or shorter header fields", ""};
  return {ErrorCode::kInvalidArgument, fmt::format("the message is not valid HTTP: {}", ec.message()),
          "check the client, and whether this is the right port", ""};
}

}  // namespace

class MessageParser::Impl {
 public:
  Impl(Kind wanted, Head& head, size_t header_limit) : kind(wanted), header_limit_(header_limit) {
    if (kind == Kind::kRequest) {
      request_ = std::make_unique<Parser<true>>(head, sink_, header_limit);
      return;
    }
    response_ = std::make_unique<Parser<false>>(head, sink_, header_limit);
    if (kind == Kind::kHeadResponse) response_->skip(true);
  }

  template <class Call>
  auto with(Call call) {
    return request_ ? call(*request_) : call(*response_);
  }

  const Kind kind;
  Sink sink_;
  size_t header_limit_;
  std::unique_ptr<Parser<true>> request_;
  std::unique_ptr<Parser<false>> response_;
};

MessageParser::MessageParser(Kind kind, size_t header_limit)
    : head_(std::make_unique<Head>()), impl_(std::make_unique<Impl>(kind, *head_, header_limit)) {}
MessageParser::~MessageParser() = default;
MessageParser::MessageParser(MessageParser&&) noexcept = default;
MessageParser& MessageParser::operator=(MessageParser&&) noexcept = default;

Result<size_t> MessageParser::put(std::string_view input) {
  const bool had_head = head_done();
  error_code ec;
  const size_t consumed = impl_->with(
      [&](auto& parser) { return parser.put(boost::asio::const_buffer(input.data(), input.size()), ec); });
  if (ec == beast::http::error::need_more) {
    if (had_head && consumed == 0 && input.size() > impl_->header_limit_)
      return fail(parse_error(beast::http::error::header_limit));
    ec = {};
  }
  if (ec) return fail(parse_error(ec));
  if (!had_head && head_done()) {
    impl_->with([&](auto& parser) {
      head_->keep_alive = parser.keep_alive();
      head_->chunked = parser.chunked();
      head_->until_eof = parser.need_eof() && !parser.is_done();
      if (const auto length = parser.content_length()) head_->length = *length;
    });
  }
  return consumed;
}

Status MessageParser::put_end() {
  error_code ec = beast::http::error::partial_message;
  if (head_done()) impl_->with([&](auto& parser) { parser.put_eof(ec); });
  if (ec) return fail(parse_error(ec));
  return {};
}

MessageParser::Kind MessageParser::kind() const {
  return impl_->kind;
}
bool MessageParser::head_done() const {
  return impl_->with([](auto& parser) { return parser.is_header_done(); });
}
bool MessageParser::done() const {
  return impl_->with([](auto& parser) { return parser.is_done(); });
}
void MessageParser::skip_fields() {
  impl_->with([](auto& parser) { parser.skips_fields = true; });
}
void MessageParser::collect(std::string* sink, size_t limit) {
  impl_->sink_ = {sink, limit};
}

}  // namespace slipway::http
