// What is asked of uv: settling on versions, and installing them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "environments/build/workshop.h"

namespace slipway::environments {

// Used by one thread; `workshop` outlives it.
class Uv {
 public:
  // Fetches uv where it is not on the machine.
  static Result<Uv> have(const Workshop& workshop);
  const std::filesystem::path& program() const { return program_; }

  // The lines as exact versions with hashes, for that interpreter.
  Result<std::string> compile(const std::vector<std::string>& lines,
                              const std::filesystem::path& python) const;
  Status make_venv(const std::filesystem::path& python, const std::filesystem::path& venv) const;
  // What a lock says, no more. `late`: with the other packages of the environment in sight, and the variables
  // that such builds need.
  Status install(std::string_view lines, const std::filesystem::path& python) const;
  Status install_late(std::string_view lines, const std::filesystem::path& python,
                      const std::map<std::string, std::string>& variables) const;
  Status install_wheels(const std::vector<std::filesystem::path>& wheels,
                        const std::filesystem::path& python) const;

 private:
  Uv(const Workshop& workshop, std::filesystem::path program)
      : workshop_(workshop), program_(std::move(program)) {}
  Result<ProgramEnd> run(std::vector<std::string> arguments,
                         const std::map<std::string, std::string>& more = {}) const;
  Result<ProgramEnd> install_from(std::string_view lines, const std::filesystem::path& python,
                                  std::vector<std::string> more_arguments,
                                  std::map<std::string, std::string> variables) const;

  const Workshop& workshop_;
  const std::filesystem::path program_;
};

}  // namespace slipway::environments
