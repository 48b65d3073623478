#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/session.h"
#include "cli/table.h"

namespace slipway::cli {
namespace {

std::string counts_text(const json::object& counts) {
  std::string text;
  for (const auto& field : counts) {
    if (!field.value().is_number() || field.value().to_number<double>() == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", json::serialize(field.value()),
                        std::string_view(field.key()));
  }
  return text.empty() ? "none" : text;
}

std::string bytes_at(const json::object& object, std::string_view name) {
  return bytes_text(static_cast<uint64_t>(std::max<int64_t>(integer_at(object, name), 0)));
}

Result<int> show_status(Context& context) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::object status, session.get("/api/v1/status"));
  if (context.console.json()) {
    status["url"] = session.url();
    context.console.print_json(status);
    return 0;
  }
  Facts facts;
  facts.add("server", session.url(), Colour::kBold);
  const std::string version = text_at(status, "version");
  facts.add("version", version == SLIPWAY_VERSION
                           ? version
                           : fmt::format("{} (this program is {})", version, SLIPWAY_VERSION));
  facts.add("up for",
            to_text(Duration(static_cast<int64_t>(number_at(status, "uptime_seconds").value_or(0) * 1e6))));
  facts.add("workspace", session.workspace());
  facts.add("runs", counts_text(object_at(status, "runs")));
  facts.add("nodes", counts_text(object_at(status, "nodes")));
  const json::object& storage = object_at(status, "storage");
  facts.add("storage",
            fmt::format("{} free of {}", bytes_at(storage, "free_bytes"), bytes_at(storage, "total_bytes")));
  facts.add("memory", bytes_at(status, "memory_bytes"));
  if (has_value(status, "writable") && !flag_at(status, "writable"))
    facts.add("warning", "nothing new is taken: " + text_at(status, "why_not_writable"), Colour::kYellow);
  context.console.out(facts.render(context.console.colour_out()));
  return 0;
}

}  // namespace

void add_status_command(Command root, Context& context) {
  root.command("status", "Say how the server is: version, runs, nodes, storage", "slipway status")
      .action([&context] { return show_status(context); });
}

}  // namespace slipway::cli
