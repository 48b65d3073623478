#include "cli/job_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <set>

#include "base/file.h"
#include "cli/data_flags.h"
#include "cli/nearest.h"
#include "cli/quantities.h"
#include "cli/words.h"
#include "environments/definition_files.h"
#include "protocol/environment.h"

namespace slipway::cli {
namespace {

// Reads one document. yaml-cpp reports by exceptions; none leaves this file (parse_job_file catches them).
class Reader {
 public:
  Reader(std::string_view file, JobFields& fields) : file_(file), fields_(fields) {}

  Status read(const YAML::Node& document) {
    if (document.IsNull())
      return wrong(document, "the job file is empty", "it needs at least: command: python train.py");
    return mapping(document, "the job",
                   {
                       {"command", [this](const YAML::Node& node) { return command(node); }},
                       {"source", text(fields_.source)},
                       {"experiment", name(fields_.experiment, "experiment")},
                       {"name", text(fields_.name)},
                       {"compute", name(fields_.compute, "cluster")},
                       {"environment", [this](const YAML::Node& node) { return environment(node); }},
                       {"nodes", whole(fields_.nodes, 1)},
                       {"launcher", checked<parse_launcher>(fields_.launcher)},
                       {"processes", whole(fields_.processes, 1)},
                       {"priority", checked<job_priority_from_text>(fields_.priority)},
                       {"attempts", whole(fields_.attempts, 1)},
                       {"restarts", whole(fields_.restarts, 0)},
                       {"timeout", duration(fields_.timeout)},
                       {"grace", duration(fields_.grace)},
                       {"resources", [this](const YAML::Node& node) { return resources(node); }},
                       {"tags", pairs(fields_.tags)},
                       {"variables", pairs(fields_.variables)},
                       {"inputs", named(fields_.inputs, parse_input, input_keys)},
                       {"outputs", named(fields_.outputs, parse_output, output_keys)},
                       {"models", [this](const YAML::Node& item) { return models(item); }},
                   });
  }

 private:
  using Setter = std::function<Status(const YAML::Node&)>;
  using Keys = std::vector<std::pair<std::string, Setter>>;

  Status wrong(const YAML::Node& node, std::string message, std::string next = "") const {
    return wrong(node.Mark(), std::move(message), std::move(next));
  }
  Status wrong(const YAML::Mark& mark, std::string message, std::string next) const {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}: {}", file_, mark.line + 1, mark.column + 1, message), std::move(next));
  }
  // The same problem, said with the place it was found at.
  Status placed(const YAML::Node& node, const Error& error) const {
    return wrong(node, error.message, error.next);
  }

  Status mapping(const YAML::Node& node, std::string_view what, const Keys& keys) const {
    if (!node.IsMap())
      return wrong(node, fmt::format("{} must be a list of 'key: value' lines", what),
                   "for example: command: python train.py");
    std::set<std::string> seen;
    for (const auto& field : node) {
      if (!field.first.IsScalar()) return wrong(field.first, "a key must be a word");
      const std::string& key = field.first.Scalar();
      if (!seen.insert(key).second)
        return wrong(field.first, fmt::format("'{}' stands here a second time", printable(key, 64)));
      const auto known = std::ranges::find(keys, key, &Keys::value_type::first);
      if (known == keys.end()) return unknown(field.first, key, keys);
      if (field.second.IsNull())
        return wrong(field.second, fmt::format("'{}' has no value", key),
                     "give it one, or leave the line out");
      SLIPWAY_TRY(known->second(field.second));
    }
    return {};
  }

  Status unknown(const YAML::Node& node, const std::string& key, const Keys& keys) const {
    std::vector<std::string> names;
    names.reserve(keys.size());
    for (const auto& [name, setter] : keys) names.push_back(name);
    const std::string nearest = nearest_word(key, names);
    return wrong(node, fmt::format("unknown key '{}'", printable(key, 64)),
                 nearest.empty() ? fmt::format("known keys: {}", fmt::join(names, ", "))
                                 : fmt::format("did you mean '{}'?", nearest));
  }

  Status scalar(const YAML::Node& node, std::string& target) const {
    if (!node.IsScalar()) return wrong(node, "a single value is expected here");
    target = node.Scalar();
    if (target.find('\0') != std::string::npos) return wrong(node, "the value holds a NUL byte");
    return {};
  }

  Setter text(std::optional<std::string>& target) const {
    return [this, &target](const YAML::Node& node) { return scalar(node, target.emplace()); };
  }

  Setter name(std::optional<std::string>& target, std::string what) const {
    return [this, &target, what = std::move(what)](const YAML::Node& node) -> Status {
      SLIPWAY_TRY(scalar(node, target.emplace()));
      if (const Status good = check_name(*target, what); !good) return placed(node, good.error());
      return {};
    };
  }

  // The name of an environment, or a file that describes one, beside the job file.
  Status environment(const YAML::Node& node) const {
    std::string value;
    SLIPWAY_TRY(scalar(node, value));
    fields_.environment = value;
    if (value.starts_with("./") || environments::kind_of_definition_file(value)) return {};
    if (const auto good = parse_environment_reference(value); !good) return placed(node, good.error());
    return {};
  }

  // A text that means something: kept as it was written, once it can be read.
  template <auto kRead>
  Setter checked(std::optional<std::string>& target) const {
    return [this, &target](const YAML::Node& node) -> Status {
      std::string value;
      SLIPWAY_TRY(scalar(node, value));
      if (const auto good = kRead(value); !good) return placed(node, good.error());
      target = std::move(value);
      return {};
    };
  }

  Setter whole(std::optional<int>& target, int least) const {
    return [this, &target, least](const YAML::Node& node) -> Status {
      std::string value;
      SLIPWAY_TRY(scalar(node, value));
      int number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error != std::errc{} || end != value.data() + value.size() || number < least)
        return wrong(node,
                     fmt::format("'{}' is not a whole number of at least {}", printable(value, 32), least));
      target = number;
      return {};
    };
  }

  Setter duration(std::optional<Duration>& target) const {
    return [this, &target](const YAML::Node& node) -> Status {
      std::string value;
      SLIPWAY_TRY(scalar(node, value));
      const Result<Duration> parsed = parse_duration(value);
      if (!parsed) return placed(node, parsed.error());
      target = *parsed;
      return {};
    };
  }

  Setter pairs(std::map<std::string, std::string>& target) const {
    return [this, &target](const YAML::Node& node) -> Status {
      if (!node.IsMap()) return wrong(node, "'name: value' lines are expected here");
      for (const auto& field : node) {
        std::string key, value;
        SLIPWAY_TRY(scalar(field.first, key));
        // "FLAG:" with nothing behind it is an empty string, as in a shell's FLAG=.
        if (!field.second.IsNull()) SLIPWAY_TRY(scalar(field.second, value));
        if (!target.emplace(key, value).second)
          return wrong(field.first, fmt::format("'{}' stands here a second time", printable(key, 64)));
      }
      return {};
    };
  }

  // A line as the flag has it, or the fields one by one.
  template <class Value>
  Setter named(std::map<std::string, Value>& target, Result<Value> (*parse)(std::string_view),
               Keys (*keys)(const Reader&, Value&)) const {
    return [this, &target, parse, keys](const YAML::Node& node) -> Status {
      if (!node.IsMap()) return wrong(node, "'name: value' lines are expected here");
      for (const auto& field : node) {
        std::string key;
        SLIPWAY_TRY(scalar(field.first, key));
        Value value;
        if (field.second.IsMap()) {
          SLIPWAY_TRY(mapping(field.second, fmt::format("'{}'", printable(key, 64)), keys(*this, value)));
        } else {
          std::string line;
          if (!field.second.IsNull()) SLIPWAY_TRY(scalar(field.second, line));
          Result<Value> parsed = parse(line);
          if (!parsed) return placed(field.second, parsed.error());
          value = std::move(*parsed);
        }
        if (!target.emplace(key, std::move(value)).second)
          return wrong(field.first, fmt::format("'{}' stands here a second time", printable(key, 64)));
      }
      return {};
    };
  }

  static Keys input_keys(const Reader& reader, JobInput& input) {
    return {{"dataset", reader.word(input.dataset)},
            {"mode",
             [&](const YAML::Node& node) -> Status {
               std::string text;
               SLIPWAY_TRY(reader.scalar(node, text));
               const auto mode = data_mode_from_text(text);
               if (!mode) return reader.placed(node, mode.error());
               input.mode = *mode;
               return {};
             }},
            {"path", reader.word(input.path)},
            {"verify", reader.yes_or_no(input.verify)}};
  }
  static Keys output_keys(const Reader& reader, JobOutput& output) {
    return {{"datastore", reader.word(output.datastore)},
            {"path", reader.word(output.path)},
            {"mode",
             [&](const YAML::Node& node) -> Status {
               std::string text;
               SLIPWAY_TRY(reader.scalar(node, text));
               if (text != "upload" && text != "mount")
                 return reader.wrong(node, "the mode is upload or mount");
               output.mode = text == "mount" ? OutputMode::kMount : OutputMode::kUpload;
               return {};
             }},
            {"register_as", reader.word(output.register_as)},
            {"overwrite", reader.yes_or_no(output.overwrite)}};
  }
  Setter word(std::string& target) const {
    return [this, &target](const YAML::Node& node) { return scalar(node, target); };
  }
  Setter yes_or_no(bool& target) const {
    return [this, &target](const YAML::Node& node) -> Status {
      std::string value;
      SLIPWAY_TRY(scalar(node, value));
      if (value != "true" && value != "false" && value != "yes" && value != "no")
        return wrong(node, "this is true or false");
      target = value == "true" || value == "yes";
      return {};
    };
  }

  Status command(const YAML::Node& node) {
    if (node.IsScalar()) {
      Result<std::vector<std::string>> words = split_words(node.Scalar());
      if (!words) return placed(node, words.error());
      fields_.command = std::move(*words);
    } else if (node.IsSequence()) {
      std::vector<std::string> words;
      for (const YAML::Node& item : node) SLIPWAY_TRY(scalar(item, words.emplace_back()));
      fields_.command = std::move(words);
    } else {
      return wrong(node, "the command must be a string or a list of strings",
                   "command: [python, train.py, --epochs, 3]");
    }
    if (fields_.command->empty())
      return wrong(node, "the command is empty", "for example: command: python train.py");
    return {};
  }

  Status models(const YAML::Node& node) {
    if (!node.IsSequence())
      return wrong(node, "the models must be a list", "for example: models: [digits:3]");
    for (const YAML::Node& item : node) {
      std::string& model = fields_.models.emplace_back();
      SLIPWAY_TRY(scalar(item, model));
      if (const auto good = parse_model_reference(model); !good) return placed(item, good.error());
    }
    return {};
  }

  Status resources(const YAML::Node& node) {
    return mapping(node, "'resources'",
                   {
                       {"cpus", [this](const YAML::Node& item) { return cpus(item); }},
                       {"memory", [this](const YAML::Node& item) { return memory(item); }},
                       {"gpus", whole(fields_.gpus, 0)},
                   });
  }

  Status cpus(const YAML::Node& node) {
    std::string value;
    SLIPWAY_TRY(scalar(node, value));
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || !std::isfinite(number) || number < 0)
      return wrong(node, fmt::format("'{}' is not a number of CPUs", printable(value, 32)),
                   "write it as 4 or 0.5");
    fields_.cpus = number;
    return {};
  }

  Status memory(const YAML::Node& node) {
    std::string value;
    SLIPWAY_TRY(scalar(node, value));
    const Result<uint64_t> bytes = parse_memory(value);
    if (!bytes) return placed(node, bytes.error());
    fields_.memory = ByteCount{*bytes};
    return {};
  }

  std::string_view file_;
  JobFields& fields_;
};

}  // namespace

Result<JobFields> parse_job_file(std::string_view text, std::string_view file_name) {
  try {
    JobFields fields;
    const YAML::Node document = YAML::Load(std::string(text));
    SLIPWAY_TRY(Reader(file_name, fields).read(document));
    return fields;
  } catch (const YAML::Exception& error) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}: not valid YAML: {}", file_name, error.mark.line + 1,
                            error.mark.column + 1, printable(error.msg)),
                "check quotes, indentation and colons on that line");
  }
}

Result<JobFields> read_job_file(const std::filesystem::path& file) {
  Result<std::string> text = read_file(file, kMaxJobFile);
  if (!text && text.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound, fmt::format("there is no job file '{}'", printable(file.string())),
                "name one, or put the command to run after --: slipway submit -- python train.py");
  if (!text) return fail(text.error());
  return parse_job_file(*text, file.string());
}

}  // namespace slipway::cli
