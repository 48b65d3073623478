// What a definition was resolved to: exact versions, and hashes where there are any. Text, so that people can
// read and compare it:
//
//   # slipway-lock: 1
//   # builder: uv
//   # python: 3.11.2
//
//   numpy==2.3.1 --hash=sha256:...
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::environments {

struct Lock {
  std::string builder;                                     // "uv", "conda", "image"
  std::map<std::string, std::string> facts;                // the other lines of the head: python, image, ...
  std::string body;                                        // in the builder's own form
  const std::string& fact(const std::string& name) const;  // empty: there is none
  bool operator==(const Lock&) const = default;
};

std::string to_text(const Lock& lock);
// kInvalidArgument for text that is none, or of a newer form.
Result<Lock> parse_lock(std::string_view text);

// The digest that names it in a run's record and in the build store.
std::string lock_digest(std::string_view text);

// The system and processor that a lock holds for: "linux-x86_64".
std::string platform();

}  // namespace slipway::environments
