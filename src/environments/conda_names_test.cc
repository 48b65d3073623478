#include "environments/conda_names.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "environments/conda_spec.h"

namespace slipway::environments {
namespace {

TEST(CondaNames, StandInTheDocumentAsTheyAreHere) {
  const auto text = read_file(SLIPWAY_SOURCE_FOLDER "/docs/environments.md");
  ASSERT_TRUE(text);
  std::string table = "| conda | PyPI |\n|---|---|\n";
  for (const CondaName& name : conda_names())
    table += fmt::format("| `{}` | {} |\n", name.conda,
                         !name.pypi.empty() ? fmt::format("`{}`", name.pypi)
                         : name.needed      ? fmt::format("needs a conda tool: {}", name.why)
                                            : fmt::format("left out: {}", name.why));
  EXPECT_THAT(*text, testing::HasSubstr(table));
}

TEST(CondaNames, AreNamesOfConda) {
  for (const CondaName& name : conda_names())
    if (!name.conda.ends_with('*')) EXPECT_TRUE(parse_conda_spec(name.conda)) << name.conda;
}

}  // namespace
}  // namespace slipway::environments
