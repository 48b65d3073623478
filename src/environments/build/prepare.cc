#include "environments/build/prepare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/digest.h"
#include "base/failpoint.h"
#include "environments/key.h"
#include "environments/substitutions.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(50);

auto not_wanted() {
  return fail(ErrorCode::kUnavailable, "the build was stopped: the run does not wait for it");
}

double seconds_since(Monotonic begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The machine's own interpreter: nothing is built, but a wrong name is better said now than by a shell.
Result<Prepared> prepare_own(const EnvironmentDefinition& definition, const Workshop& workshop) {
  Prepared prepared;
  prepared.report.builder = "system";
  prepared.environment.variables = definition.variables;
  const std::string& interpreter = definition.interpreter;
  if (interpreter.empty() || interpreter == "python") return prepared;
  const fs::path file = interpreter.starts_with('/') ? fs::path(interpreter) : workshop.find(interpreter);
  if (file.empty() || ::access(file.c_str(), X_OK) != 0)
    return fail(ErrorCode::kNotFound,
                fmt::format("the interpreter '{}' of this environment is not on this machine", interpreter),
                "install it there, or name another: slipway env create NAME --interpreter PATH");
  if (interpreter.starts_with('/')) prepared.environment.path_prefix = file.parent_path().string();
  return prepared;
}

// One preparation of an environment that has to be built once.
class Building {
 public:
  Building(const Preparation& preparation, EnvironmentDefinition definition, Workshop& workshop)
      : preparation_(preparation),
        key_(preparation.order.key.empty() ? environment_key(definition) : preparation.order.key),
        definition_(std::move(definition)),
        workshop_(workshop),
        store_(workshop.environments()) {}

  Result<Prepared> run() {
    std::string lock = preparation_.order.lock;
    if (!lock.empty()) {
      SLIPWAY_ASSIGN(std::optional<Prepared> there, reuse(lock));
      if (there) return std::move(*there);
    }
    SLIPWAY_ASSIGN(const FileLock turn, await_turn());
    if (const auto failed = store_.failure_since(key_, preparation_.submitted_at)) {
      workshop_.log("the build of this environment has just failed; it is not tried again for this run");
      return fail(*failed);
    }
    // Of this home alone: others may be building the same.
    workshop_.mark = "build-" + Digest::of(workshop_.home.native() + key_).hex().substr(0, 32);
    preparation_.end_leftovers(workshop_.mark);
    auto built = settle_and_build(std::move(lock));
    if (!built && built.error().code != ErrorCode::kUnavailable && built.error().code != ErrorCode::kStale)
      store_.remember_failure(key_, built.error());
    return built;
  }

 private:
  // Others may be building it: theirs is waited for.
  Result<FileLock> await_turn() {
    bool said = false;
    while (workshop_.wanted()) {
      SLIPWAY_ASSIGN(std::optional<FileLock> turn, store_.try_lock(key_));
      if (turn) return std::move(*turn);
      if (!std::exchange(said, true))
        workshop_.log("another run is building this environment: waiting for it");
      std::this_thread::sleep_for(kLookEvery);
    }
    return not_wanted();
  }

  Result<Prepared> settle_and_build(std::string lock) {
    if (lock.empty()) {
      SLIPWAY_ASSIGN(lock, settle());
    }
    SLIPWAY_ASSIGN(std::optional<Prepared> there, reuse(lock));
    if (there) return std::move(*there);
    return build(lock);
  }

  Result<std::string> settle() {
    // One that waited for another's build takes what that one has agreed on.
    if (auto agreed = store_.lock_since(key_, preparation_.submitted_at)) return std::move(*agreed);
    SLIPWAY_ASSIGN(const std::unique_ptr<Builder> builder, choose_builder(definition_, workshop_));
    SLIPWAY_ASSIGN(const Lock resolved, builder->resolve(definition_, workshop_));
    SLIPWAY_ASSIGN(std::string agreed, preparation_.agree(builder->name(), to_text(resolved)));
    if (agreed != to_text(resolved)) workshop_.log("the versions that an earlier build settled on hold");
    store_.remember_lock(key_, agreed);
    return agreed;
  }

  Result<std::optional<Prepared>> reuse(const std::string& lock) {
    const std::string id = BuildStore::build_id(key_, lock);
    SLIPWAY_ASSIGN(const std::optional<BuildRecord> record, store_.acquire(id, preparation_.attempt));
    if (!record) return std::optional<Prepared>();
    SLIPWAY_ASSIGN(Prepared prepared, enter(*record, lock));
    prepared.report.reused = true;
    return std::optional(std::move(prepared));
  }

  Result<Prepared> build(const std::string& lock_text) {
    const Monotonic begin = std::chrono::steady_clock::now();
    SLIPWAY_ASSIGN(const Lock lock, parse_lock(lock_text));
    SLIPWAY_ASSIGN(const std::unique_ptr<Builder> builder, builder_of(lock));
    BuildRecord record{.id = BuildStore::build_id(key_, lock_text),
                       .key = key_,
                       .builder = lock.builder,
                       .python = lock.fact("python"),
                       .lock_digest = lock_digest(lock_text),
                       .seconds = 0,
                       .created_at = SystemClock().now()};
    SLIPWAY_TRY(store_.clear(record));
    SLIPWAY_FAILPOINT("environments.before_build");
    if (Status built = builder->build(definition_, lock, store_.folder_of(record.id), workshop_); !built) {
      store_.discard(record.id);
      return fail(built.error());
    }
    record.seconds = seconds_since(begin);
    SLIPWAY_FAILPOINT("environments.after_build");
    SLIPWAY_TRY(store_.publish(record, lock_text));
    store_.forget_failure(key_);
    SLIPWAY_ASSIGN(const std::optional<BuildRecord> there, store_.acquire(record.id, preparation_.attempt));
    if (!there) return fail(ErrorCode::kInternal, "an environment has vanished right after it was built");
    workshop_.log(fmt::format("built in {:.1f} s", record.seconds));
    return enter(*there, lock_text);
  }

  Result<Prepared> enter(const BuildRecord& record, const std::string& lock_text) {
    SLIPWAY_ASSIGN(const Lock lock, parse_lock(lock_text));
    SLIPWAY_ASSIGN(const std::unique_ptr<Builder> builder, builder_of(lock));
    SLIPWAY_ASSIGN(PreparedEnvironment environment,
                   builder->enter(definition_, lock, store_.folder_of(record.id), workshop_));
    for (const auto& [name, value] : definition_.variables) environment.variables[name] = value;
    return Prepared{.environment = std::move(environment),
                    .report = {.build = record.id,
                               .builder = record.builder,
                               .python = record.python,
                               .lock_digest = record.lock_digest,
                               .applied = {},
                               .seconds = record.seconds,
                               .reused = false}};
  }

  const Preparation& preparation_;
  const std::string key_;
  const EnvironmentDefinition definition_;
  Workshop& workshop_;
  BuildStore store_;
};

}  // namespace

Result<Prepared> prepare_environment(const Preparation& preparation, Workshop& workshop) {
  const Monotonic begin = std::chrono::steady_clock::now();
  Substituted substituted =
      apply_substitutions(preparation.order.definition, preparation.order.substitutions);
  if (!preparation.order.note.empty()) workshop.log(preparation.order.note);
  for (const std::string& sentence : substituted.applied) workshop.log(sentence);
  auto prepared = needs_build(substituted.definition)
                      ? Building(preparation, substituted.definition, workshop).run()
                      : prepare_own(substituted.definition, workshop);
  if (!prepared) return prepared;
  prepared->report.applied = std::move(substituted.applied);
  prepared->report.seconds = seconds_since(begin);
  return prepared;
}

}  // namespace slipway::environments
