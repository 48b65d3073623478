// What nearly every file includes, parsed once for each preset instead of once a file: it halves the build.
// Only headers of the standard library and of third parties stand here, so that it never changes with our
// own.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json.hpp>
