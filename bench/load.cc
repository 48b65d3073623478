// Puts load on a running server and prints what it measured as one line of JSON. The work of bench/run that
// Python would be too slow for.
//
//   slipway_load submit URL CLIENTS COUNT JOB_JSON   COUNT submissions, each with a key of its own
//   slipway_load get URL COUNT TARGET                COUNT requests one after the other
//   slipway_load put URL TARGET FILE                 one upload
//   slipway_load fetch URL TARGET                    one download, thrown away
// The token is read from SLIPWAY_TOKEN.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/file.h"
#include "http/client.h"

namespace slipway::bench {
namespace {

using Seconds = std::chrono::duration<double>;
using Ticks = std::chrono::steady_clock;

http::Client connect(const std::string& url) {
  const char* token = std::getenv("SLIPWAY_TOKEN");
  return http::Client({.url = url, .token = Secret(token == nullptr ? "" : token), .ca_file = ""});
}

double milliseconds_at(std::vector<double>& seconds, double share) {
  std::ranges::sort(seconds);
  return seconds.empty()
             ? 0
             : seconds[static_cast<size_t>(share * static_cast<double>(seconds.size() - 1))] * 1e3;
}

void print_times(size_t count, double total, std::vector<double>& each, size_t failed) {
  fmt::print(
      "{{\"count\": {}, \"failed\": {}, \"seconds\": {:.6f}, \"per_second\": {:.1f}, \"p50_ms\": {:.3f}, "
      "\"p99_ms\": {:.3f}}}\n",
      count, failed, total, static_cast<double>(count) / total, milliseconds_at(each, 0.5),
      milliseconds_at(each, 0.99));
}

int submit(const std::string& url, size_t clients, size_t count, const std::string& job) {
  std::atomic<size_t> next = 0;
  std::atomic<size_t> failed = 0;
  std::vector<std::vector<double>> times(clients);
  std::vector<std::thread> threads;
  const auto start = Ticks::now();
  for (size_t client = 0; client < clients; ++client) {
    threads.emplace_back([&, client] {
      http::Client connection = connect(url);
      for (size_t number = next++; number < count; number = next++) {
        const auto sent = Ticks::now();
        http::Call call{.method = http::Method::kPost,
                        .target = "/api/v1/workspaces/default/runs",
                        .headers = {{"Idempotency-Key",
                                     fmt::format("load-{}-{}", start.time_since_epoch().count(), number)}},
                        .body = job};
        if (const auto answer = connection.send(std::move(call)); !answer || answer->status != 201) {
          if (failed++ == 0) fmt::print(stderr, "{}\n", answer ? answer->body : answer.error().message);
        }
        times[client].push_back(Seconds(Ticks::now() - sent).count());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double total = Seconds(Ticks::now() - start).count();
  std::vector<double> each;
  for (const auto& part : times) each.insert(each.end(), part.begin(), part.end());
  print_times(count, total, each, failed);
  return failed == 0 ? 0 : 1;
}

int get(const std::string& url, size_t count, const std::string& target) {
  http::Client connection = connect(url);
  std::vector<double> each;
  size_t failed = 0;
  const auto start = Ticks::now();
  for (size_t number = 0; number < count; ++number) {
    const auto sent = Ticks::now();
    const auto answer = connection.send({.target = target});
    failed += !answer || answer->status != 200 ? 1 : 0;
    each.push_back(Seconds(Ticks::now() - sent).count());
  }
  print_times(count, Seconds(Ticks::now() - start).count(), each, failed);
  return failed == 0 ? 0 : 1;
}

void print_transfer(uint64_t bytes, Ticks::time_point start) {
  const double total = Seconds(Ticks::now() - start).count();
  fmt::print("{{\"bytes\": {}, \"seconds\": {:.6f}, \"mb_per_second\": {:.1f}}}\n", bytes, total,
             static_cast<double>(bytes) / 1e6 / total);
}

int explain(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
  return 1;
}

int put(const std::string& url, const std::string& target, const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return explain("cannot open " + file);
  const auto size = static_cast<uint64_t>(::lseek(fd.get(), 0, SEEK_END));
  ::lseek(fd.get(), 0, SEEK_SET);
  std::string buffer(1 << 20, '\0');
  http::Client connection = connect(url);
  const auto start = Ticks::now();
  const auto answer = connection.call({.method = http::Method::kPut,
                                       .target = target,
                                       .content_type = "application/octet-stream",
                                       .source = [&]() -> Result<std::string_view> {
                                         const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
                                         return std::string_view(
                                             buffer.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
                                       },
                                       .source_length = size});
  if (!answer) return explain(answer.error().message);
  print_transfer(size, start);
  return 0;
}

int fetch(const std::string& url, const std::string& target) {
  http::Client connection = connect(url);
  uint64_t bytes = 0;
  const auto start = Ticks::now();
  const auto answer = connection.call({.target = target, .sink = [&](std::string_view piece) -> Status {
                                         bytes += piece.size();
                                         return {};
                                       }});
  if (!answer) return explain(answer.error().message);
  print_transfer(bytes, start);
  return 0;
}

size_t number(std::string_view text) {
  size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int run(std::span<char*> words) {
  const std::string what = words.size() > 2 ? words[1] : "";
  if (what == "submit" && words.size() == 6)
    return submit(words[2], number(words[3]), number(words[4]), words[5]);
  if (what == "get" && words.size() == 5) return get(words[2], number(words[3]), words[4]);
  if (what == "put" && words.size() == 5) return put(words[2], words[3], words[4]);
  if (what == "fetch" && words.size() == 4) return fetch(words[2], words[3]);
  return explain("see the first lines of bench/load.cc");
}

}  // namespace
}  // namespace slipway::bench

int main(int argc, char** argv) {
  return slipway::bench::run({argv, static_cast<size_t>(argc)});
}
