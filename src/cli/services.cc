#include "cli/services.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/table.h"
#include "http/address.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

constexpr size_t kEventsShown = 12;

Colour service_colour(std::string_view state) {
  if (state == "Healthy") return Colour::kGreen;
  if (state == "Transitioning") return Colour::kYellow;
  return Colour::kRed;
}

std::string models_text(const json::object& version) {
  const auto models = texts_at(version, "models");
  const std::string entry = text_at(version, "entry");
  std::string text = fmt::format("{}", fmt::join(models, ", "));
  if (!entry.empty()) text += fmt::format("{}{}", text.empty() ? "" : " by ", entry);
  return text;
}

std::string replicas_text(const json::object& service) {
  const json::object& bounds = object_at(service, "replicas");
  const int64_t min = integer_at(bounds, "min");
  const int64_t max = integer_at(bounds, "max");
  std::string text = fmt::format("{} of {} ready", integer_at(service, "ready_replicas"),
                                 integer_at(service, "wanted_replicas"));
  if (min != max) text += fmt::format(" (from {} to {} with the load)", min, max);
  return text;
}

std::string own_url(const Session& session, const json::object& service) {
  if (!has_value(service, "port")) return "";
  const auto address = http::parse_address(session.url());
  if (!address) return "";
  const bool six = address->host.contains(':');
  return fmt::format("{}://{}{}{}:{}", address->secure ? "https" : "http", six ? "[" : "", address->host,
                     six ? "]" : "", integer_at(service, "port"));
}

void add_traffic(Facts& facts, const json::object& service) {
  const json::object& traffic = object_at(service, "traffic");
  const int64_t requests = integer_at(traffic, "requests");
  if (requests == 0) return;
  facts.add("requests",
            fmt::format("{}, {} failed, {:.1f} ms on average, {} under way", requests,
                        integer_at(traffic, "failures"), number_at(traffic, "mean_ms").value_or(0),
                        integer_at(traffic, "under_way")));
}

void print_replicas(Context& context, const json::object& service) {
  Table table({{"REPLICA", Align::kRight},
               {"VERSION", Align::kRight},
               {"STATE"},
               {"RUN"},
               {"SINCE"},
               {"REASON", Align::kLeft, 20}});
  const Timestamp now = context.clock.now();
  for (const json::value& item : array_at(service, "replica_list")) {
    const json::object& replica = item.as_object();
    auto since = time_at(replica, "created_at");
    for (const char* later : {"ready_at", "ended_at"})
      if (has_value(replica, later)) since = time_at(replica, later);
    table.add({std::to_string(integer_at(replica, "number")), std::to_string(integer_at(replica, "version")),
               text_at(replica, "state"), text_at(replica, "run"), since ? relative_time(*since, now) : "-",
               text_at(replica, "reason")});
  }
  if (table.empty()) return;
  context.console.line("");
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
}

void print_events(Context& context, const json::array& events) {
  context.console.line("");
  Table table({{"TIME"}, {"EVENT"}, {"STATE"}, {"WHAT", Align::kLeft, 30}});
  const Timestamp now = context.clock.now();
  const size_t first = events.size() > kEventsShown ? events.size() - kEventsShown : 0;
  std::string last_log;
  for (size_t i = first; i < events.size(); ++i) {
    const json::object& event = events[i].as_object();
    const std::string state = text_at(event, "state");
    const auto time = time_at(event, "time");
    table.add({time ? relative_time(*time, now) : "-", text_at(event, "kind"),
               Cell(state, service_colour(state)), text_at(event, "reason")});
    if (const std::string log = text_at(event, "log"); !log.empty()) last_log = log;
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  if (last_log.empty()) return;
  context.console.line("\nlast lines of the replica that ended:");
  context.console.line(printable(last_log));
}

Result<int> list_services(Context& context) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array services, session.list(session.in_workspace("/services"), {}, 0));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(services)}});
    return 0;
  }
  if (services.empty()) {
    context.console.hint("there are no services; deploy a model: slipway deploy NAME --model MODEL");
    return 0;
  }
  Table table({{"SERVICE"}, {"STATE"}, {"MODEL"}, {"REPLICAS"}, {"AUTH"}, {"ADDRESS", Align::kLeft, 20}});
  for (const json::value& item : services) {
    const json::object& service = item.as_object();
    const std::string state = text_at(service, "state");
    table.add(
        {text_at(service, "name"), Cell(state, service_colour(state)),
         models_text(object_at(service, "serving")),
         fmt::format("{}/{}", integer_at(service, "ready_replicas"), integer_at(service, "wanted_replicas")),
         text_at(service, "auth"), service_url(session, service)});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

Result<int> show_service(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::object service, session.get(service_path(session, name)));
  SLIPWAY_ASSIGN(json::array events, session.list(service_path(session, name) + "/events", {}, 0));
  if (context.console.json()) {
    service["events"] = std::move(events);
    context.console.print_json(service);
    return 0;
  }
  print_service(context, session, service);
  print_replicas(context, service);
  print_events(context, events);
  return 0;
}

// What the first replica that is not ready waits for, in a few words.
std::string waiting_for(Session& session, const json::object& service) {
  for (const json::value& item : array_at(service, "replica_list")) {
    const json::object& replica = item.as_object();
    if (text_at(replica, "state") != "starting" || text_at(replica, "run").empty()) continue;
    const auto run =
        session.get(session.in_workspace("/runs/" + http::percent_encode(text_at(replica, "run"))));
    if (!run) return "";
    const std::string why = text_at(*run, "waiting_because");
    return fmt::format("replica {} is {}{}{}", integer_at(replica, "number"), text_at(*run, "state"),
                       why.empty() ? "" : ": ", why);
  }
  return "";
}

}  // namespace

std::string service_path(const Session& session, const std::string& service) {
  return session.in_workspace("/services/" + http::percent_encode(service));
}

std::string service_url(const Session& session, const json::object& service) {
  std::string url = session.url();
  while (url.ends_with('/')) url.pop_back();
  return url + text_at(service, "path");
}

void print_service(Context& context, const Session& session, const json::object& service) {
  if (context.console.json()) {
    context.console.print_json(service);
    return;
  }
  const std::string name = text_at(service, "name");
  const std::string state = text_at(service, "state");
  const json::object& serving = object_at(service, "serving");
  Facts facts;
  facts.add("service", name, Colour::kBold);
  facts.add("state", state, service_colour(state));
  if (const std::string reason = text_at(service, "reason"); !reason.empty())
    facts.add("reason", reason, Colour::kYellow);
  facts.add("serves", fmt::format("{} (version {} of the service)", models_text(serving),
                                  integer_at(serving, "number")));
  if (has_value(service, "update")) {
    const json::object& update = object_at(service, "update");
    const std::string reason = text_at(update, "reason");
    facts.add("update",
              fmt::format("version {} {}{}{}", integer_at(update, "version"), text_at(update, "state"),
                          reason.empty() ? "" : ": ", reason),
              text_at(update, "state") == "failed" ? Colour::kRed : Colour::kYellow);
  }
  facts.add("address", service_url(session, service));
  if (const std::string own = own_url(session, service); !own.empty()) facts.add("own port", own);
  const std::string auth = text_at(service, "auth");
  facts.add("asks for", auth == "none"  ? "nothing"
                        : auth == "key" ? fmt::format("a key (slipway service keys {})", name)
                                        : fmt::format("a token (slipway service token {})", name));
  facts.add("replicas", replicas_text(service));
  facts.add("environment", text_at(serving, "environment"));
  facts.add("compute", text_at(serving, "compute"));
  add_traffic(facts, service);
  if (const std::string about = text_at(service, "description"); !about.empty())
    facts.add("description", about);
  if (const json::object& tags = object_at(service, "tags"); !tags.empty())
    facts.add("tags", value_text(tags));
  context.console.out(facts.render(context.console.colour_out()));
}

Result<json::object> wait_for_service(Context& context, Session& session, const std::string& name) {
  auto pause = std::chrono::milliseconds(20);
  for (int round = 0;; ++round) {
    SLIPWAY_ASSIGN(json::object service, session.get(service_path(session, name)));
    const json::object& update = object_at(service, "update");
    const std::string state = text_at(service, "state");
    const bool newest = integer_at(service, "version") == integer_at(service, "newest_version");
    const bool failed = state == "Failed" || text_at(update, "state") == "failed";
    if (newest && state == "Healthy" && integer_at(service, "ready_replicas") > 0) {
      context.console.progress("");
      return service;
    }
    if (failed) {
      context.console.progress("");
      const std::string reason = text_at(update, "reason");
      return fail(
          ErrorCode::kRunFailed,
          fmt::format("service '{}' cannot serve this: {}", name,
                      reason.empty() ? text_at(service, "reason") : reason),
          fmt::format("slipway service show {} tells more, slipway service logs {} all of it", name, name));
    }
    if (round % 10 == 9) context.console.progress(fmt::format("{} {}", state, waiting_for(session, service)));
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(250));
  }
}

void add_service_commands(Command root, Context& context) {
  Command service = root.command("service", "Look after deployed models", "slipway service");
  service.action([&context] { return list_services(context); });
  service.command("list", "List the services", "slipway service list").action([&context] {
    return list_services(context);
  });
  const auto name = std::make_shared<std::string>();
  Command show = service.command("show", "Show a service, its replicas and what happened to it",
                                 "slipway service show digits-svc");
  show.positional("NAME", *name, "the service", Completes::kService);
  show.action([name, &context] { return show_service(context, *name); });
  add_service_changes(service, context);
  add_service_use(service, context);
}

}  // namespace slipway::cli
