#include "services/lifecycle.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "services/spec.h"

namespace slipway::services {
namespace {

TEST(ServiceLifecycleTest, EveryPairLeadsWhereTheTableSaysOrStays) {
  for (const ServiceState state : kAllServiceStates)
    for (const EventKind event : kAllEventKinds) {
      const auto rules = transition_table();
      const auto rule = std::ranges::find_if(
          rules, [&](const Rule& one) { return one.from == state && one.event == event; });
      EXPECT_EQ(decide(state, event), rule == rules.end() ? state : rule->to);
    }
}

TEST(ServiceLifecycleTest, AFailedUpdateLeavesAServiceThatServesAsItIs) {
  EXPECT_EQ(decide(ServiceState::kHealthy, EventKind::kUpdateFailed), ServiceState::kHealthy);
  EXPECT_EQ(decide(ServiceState::kUnhealthy, EventKind::kUpdateFailed), ServiceState::kUnhealthy);
}

TEST(ServiceLifecycleTest, EveryStateHasAnameThatIsReadBack) {
  for (const ServiceState state : kAllServiceStates)
    EXPECT_EQ(service_state_from_text(to_text(state)), state);
  EXPECT_FALSE(service_state_from_text("healthy!"));
}

TEST(ServiceLifecycleTest, TheDiagramShowsEveryTransition) {
  const std::string diagram = state_diagram();
  EXPECT_TRUE(diagram.contains("Transitioning --> Healthy : ready"));
  EXPECT_TRUE(diagram.contains("Failed --> Transitioning : updated"));
}

TEST(ServiceSpecTest, NamesAreThoseOfHosts) {
  EXPECT_TRUE(check_service_name("digits-svc"));
  EXPECT_TRUE(check_service_name("abc"));
  for (const char* bad :
       {"", "ab", "Digits", "1abc", "a_b", "a b", "../x", "a/b", "abcdefghijklmnopqrstuvwxyzabcdefg"})
    EXPECT_FALSE(check_service_name(bad)) << bad;
}

std::string refusal(const json::object& body) {
  ServiceSpec spec;
  const Status applied = apply(body, spec);
  return applied ? "" : applied.error().message;
}

TEST(ServiceSpecTest, SaysWhatIsWrong) {
  EXPECT_EQ(refusal({{"models", {"m"}}}), "");
  EXPECT_TRUE(refusal({{"replicas", {{"min", 3}, {"max", 1}}}}).contains("3"));
  EXPECT_TRUE(refusal({{"replicas", {{"min", 0}, {"max", 1}}}}).contains("least"));
  EXPECT_TRUE(refusal({{"auth", "maybe"}}).contains("maybe"));
  EXPECT_TRUE(refusal({{"entry", "../score.py"}}).contains("../score.py"));
  EXPECT_TRUE(refusal({{"entry", "score.py"}}).contains("folder"));
  EXPECT_TRUE(refusal({{"memory_bytes", 1}}).contains("memory"));
  EXPECT_TRUE(refusal({{"cpus", -1}}).contains("CPUs"));
  EXPECT_TRUE(refusal({{"timeout_seconds", 1e9}}).contains("time"));
  EXPECT_TRUE(refusal({{"variables", {{"SLIPWAY_TOKEN", "x"}}}}).contains("SLIPWAY_TOKEN"));
  EXPECT_TRUE(refusal({{"modles", {"m"}}}).contains("modles"));
}

TEST(ServiceSpecTest, IsReadBackAsItWasWritten) {
  ServiceSpec spec;
  const json::object body{{"models", {"a:1", "b:2"}},
                          {"entry", "score.py"},
                          {"snapshot", std::string(64, 'a')},
                          {"environment", "env:3"},
                          {"cpus", 0.5},
                          {"memory_bytes", 1 << 30},
                          {"workers", 2},
                          {"timeout_seconds", 2.5},
                          {"variables", {{"A", "1"}}},
                          {"replicas", {{"min", 2}, {"max", 5}}}};
  ASSERT_TRUE(apply(body, spec));
  EXPECT_EQ(*replica_spec_from_json(to_json(spec.replica)), spec.replica);
  EXPECT_EQ(*scaling_from_json(to_json(spec.scaling)), spec.scaling);
}

}  // namespace
}  // namespace slipway::services
