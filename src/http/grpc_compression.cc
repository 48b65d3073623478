#include "http/grpc_compression.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "http/grpc.h"

namespace slipway::http {
namespace {

constexpr size_t kPiece = 32 << 10;     // measured in one go
constexpr size_t kWorthIt = 1 << 10;    // an answer below it is sent as it is
constexpr uint64_t kLongest = 1 << 30;  // within what zlib counts with
constexpr int kMemoryLevel = 8;         // zlib's own default

std::string_view to_text(GrpcEncoding encoding) {
  switch (encoding) {
    case GrpcEncoding::kDeflate: return "deflate";
    case GrpcEncoding::kGzip: return "gzip";
    case GrpcEncoding::kIdentity: break;
  }
  return "identity";
}

// zlib's way to say which form: 15 is the window, 16 more mean gzip's.
int window_of(GrpcEncoding encoding) {
  return encoding == GrpcEncoding::kGzip ? 15 + 16 : 15;
}

uint8_t* bytes_of(std::string_view text) {
  // zlib takes no const here and does not write.
  return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
}

// One stream being read.
class Inflater {
 public:
  Inflater(std::string_view compressed, GrpcEncoding encoding) {
    stream_.next_in = bytes_of(compressed);
    stream_.avail_in = static_cast<unsigned>(compressed.size());
    ready_ = ::inflateInit2(&stream_, window_of(encoding)) == Z_OK;
  }
  ~Inflater() {
    if (ready_) ::inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ready() const { return ready_; }
  // Whether the stream has ended, and with it what was sent.
  bool whole() const { return ended_ && stream_.avail_in == 0; }
  // Fills what it can of `room`; fewer bytes than that mean that no more come.
  size_t read(char* room, size_t size) {
    stream_.next_out = reinterpret_cast<uint8_t*>(room);
    stream_.avail_out = static_cast<unsigned>(size);
    ended_ = ::inflate(&stream_, Z_NO_FLUSH) == Z_STREAM_END;
    return size - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
  bool ended_ = false;
};

// Appends `message` to `out`; false when it cannot be done, or takes as many bytes as before.
bool append_deflated(std::string& out, std::string_view message, GrpcEncoding encoding) {
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_of(encoding), kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    return false;
  const size_t begun = out.size();
  stream.next_in = bytes_of(message);
  stream.avail_in = static_cast<unsigned>(message.size());
  bool done = false;
  out.resize_and_overwrite(begun + message.size(), [&](char* room, size_t size) {
    stream.next_out = reinterpret_cast<uint8_t*>(room + begun);
    stream.avail_out = static_cast<unsigned>(size - begun);
    done = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
    return size - stream.avail_out;
  });
  ::deflateEnd(&stream);
  return done;
}

std::unexpected<Error> no_memory() {
  return fail(ErrorCode::kUnavailable, "there is no memory to uncompress the message with",
              "try again in a second");
}

std::unexpected<Error> too_large(uint64_t limit) {
  return fail(
      ErrorCode::kTooLarge,
      fmt::format("the message is larger than the {} bytes this call takes, once uncompressed", limit),
      "send fewer rows at once");
}

}  // namespace

Result<GrpcEncoding> grpc_encoding(const Request& request) {
  const auto header = request.headers.find("grpc-encoding");
  if (header == request.headers.end()) return GrpcEncoding::kIdentity;
  for (const auto encoding : {GrpcEncoding::kIdentity, GrpcEncoding::kDeflate, GrpcEncoding::kGzip})
    if (header->second == to_text(encoding)) return encoding;
  return fail(ErrorCode::kUnsupported,
              fmt::format("messages compressed with '{}' are not understood", header->second),
              fmt::format("use one of: {}", kGrpcEncodings));
}

Result<std::string> grpc_inflate(std::string_view compressed, GrpcEncoding encoding, uint64_t limit) {
  if (encoding == GrpcEncoding::kIdentity)
    return fail(ErrorCode::kInvalidArgument,
                "the message is marked as compressed, and grpc-encoding does not say how",
                "name gzip or deflate there");
  limit = std::min(limit, kLongest);
  if (compressed.size() > limit) return too_large(limit);
  Inflater measuring(compressed, encoding);
  if (!measuring.ready()) return no_memory();
  std::array<char, kPiece> piece;
  size_t size = 0;
  for (size_t got = piece.size(); got == piece.size(); size += got) {
    if (size > limit) return too_large(limit);
    got = measuring.read(piece.data(), piece.size());
  }
  if (size > limit) return too_large(limit);
  if (!measuring.whole())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the message is not compressed with {}, or it is cut short", to_text(encoding)),
                "compress each message by itself, as grpc-encoding says");
  if (size < piece.size()) return std::string(piece.data(), size);
  Inflater reading(compressed, encoding);
  if (!reading.ready()) return no_memory();
  std::string message;
  message.resize_and_overwrite(size, [&](char* room, size_t count) { return reading.read(room, count); });
  return message;
}

Response grpc_compressed(Response response, GrpcEncoding encoding, const std::string& accepted) {
  auto* framed = std::get_if<std::string>(&response.body);
  if (encoding == GrpcEncoding::kIdentity || !accepted.contains(to_text(encoding)) || framed == nullptr ||
      framed->size() < kWorthIt || framed->size() > kLongest)
    return response;
  const std::string_view message = std::string_view(*framed).substr(kGrpcPrefix);
  std::string compressed = begin_grpc();
  if (!append_deflated(compressed, message, encoding)) return response;
  end_grpc(compressed, true);
  *framed = std::move(compressed);
  response.headers["grpc-encoding"] = to_text(encoding);
  return response;
}

}  // namespace slipway::http
