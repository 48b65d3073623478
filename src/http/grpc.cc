#include "http/grpc.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "http/grpc_compression.h"

namespace slipway::http {
namespace {

constexpr std::string_view kContentType = "application/grpc";

// gRPC's status codes.
int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return 3;
    case ErrorCode::kTimeout: return 4;
    case ErrorCode::kNotFound: return 5;
    case ErrorCode::kPermissionDenied: return 7;
    case ErrorCode::kTooLarge:
    case ErrorCode::kExhausted:
    case ErrorCode::kStorageFull: return 8;
    case ErrorCode::kConflict:
    case ErrorCode::kStale: return 10;
    case ErrorCode::kUnsupported: return 12;
    case ErrorCode::kUnavailable:
    case ErrorCode::kUnreachable: return 14;
    case ErrorCode::kUnauthenticated: return 16;
    case ErrorCode::kRunFailed:
    case ErrorCode::kInternal: break;
  }
  return 13;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

bool is_grpc(const Request& request) {
  const auto type = request.headers.find("content-type");
  return type != request.headers.end() && type->second.starts_with(kContentType);
}

Result<std::string_view> grpc_message(const Request& request, uint64_t limit, std::string& room) {
  const std::string_view body = request.body;
  uint64_t length = 0;
  for (size_t i = 1; i < kGrpcPrefix && i < body.size(); ++i)
    length = length << 8 | static_cast<unsigned char>(body[i]);
  if (body.size() < kGrpcPrefix || length != body.size() - kGrpcPrefix)
    return fail(ErrorCode::kInvalidArgument, "the call does not consist of exactly one message",
                "send one message, behind its length");
  const std::string_view message = body.substr(kGrpcPrefix);
  if (body.front() == 0) return message;
  SLIPWAY_ASSIGN(const GrpcEncoding encoding, grpc_encoding(request));
  SLIPWAY_ASSIGN(room, grpc_inflate(message, encoding, limit));
  return room;
}

bool is_compressed_grpc(const Request& request) {
  return request.body.size() >= kGrpcPrefix && request.body.front() != 0 && is_grpc(request);
}

std::string begin_grpc() {
  std::string framed(kGrpcPrefix, '\0');
  return framed;
}

void end_grpc(std::string& framed, bool compressed) {
  const size_t length = framed.size() - kGrpcPrefix;
  framed[0] = compressed ? 1 : 0;
  for (size_t i = 1; i < kGrpcPrefix; ++i)
    framed[i] = static_cast<char>(length >> (8 * (kGrpcPrefix - 1 - i)) & 0xff);
}

Response grpc_response(std::string framed) {
  end_grpc(framed, false);
  Response response;
  response.content_type = kContentType;
  response.headers["grpc-status"] = "0";
  response.body = std::move(framed);
  return response;
}

Response grpc_refusal(const Error& error) {
  Response response;
  response.content_type = kContentType;
  response.headers["grpc-status"] = std::to_string(status_of(error.code));
  // It may be the encoding that is not supported.
  if (error.code == ErrorCode::kUnsupported) response.headers["grpc-accept-encoding"] = kGrpcEncodings;
  response.headers["grpc-message"] =
      escaped(error.next.empty() ? error.message : fmt::format("{}; {}", error.message, error.next));
  return response;
}

Response as_grpc(Response response) {
  if (response.status < 400 || response.headers.contains("grpc-status")) return response;
  Error error{.code = error_code_from_status(response.status),
              .message = fmt::format("the status {}", response.status),
              .next = "",
              .detail = ""};
  const auto* body = std::get_if<std::string>(&response.body);
  const auto parsed = parse_json_object(body == nullptr ? "" : *body, "the answer");
  if (!parsed) return grpc_refusal(error);
  const json::value* said = parsed->if_contains("message");
  if (said == nullptr) said = parsed->if_contains("error");
  if (said != nullptr && said->is_object()) said = said->as_object().if_contains("message");
  if (said != nullptr && said->is_string()) error.message = said->as_string();
  return grpc_refusal(error);
}

std::optional<std::chrono::milliseconds> grpc_timeout(const Request& request) {
  const auto header = request.headers.find("grpc-timeout");
  if (header == request.headers.end() || header->second.empty() || header->second.size() > 9)
    return std::nullopt;
  const std::string& text = header->second;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, value);
  if (error != std::errc() || end != text.data() + text.size() - 1 || value < 0) return std::nullopt;
  using std::chrono::milliseconds;
  switch (text.back()) {
    case 'H': return std::chrono::hours(value);
    case 'M': return std::chrono::minutes(value);
    case 'S': return std::chrono::seconds(value);
    case 'm': return milliseconds(value);
    case 'u': return std::chrono::ceil<milliseconds>(std::chrono::microseconds(value));
    case 'n': return std::chrono::ceil<milliseconds>(std::chrono::nanoseconds(value));
    default: return std::nullopt;
  }
}

}  // namespace slipway::http
