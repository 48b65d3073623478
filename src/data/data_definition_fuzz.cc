// A definition that is taken is written and read back as the same, its paths never leave a datastore, and its
// operations give each file at most once, in order.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/file.h"
#include "base/log.h"
#include "data/definition.h"
#include "data/operations.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace slipway;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto path = data::parse_data_path(text); path && !path->is_url)
    if (!path->path.empty() && !is_clean_relative_path(path->path))
      abort_because("a path that leaves was taken");
  const auto object = parse_json_object(text, "the definition");
  if (!object) return 0;
  const auto definition = data::definition_from_json(*object);
  if (!definition) return 0;
  const auto again = data::definition_from_json(data::to_json(*definition));
  if (!again || *again != *definition) abort_because("the definition is not read back");
  std::vector<data::Candidate> files;
  static constexpr std::string_view kPaths[] = {"a/1.jpg", "a/b/2.png", "c", "d/[x]/e.txt"};
  for (uint32_t i = 0; i < std::size(kPaths); ++i)
    files.push_back({.path = kPaths[i], .size = i, .index = i});
  const auto left = data::apply(definition->operations, files);
  for (size_t i = 1; i < left.size(); ++i)
    if (left[i - 1].index >= left[i].index) abort_because("the order of the files is lost");
  return 0;
}
