#include "cli/run_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/answer.h"
#include "cli/follow.h"
#include "cli/quantities.h"
#include "cli/words.h"

namespace slipway::cli {
namespace {

std::string duration_text(double seconds) {
  return to_text(Duration(static_cast<int64_t>(std::max(seconds, 0.0) * 1e6)));
}

std::string since_text(Timestamp from, Timestamp to) {
  return to_text(Duration(std::max<int64_t>(to.micros - from.micros, 0)));
}

std::string run_duration(const json::object& run, Timestamp now) {
  if (const auto seconds = number_at(run, "duration_seconds")) return duration_text(*seconds);
  const auto started = time_at(run, "started_at");
  if (!started) return "-";
  return since_text(*started, time_at(run, "ended_at").value_or(now));
}

std::string when_text(const json::object& object, std::string_view name, Timestamp now) {
  const auto time = time_at(object, name);
  return time ? relative_time(*time, now) : "-";
}

std::string resources_text(const json::object& resources) {
  std::string text;
  const auto add = [&](std::string part) { text += (text.empty() ? "" : ", ") + std::move(part); };
  const double cpus = number_at(resources, "cpus").value_or(0);
  if (cpus > 0) add(fmt::format("{:g} {}", cpus, cpus == 1 ? "CPU" : "CPUs"));
  const int64_t memory = integer_at(resources, "memory_bytes");
  if (memory > 0) add(bytes_text(static_cast<uint64_t>(memory)));
  const int64_t gpus = integer_at(resources, "gpus");
  if (gpus > 0) add(fmt::format("{} {}", gpus, gpus == 1 ? "GPU" : "GPUs"));
  return text.empty() ? "a whole node" : text;
}

std::string git_text(const json::object& git) {
  const std::string commit = text_at(git, "commit");
  if (commit.empty()) return "";
  std::string text = commit.substr(0, 12);
  if (!text_at(git, "branch").empty()) text += " on " + text_at(git, "branch");
  if (flag_at(git, "dirty")) text += ", with changes that are not committed";
  if (!text_at(git, "remote").empty()) text += "\n" + text_at(git, "remote");
  return text;
}

void add_lines(Facts& facts, std::string_view name, const json::object& object) {
  std::string text;
  for (const auto& field : object) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{}={}", std::string_view(field.key()), value_text(field.value()));
  }
  if (!text.empty()) facts.add(std::string(name), text);
}

// A skipped file or a warning may be a plain string or an object that says why.
std::string lines_of(const json::array& array) {
  std::string text;
  for (const json::value& item : array) {
    if (!text.empty()) text += '\n';
    text += value_text(item);
  }
  return text;
}

// "tf:3, built by uv with python 3.11.2 from lock 3f9a2b7c61d0"
std::string environment_text(const json::object& job, const json::object& environment) {
  std::string text = text_at(job, "environment");
  if (!text_at(environment, "builder").empty()) text += ", built by " + text_at(environment, "builder");
  if (!text_at(environment, "python").empty()) text += " with python " + text_at(environment, "python");
  if (!text_at(environment, "lock_digest").empty())
    text += " from lock " + text_at(environment, "lock_digest").substr(0, 12);
  return text;
}

bool is_interactive(const json::object& run) {
  return text_at(run, "type") == "interactive";
}

// "mnist = mnist:2, mounted at /work/mnist (verify off)", a line each.
std::string inputs_text(const json::object& run) {
  std::string text;
  for (const json::value& item : array_at(run, "inputs")) {
    if (!item.is_object()) continue;
    const json::object& input = item.get_object();
    text += fmt::format("{}{} = {}:{} ({}{})", text.empty() ? "" : "\n", text_at(input, "name"),
                        text_at(input, "dataset"), integer_at(input, "version"), text_at(input, "mode"),
                        flag_at(input, "verify") ? "" : ", not verified");
    if (!text_at(input, "path").empty()) text += " at " + text_at(input, "path");
    if (!text_at(input, "note").empty()) text += "; " + text_at(input, "note");
  }
  return text;
}

std::string outputs_text(const json::object& run) {
  std::string text;
  for (const json::value& item : array_at(run, "outputs")) {
    if (!item.is_object()) continue;
    const json::object& output = item.get_object();
    text += fmt::format("{}{} in {}:{}", text.empty() ? "" : "\n", text_at(output, "name"),
                        text_at(output, "datastore"), text_at(output, "path"));
    if (has_value(output, "files"))
      text += fmt::format(", {}", count_of(integer_at(output, "files"), "file"));
    if (has_value(output, "version"))
      text +=
          fmt::format(", registered as {}:{}", text_at(output, "register_as"), integer_at(output, "version"));
  }
  return text;
}

void add_attempt_facts(Facts& facts, const json::object& run, const json::object& job) {
  const int64_t preemptions = integer_at(run, "preemptions");
  const int64_t attempt = integer_at(run, "attempt", 1) - preemptions;  // those that gave way do not count
  if (attempt > 1)
    facts.add("attempt", fmt::format("{} of {}", attempt, integer_at(job, "max_attempts", attempt)));
  if (preemptions > 0)
    facts.add("gave way", preemptions == 1 ? "once" : fmt::format("{} times", preemptions));
  if (has_value(run, "gives_way_to"))
    facts.add("gives way to", text_at(run, "gives_way_to"), Colour::kYellow);
}

// What a job asks of its nodes; an interactive run has none.
void add_job_facts(Facts& facts, const json::object& run, const json::object& job) {
  facts.add("command", join_words(texts_at(job, "command")));
  facts.add("compute", text_at(job, "compute"));
  const int64_t nodes = integer_at(job, "nodes", 1);
  facts.add("asks for", nodes > 1 ? fmt::format("{} nodes with {} each", nodes,
                                                resources_text(object_at(job, "resources")))
                                  : resources_text(object_at(job, "resources")));
  if (!array_at(run, "nodes").empty()) facts.add("ran on", lines_of(array_at(run, "nodes")));
  facts.add("environment", environment_text(job, object_at(run, "environment")));
  for (const std::string& sentence : texts_at(object_at(run, "environment"), "applied"))
    facts.add("substituted", sentence);
  if (const std::string inputs = inputs_text(run); !inputs.empty()) facts.add("inputs", inputs);
  if (const std::string outputs = outputs_text(run); !outputs.empty()) facts.add("outputs", outputs);
  if (const json::object& models = object_at(run, "models"); !array_at(models, "used").empty())
    facts.add("models", lines_of(array_at(models, "used")));
  const double timeout = number_at(job, "timeout_seconds").value_or(0);
  if (timeout > 0) facts.add("time limit", duration_text(timeout));
  if (const std::string priority = text_at(job, "priority"); !priority.empty() && priority != "normal")
    facts.add("priority", priority);
  add_attempt_facts(facts, run, job);
}

void add_family_facts(Facts& facts, const json::object& run) {
  if (has_value(run, "rerun_of")) facts.add("repeats", text_at(run, "rerun_of"));
  if (!has_value(run, "parent")) return;
  facts.add("child of", text_at(run, "parent"));
  if (text_at(run, "root") != text_at(run, "parent")) facts.add("top of family", text_at(run, "root"));
}

Facts header_facts(const json::object& run, Timestamp now) {
  const json::object& job = object_at(run, "job");
  const std::string state = text_at(run, "state");
  Facts facts;
  facts.add("run", text_at(run, "id"), Colour::kBold);
  if (!text_at(run, "display_name").empty()) facts.add("name", text_at(run, "display_name"));
  if (!text_at(run, "description").empty()) facts.add("about", text_at(run, "description"));
  facts.add("experiment", text_at(run, "experiment"));
  facts.add("state", is_final(run) ? outcome_text(run) : fmt::format("{} ({})", state, text_at(run, "phase")),
            state_colour(state));
  if (!text_at(run, "waiting_because").empty())
    facts.add("waits because", text_at(run, "waiting_because"), Colour::kYellow);
  if (!is_final(run) && !text_at(run, "reason").empty()) facts.add("reason", text_at(run, "reason"));
  if (has_value(run, "exit_code")) facts.add("exit code", std::to_string(integer_at(run, "exit_code")));
  if (is_interactive(run))
    facts.add("type", "interactive: kept by its client");
  else
    add_job_facts(facts, run, job);
  facts.add("submitted",
            fmt::format("{} by {}", when_text(run, "submitted_at", now),
                        text_at(run, "submitted_by").empty() ? "-" : text_at(run, "submitted_by")));
  facts.add("duration", run_duration(run, now));
  if (const json::object& models = object_at(run, "models"); !array_at(models, "registered").empty())
    facts.add("registered as", lines_of(array_at(models, "registered")));
  add_family_facts(facts, run);
  add_lines(facts, "tags", object_at(run, "tags"));
  add_lines(facts, "properties", object_at(run, "properties"));
  add_lines(facts, "variables", object_at(job, "variables"));
  if (!text_at(job, "snapshot").empty())
    facts.add("source", "snapshot " + text_at(job, "snapshot").substr(0, 12));
  if (const std::string git = git_text(object_at(job, "git")); !git.empty()) facts.add("git", git);
  if (!array_at(run, "skipped").empty())
    facts.add("not kept", lines_of(array_at(run, "skipped")), Colour::kYellow);
  if (!array_at(run, "warnings").empty())
    facts.add("warnings", lines_of(array_at(run, "warnings")), Colour::kYellow);
  return facts;
}

Table time_line(const RunPage& page, Timestamp now) {
  Table table({{"TIME"}, {"STATE"}, {"TOOK", Align::kRight}, {"WHAT HAPPENED", Align::kLeft, 20}});
  const json::array& events = page.events;
  for (size_t i = 0; i < events.size(); ++i) {
    const json::object& event = events[i].as_object();
    const auto time = time_at(event, "time");
    const auto next = i + 1 < events.size() ? time_at(events[i + 1].as_object(), "time")
                      : is_final(page.run)  ? std::nullopt
                                            : std::optional(now);
    const std::string state = text_at(event, "state");
    const std::string reason = text_at(event, "reason");
    table.add({time ? clock_time(*time, now) : "-", Cell(state, state_colour(state)),
               time && next ? since_text(*time, *next) : "",
               reason.empty() ? text_at(event, "kind") : reason});
  }
  return table;
}

Table metrics_summary(const json::array& metrics) {
  Table table({{"METRIC", Align::kLeft, 12},
               {"LAST", Align::kRight},
               {"STEP", Align::kRight},
               {"MIN", Align::kRight},
               {"MAX", Align::kRight}});
  for (const json::value& item : metrics) {
    if (!item.is_object()) continue;
    const json::object& metric = item.get_object();
    if (integer_at(metric, "count", 1) == 0) {
      table.add({text_at(metric, "name"), text_at(metric, "kind"), "", "", ""});
      continue;
    }
    const json::object& last = object_at(metric, "last");
    table.add({text_at(metric, "name"), metric_text(number_at(last, "value")),
               std::to_string(integer_at(last, "step")), metric_text(number_at(metric, "min")),
               metric_text(number_at(metric, "max"))});
  }
  return table;
}

std::string next_steps(const json::object& run) {
  const std::string id = text_at(run, "id");
  if (is_interactive(run))
    return fmt::format("metrics:   slipway run metrics {0}\nfiles:     slipway run files {0}\n", id);
  if (!is_final(run))
    return fmt::format("follow it: slipway run logs -f {0}\nstop it:   slipway run cancel {0}\n", id);
  std::string text = fmt::format("log:       slipway run logs {0}\nfiles:     slipway run files {0}\n", id);
  return text + fmt::format("again:     slipway run rerun {0}\n", id);
}

}  // namespace

const std::vector<std::string>& run_states() {
  static const std::vector<std::string> states{"NotStarted", "Queued",          "Preparing",    "Starting",
                                               "Running",    "Finalizing",      "Completed",    "Failed",
                                               "Canceled",   "CancelRequested", "NotResponding"};
  return states;
}

Table runs_table(const json::array& runs, Timestamp now) {
  Table table({{"RUN"},
               {"STATE"},
               {"SUBMITTED"},
               {"DURATION", Align::kRight},
               {"COMPUTE", Align::kLeft, 8},
               {"COMMAND", Align::kLeft, 10}});
  for (const json::value& item : runs) {
    if (!item.is_object()) continue;
    const json::object& run = item.get_object();
    const json::object& job = object_at(run, "job");
    const std::string state = text_at(run, "state");
    const std::string name = text_at(run, "display_name");
    table.add({text_at(run, "id"), Cell(state, state_colour(state)), when_text(run, "submitted_at", now),
               run_duration(run, now), text_at(job, "compute"),
               !name.empty()         ? name
               : is_interactive(run) ? "(interactive)"
                                     : join_words(texts_at(job, "command"))});
  }
  return table;
}

std::string run_page_text(const RunPage& page, Timestamp now, int width, bool colour) {
  std::string out = header_facts(page.run, now).render(colour);
  if (!page.events.empty()) out += "\n" + time_line(page, now).render(width, colour);
  if (!page.metrics.empty()) out += "\n" + metrics_summary(page.metrics).render(width, colour);
  if (!page.children.empty()) out += "\n" + runs_table(page.children, now).render(width, colour);
  return out + "\n" + next_steps(page.run);
}

}  // namespace slipway::cli
