// What `slipway serve` was asked for, and what that comes to.
#pragma once

#include <string>

#include "cli/context.h"
#include "cli/listen.h"
#include "serving/model_server.h"

namespace slipway::cli {

struct ServeOptions {
  UpOptions listen{.listen = "", .tls_certificate = "", .tls_key = ""};  // no address: where it makes sense
  std::string path;
  std::string name;
  std::string model_version;
  std::string key_file;
  std::string key_variable;
  std::string entry;
  std::string runtime;
  std::string python;
  std::string runtime_folder;
  std::string sample;
  std::string optimise;
  std::string converted;
  bool trial = false;
  bool report_endpoint = false;
  int threads = 1;
  int workers = 1;
  ByteCount worker_memory;
  int batch = 64;
  int queue = 8192;
  Duration timeout = std::chrono::seconds(60);
  Duration grace = std::chrono::seconds(30);
  ByteCount max_body{64 << 20};
};

// What is to be loaded: the model named, else that of the run this is called in (SLIPWAY_MODEL_DIR,
// AZUREML_MODEL_DIR), else the folder of the entry script.
Result<serving::LoadOptions> load_options(const ServeOptions& options);

// kInvalidArgument for what makes no sense or is not safe. The variable that holds a key is emptied: what
// this process starts does not see it.
Result<serving::ServeSettings> serve_settings(const ServeOptions& options);

}  // namespace slipway::cli
