#include "cli/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "cli/follow.h"
#include "cli/last_lines.h"
#include "cli/quantities.h"

namespace slipway::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

json::object object(std::string_view text) {
  return json::parse(text).as_object();
}

const Timestamp kNow = *parse_iso8601("2026-11-15T10:00:00Z");

TEST(DiffText, ShowsChangedSectionsAndNamesTheRest) {
  const std::string text = diff_text(object(R"({
    "from": "a-1", "to": "a-2",
    "code": [{"path": "new.py", "change": "added"}, {"path": "train.py", "change": "modified"},
             {"path": "old.py", "change": "removed"}],
    "command": {"from": ["python", "train.py", "a b"], "to": ["python", "train.py"]},
    "variables": {"from": {"A": "1", "B": "2"}, "to": {"A": "1", "B": "3", "C": "4"}},
    "environment": null, "data": null, "git": null,
    "result": {"from": {"state": "Completed", "exit_code": 0, "metrics": {"loss": 1, "same": 2}},
               "to": {"state": "Failed", "exit_code": 3, "metrics": {"loss": 0.5, "same": 2}}}})"),
                                     false);
  EXPECT_EQ(text,
            "from a-1\nto   a-2\n"
            "\ncode\n  + new.py\n  ~ train.py\n  - old.py\n"
            "\ncommand\n  - python train.py 'a b'\n  + python train.py\n"
            "\nvariables\n  - B=2\n  + B=3\n  + C=4\n"
            "\nresult\n  - state=Completed\n  + state=Failed\n  - exit_code=0\n  + exit_code=3\n"
            "  - metrics.loss=1\n  + metrics.loss=0.5\n"
            "\nthe same: environment, compute, data, git\n");
}

TEST(DiffText, SaysWhenNothingChanged) {
  const std::string text =
      diff_text(object(R"({"from": "a", "to": "b", "code": [], "command": null})"), false);
  EXPECT_THAT(text, HasSubstr("the same: code, command, environment, variables, compute, data, git, result"));
}

TEST(RunPage, TellsTheTimeLineWithDurations) {
  RunPage page;
  page.run =
      object(R"({"id": "digits-1", "experiment": "digits", "state": "Failed", "phase": "done", "attempt": 2,
    "job": {"command": ["python", "train.py"], "compute": "local", "nodes": 1, "max_attempts": 3,
            "resources": {"cpus": 2, "memory_bytes": 1073741824, "gpus": 1},
            "git": {"commit": "0123456789abcdef", "branch": "main", "dirty": true}},
    "submitted_at": "2026-11-15T09:57:00Z", "started_at": "2026-11-15T09:58:00Z", "duration_seconds": 61.5,
    "exit_code": 3, "reason": "exited with code 3", "tags": {"owner": "me"}, "skipped": ["outputs/link"], "nodes": ["local-1"]})");
  page.events = json::parse(R"([
    {"seq": 1, "time": "2026-11-15T09:57:00Z", "kind": "submitted", "state": "Queued", "reason": ""},
    {"seq": 2, "time": "2026-11-15T09:57:01.500Z", "kind": "started", "state": "Running", "reason": ""},
    {"seq": 3, "time": "2026-11-15T09:58:02Z", "kind": "ended", "state": "Failed", "reason": "exit code 3"}])")
                    .as_array();
  page.metrics =
      json::parse(
          R"([{"name": "loss", "count": 2, "last": {"step": 7, "value": 0.125}, "min": 0.125, "max": 2}])")
          .as_array();
  const std::string text = run_page_text(page, kNow, 0, false);
  for (const char* part :
       {"run          digits-1\n", "Failed after 1 min 1 s: exited with code 3", "2 of 3", "3 min ago",
        "2 CPUs, 1.0 GiB, 1 GPU", "0123456789ab on main, with changes", "owner=me",
        "not kept     outputs/link", "loss", "0.125", "slipway run rerun digits-1"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, HasSubstr("Queued       1.5 s  submitted\n"));
  EXPECT_THAT(text, HasSubstr("Running  1 min 0 s  started\n"));
}

TEST(RunPage, SaysWhyARunWaits) {
  RunPage page;
  page.run = object(R"({"id": "x", "state": "Queued", "phase": "scaling",
                        "waiting_because": "cpu has 4 of 4 nodes busy; 2 runs before this one"})");
  const std::string text = run_page_text(page, kNow, 0, false);
  EXPECT_THAT(text, HasSubstr("waits because  cpu has 4 of 4 nodes busy; 2 runs before this one\n"));
  EXPECT_THAT(text, HasSubstr("slipway run cancel x"));
}

TEST(RunsTable, ShowsNothingThatCouldSteerATerminal) {
  const json::array runs =
      json::parse(R"([{"id": "x", "state": "Failed", "display_name": "a\u001b[31m\nb", "job": {}}])")
          .as_array();
  const std::string text = runs_table(runs, kNow).render(0, false);
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, HasSubstr("a?[31m?b"));
}

TEST(ExitCodeOf, IsTheScriptsOwnWhereItHasOne) {
  EXPECT_EQ(exit_code_of(object(R"({"state": "Completed", "exit_code": 0})")), 0);
  EXPECT_EQ(exit_code_of(object(R"({"state": "Failed", "exit_code": 23})")), 23);
  EXPECT_EQ(exit_code_of(object(R"({"state": "Failed", "exit_code": 137})")), 137);
  EXPECT_EQ(exit_code_of(object(R"({"state": "Failed", "exit_code": null})")), 14);
  EXPECT_EQ(exit_code_of(object(R"({"state": "Failed", "exit_code": 0})")), 14);
  EXPECT_EQ(exit_code_of(object(R"({"state": "Canceled", "exit_code": 143})")), 14);
}

TEST(LastLines, AreFoundFromTheEnd) {
  EXPECT_EQ(start_of_last_lines("a\nb\nc\n", 1), 4U);
  EXPECT_EQ(start_of_last_lines("a\nb\nc\n", 2), 2U);
  EXPECT_EQ(start_of_last_lines("a\nb\nc", 1), 4U);
  EXPECT_EQ(start_of_last_lines("a\nb\n", 2), std::nullopt);
  EXPECT_EQ(start_of_last_lines("\n\n\n", 2), 1U);
  EXPECT_EQ(start_of_last_lines("a\n", 0), 2U);
  EXPECT_EQ(start_of_last_lines("", 1), std::nullopt);
}

}  // namespace
}  // namespace slipway::cli
