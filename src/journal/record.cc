#include "journal/record.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "journal/crc32c.h"

namespace slipway::journal {
namespace {

constexpr size_t kChecked = 24;            // header bytes that the checksum covers
constexpr size_t kLogFixed = 1 + 8 + 2;    // channel, offset, size of the name
constexpr size_t kPointFixed = 2 + 3 * 8;  // size of the name, step, time, value
static_assert(std::endian::native == std::endian::little);

template <class T>
void append(std::string& to, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof value);
}

template <class T>
T load(std::string_view from, size_t at) {
  T value{};
  std::memcpy(&value, from.data() + at, sizeof value);
  return value;
}

std::unexpected<Error> damaged(std::string_view why) {
  return fail(ErrorCode::kInternal, fmt::format("the journal is damaged: {}", why));
}

}  // namespace

std::array<char, kHeaderSize> encode_header(Kind kind, uint64_t sequence, Timestamp time,
                                            std::string_view first, std::string_view second) {
  std::array<char, kHeaderSize> header{};
  const auto size = static_cast<uint32_t>(first.size() + second.size());
  std::memcpy(header.data(), &size, 4);
  header[4] = static_cast<char>(kind);
  std::memcpy(header.data() + 8, &sequence, 8);
  std::memcpy(header.data() + 16, &time.micros, 8);
  const uint32_t sum = crc32c(second, crc32c(first, crc32c({header.data(), kChecked})));
  std::memcpy(header.data() + kChecked, &sum, 4);
  return header;
}

std::string encode_record(Kind kind, uint64_t sequence, Timestamp time, std::string_view payload) {
  const auto header = encode_header(kind, sequence, time, payload, {});
  std::string record;
  record.reserve(kHeaderSize + payload.size());
  record.append(header.data(), header.size());
  record.append(payload);
  return record;
}

Result<std::optional<Parsed>> parse_record(std::string_view bytes) {
  if (bytes.size() < kHeaderSize) return std::optional<Parsed>();
  const auto size = load<uint32_t>(bytes, 0);
  const auto kind = load<uint8_t>(bytes, 4);
  if (size > kMaxPayload) return damaged("a record is larger than any can be");
  if (kind == 0 || bytes[5] != 0 || bytes[6] != 0 || bytes[7] != 0) return damaged("a record has no kind");
  if (bytes.size() < kHeaderSize + size) return std::optional<Parsed>();
  const std::string_view payload = bytes.substr(kHeaderSize, size);
  if (crc32c(payload, crc32c(bytes.substr(0, kChecked))) != load<uint32_t>(bytes, kChecked))
    return damaged("the checksum of a record is wrong");
  return Parsed{.record = {.kind = static_cast<Kind>(kind),
                           .sequence = load<uint64_t>(bytes, 8),
                           .time = {load<int64_t>(bytes, 16)},
                           .payload = payload},
                .size = kHeaderSize + size};
}

std::string encode_log_prefix(const LogChunk& chunk) {
  const std::string_view name = std::string_view(chunk.name).substr(0, kMaxLogName);
  std::string prefix;
  prefix.reserve(kLogFixed + name.size());
  append(prefix, static_cast<uint8_t>(chunk.channel));
  append(prefix, chunk.offset);
  append(prefix, static_cast<uint16_t>(name.size()));
  prefix += name;
  return prefix;
}

std::string encode_log(const LogChunk& chunk) {
  return encode_log_prefix(chunk).append(chunk.bytes);
}

Result<LogChunk> parse_log(std::string_view payload) {
  if (payload.size() < kLogFixed) return damaged("a log record is too short");
  const auto channel = load<uint8_t>(payload, 0);
  const auto name_size = load<uint16_t>(payload, 9);
  if (channel > static_cast<uint8_t>(Channel::kStderr)) return damaged("a log record has no such channel");
  if (name_size == 0 || name_size > kMaxLogName || payload.size() < kLogFixed + name_size)
    return damaged("a log record has no name");
  return LogChunk{.name = std::string(payload.substr(kLogFixed, name_size)),
                  .channel = static_cast<Channel>(channel),
                  .offset = load<uint64_t>(payload, 1),
                  .bytes = payload.substr(kLogFixed + name_size)};
}

std::string encode_metrics(const std::vector<MetricPoint>& points) {
  std::string payload;
  for (const MetricPoint& point : points) {
    const std::string_view name = std::string_view(point.name).substr(0, kMaxMetricName);
    append(payload, static_cast<uint16_t>(name.size()));
    payload += name;
    append(payload, point.step);
    append(payload, point.time.micros);
    append(payload, point.value);
  }
  return payload;
}

Result<std::vector<MetricPoint>> parse_metrics(std::string_view payload) {
  std::vector<MetricPoint> points;
  while (!payload.empty()) {
    if (payload.size() < kPointFixed) return damaged("a metrics record is too short");
    const auto name_size = load<uint16_t>(payload, 0);
    if (name_size == 0 || name_size > kMaxMetricName || payload.size() < kPointFixed + name_size)
      return damaged("a metric has no name");
    const size_t fixed = 2U + name_size;
    points.push_back({.name = std::string(payload.substr(2, name_size)),
                      .step = load<int64_t>(payload, fixed),
                      .time = {load<int64_t>(payload, fixed + 8)},
                      .value = load<double>(payload, fixed + 16)});
    payload.remove_prefix(kPointFixed + name_size);
  }
  return points;
}

}  // namespace slipway::journal
