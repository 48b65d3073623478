// The commands below `slipway model`, one file each, and what they share.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/session.h"

namespace slipway::cli {

void add_model_register(Command model, Context& context);  // register, trial
void add_model_change(Command model, Context& context);    // update, tag, delete
void add_model_files(Command model, Context& context);     // download, diff

std::string model_path(const Session& session, const std::string& model);

// The record of one version, for people or as JSON.
void print_model(Context& context, const json::object& model);
void print_models(Context& context, json::array models);

// One line: whether it serves, or why that is not known.
std::string trial_text(const json::object& trial);

// The options that describe a model, for `register` and `update`.
struct ModelFacts {
  std::string framework;
  std::optional<std::string> framework_version;
  std::optional<std::string> environment;
  std::optional<std::string> description;
  std::optional<double> cpus;
  std::optional<ByteCount> memory;
  std::optional<int> gpus;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> properties;
  std::string sample_input;  // a file, or dataset:NAME[:VERSION]
  std::string sample_output;
};
void add_model_facts(Command command, ModelFacts& facts);
// The fields of a request. Files of samples are sent first.
Result<json::object> facts_body(Context& context, Session& session, const ModelFacts& facts);

}  // namespace slipway::cli
