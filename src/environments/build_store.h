// The environments built on this machine, below <home>/environments. All agents of a home share it.
//
//   builds/<id>/      build.json: it is whole; lock.txt; what the builder made; used: when it was used last;
//                     uses/: a link for each attempt that has it, to the attempt's folder
//   locks/<key>       held while that key is being built
//   failed/<key>      why the last build of that key failed
//   cache/            what builders keep: wheels, bytecode
//
// Invariants
//   1. A build is there when its build.json is: that is written last. Everything else is rubble, which the
//   next
//      build of the key removes.
//   2. One build of a key at a time; others wait for it and share its result or its failure.
//   3. A build is in use while the folder of an attempt that has it is there, whatever became of its agent.
//   One in
//      use is never removed: both are decided under one lock.
//
// Thread-safe; several processes may use one store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/result.h"

namespace slipway::environments {

struct BuildRecord {
  std::string id;
  std::string key;
  std::string builder;
  std::string python;
  std::string lock_digest;
  double seconds = 0;  // that it took
  Timestamp created_at;
};

struct BuildInfo {
  BuildRecord record;
  Timestamp used_at;
  uint64_t bytes = 0;  // of its own: what it shares with the cache is not counted
  bool in_use = false;
};

struct Pruned {
  std::vector<std::string> builds;
  uint64_t freed_bytes = 0;
  uint64_t left_bytes = 0;
};

class BuildStore {
 public:
  explicit BuildStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Same key and lock, same build.
  static std::string build_id(std::string_view key, std::string_view lock);
  std::filesystem::path folder_of(const std::string& id) const { return folder_ / "builds" / id; }

  // The build, marked as used by the attempt with that folder. nullopt: it is not there.
  Result<std::optional<BuildRecord>> acquire(const std::string& id, const std::filesystem::path& attempt);

  // The right to build the key; nullopt: another process or thread has it.
  Result<std::optional<FileLock>> try_lock(const std::string& key);
  // Under that lock: removes what a killed build left, builds into folder_of(id), then makes it visible.
  Status clear(const BuildRecord& record);
  Status publish(const BuildRecord& record, std::string_view lock);
  void discard(const std::string& id);

  // The lock that was agreed on when the key was last built here, if that was after `since`.
  std::optional<std::string> lock_since(const std::string& key, Timestamp since) const;
  void remember_lock(const std::string& key, std::string_view lock);

  // How the last build of the key failed, if that was after `since`.
  std::optional<Error> failure_since(const std::string& key, Timestamp since) const;
  void remember_failure(const std::string& key, const Error& error);
  void forget_failure(const std::string& key);

  Result<std::vector<BuildInfo>> list() const;
  // Removes builds that no attempt has, the longest unused first, until all of the store is within
  // `keep_bytes`; when that does not suffice, the cache too, which costs later builds their speed and nothing
  // else.
  Result<Pruned> prune(uint64_t keep_bytes);

 private:
  Result<FileLock> take_store_lock() const;
  std::optional<BuildRecord> read_record(const std::string& id) const;
  bool is_used(const std::string& id) const;
  bool move_away(const std::string& id, const std::filesystem::path& trash);
  void sweep();

  const std::filesystem::path folder_;
};

}  // namespace slipway::environments
