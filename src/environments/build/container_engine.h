// Podman, or Docker where its engine answers: what fetches and builds images.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "environments/build/workshop.h"

namespace slipway::environments {

// What an image says about itself.
struct ImageFacts {
  std::string id;      // sha256 of its configuration
  std::string digest;  // "name@sha256:..." by which others can fetch it; empty: it is only here
  std::map<std::string, std::string> variables;
};

class ContainerEngine {
 public:
  // kUnsupported, with what to install, where there is none.
  static Result<ContainerEngine> find(const Workshop& workshop);
  const std::string& name() const { return name_; }

  // The image, fetched when it is not here. kNotFound, in the engine's words, for one that cannot be had.
  Result<ImageFacts> have(const std::string& image, const Workshop& workshop) const;
  // Builds it from the text of a Dockerfile, without any files beside it, and names it `tag`.
  Result<ImageFacts> build(const std::string& dockerfile, const std::string& tag,
                           const Workshop& workshop) const;

  // One container of the image, with folders of this machine at the same or other places in it; removed with
  // this object.
  struct Step {
    std::string image;
    std::vector<std::string> mounts;  // "SOURCE:TARGET[:ro]"
    std::map<std::string, std::string> variables;
    std::vector<std::string> arguments;  // the program and its own
  };
  // Runs the step to its end in a container of that name, which stays.
  Result<ProgramEnd> run(const Step& step, const std::string& container, const Workshop& workshop) const;
  // A container that is never started.
  Status create(const std::string& image, const std::string& container, const Workshop& workshop) const;
  // All files of the container, below `folder`.
  Status export_files(const std::string& container, const std::filesystem::path& folder,
                      const Workshop& workshop) const;
  void remove(const std::string& container, const Workshop& workshop) const;

 private:
  ContainerEngine(std::string name, std::filesystem::path program)
      : name_(std::move(name)), program_(std::move(program)) {}
  ProgramCall call(std::vector<std::string> arguments, const Workshop& workshop) const;
  std::vector<std::string> run_options(const Workshop& workshop) const;
  Result<ImageFacts> inspect(const std::string& image, const Workshop& workshop) const;

  std::string name_;
  std::filesystem::path program_;
};

}  // namespace slipway::environments
