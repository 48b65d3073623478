#include "environments/conda_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "environments/conda_spec.h"
#include "environments/line_text.h"
#include "environments/python_request.h"

namespace slipway::environments {
namespace {

constexpr size_t kMaxCondaFile = 1 << 20;

// Reads one document. yaml-cpp reports by exceptions; none leaves this file (parse_conda_file catches them).
class Reader {
 public:
  Reader(const std::string& file, const ReadIncluded& include) : file_(file), include_(include) {}

  Status read(const YAML::Node& document) {
    if (!document.IsMap())
      return wrong(document.Mark(), "a conda file is a list of 'key: value' lines",
                   "it needs at least: dependencies: [python=3.11]");
    for (const auto& field : document) {
      const std::string key = field.first.IsScalar() ? field.first.Scalar() : "";
      SLIPWAY_TRY(read_field(key, field.first, field.second));
    }
    if (!has_dependencies_)
      return wrong(document.Mark(), "the conda file has no 'dependencies'",
                   "for example: dependencies: [python=3.11, numpy]");
    return {};
  }

  CondaFile result() && { return std::move(result_); }
  Status wrong(const YAML::Mark& mark, const std::string& message, std::string next) const {
    // A null mark stands at -1.
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}: {}", shown(file_), std::max(mark.line, 0) + 1,
                            std::max(mark.column, 0) + 1, message),
                std::move(next));
  }

 private:
  Status read_field(const std::string& key, const YAML::Node& at, const YAML::Node& value) {
    if (key == "name") return scalar(value, result_.name);
    if (key == "prefix") return {};
    if (key == "channels")
      return each(value, "a channel", [this](const YAML::Node& node) -> Status {
        std::string channel;
        SLIPWAY_TRY(scalar(node, channel));
        result_.definition.conda_channels.push_back(channel);
        return {};
      });
    if (key == "dependencies") {
      has_dependencies_ = true;
      return each(value, "a package", [this](const YAML::Node& node) { return dependency(node); });
    }
    if (key == "variables") return variables(value);
    return wrong(at.Mark(), fmt::format("unknown key '{}'", shown(key, 40)),
                 "known keys: name, channels, dependencies, variables, prefix");
  }

  template <class Take>
  Status each(const YAML::Node& list, std::string_view what, const Take& take) const {
    if (list.IsNull()) return {};
    if (!list.IsSequence())
      return wrong(list.Mark(), "a list is expected here", fmt::format("each line '- ' and {}", what));
    for (const YAML::Node& node : list) SLIPWAY_TRY(take(node));
    return {};
  }

  Status scalar(const YAML::Node& node, std::string& target) const {
    if (!node.IsScalar()) return wrong(node.Mark(), "a single value is expected here", "");
    target = node.Scalar();
    for (const char c : target)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        return wrong(node.Mark(), "the value holds a control character or a line break", "");
    return {};
  }

  Status dependency(const YAML::Node& node) {
    if (node.IsMap()) return pip_section(node);
    std::string text;
    SLIPWAY_TRY(scalar(node, text));
    const Result<CondaSpec> spec = parse_conda_spec(text);
    if (!spec) return wrong(node.Mark(), spec.error().message, spec.error().next);
    if (spec->name == "pip") return {};
    if (spec->name != "python") {
      result_.definition.conda.push_back(to_text(*spec));
      return {};
    }
    result_.definition.python = python_of(*spec);
    const Result<PythonRequest> request = PythonRequest::parse(result_.definition.python);
    if (!request) return wrong(node.Mark(), request.error().message, request.error().next);
    return {};
  }

  Status pip_section(const YAML::Node& node) {
    for (const auto& field : node) {
      const std::string key = field.first.IsScalar() ? field.first.Scalar() : "";
      if (key != "pip")
        return wrong(field.first.Mark(),
                     fmt::format("unknown section '{}' among the dependencies", shown(key, 40)),
                     "only 'pip:' can stand there");
      SLIPWAY_TRY(each(field.second, "a requirement", [this](const YAML::Node& line) -> Status {
        std::string text;
        SLIPWAY_TRY(scalar(line, text));
        auto read = read_requirement_line(text, file_, include_);
        if (!read) {
          // The reader of lines knows only the file; the place is known here.
          std::string message = read.error().message;
          if (const std::string prefix = shown(file_) + ": "; message.starts_with(prefix))
            message.erase(0, prefix.size());
          return wrong(line.Mark(), message, read.error().next);
        }
        for (std::string& requirement : *read) result_.definition.pip.push_back(std::move(requirement));
        return {};
      }));
    }
    return {};
  }

  Status variables(const YAML::Node& node) {
    if (!node.IsMap()) return wrong(node.Mark(), "'NAME: value' lines are expected here", "");
    for (const auto& field : node) {
      std::string name, value;
      SLIPWAY_TRY(scalar(field.first, name));
      SLIPWAY_TRY(scalar(field.second, value));
      result_.definition.variables[name] = value;
    }
    return {};
  }

  const std::string& file_;
  const ReadIncluded& include_;
  CondaFile result_;
  bool has_dependencies_ = false;
};

}  // namespace

Result<CondaFile> parse_conda_file(std::string_view text, const std::string& file_name,
                                   const ReadIncluded& include) {
  if (text.size() > kMaxCondaFile)
    return fail(ErrorCode::kTooLarge, fmt::format("{} is larger than 1 MiB", shown(file_name)));
  Reader reader(file_name, include);
  try {
    SLIPWAY_TRY(reader.read(YAML::Load(std::string(text))));
  } catch (const YAML::Exception& error) {
    return std::unexpected(
        reader.wrong(error.mark, fmt::format("this line is not YAML: {}", shown(error.msg)), "mend that line")
            .error());
  }
  return std::move(reader).result();
}

std::string conda_file_text(const EnvironmentDefinition& definition, std::string_view name) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  if (!name.empty()) out << YAML::Key << "name" << YAML::Value << std::string(name);
  if (!definition.conda_channels.empty())
    out << YAML::Key << "channels" << YAML::Value << definition.conda_channels;
  out << YAML::Key << "dependencies" << YAML::Value << YAML::BeginSeq;
  const std::string& python = definition.python;
  if (!python.empty())
    out << (python.find_first_of("<>=!~") == std::string::npos ? "python=" + python : "python" + python);
  for (const std::string& spec : definition.conda) out << spec;
  if (!definition.pip.empty()) {
    out << "pip" << YAML::BeginMap << YAML::Key << "pip" << YAML::Value << definition.pip << YAML::EndMap;
  }
  out << YAML::EndSeq << YAML::EndMap;
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace slipway::environments
