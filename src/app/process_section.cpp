#include "app/process_section.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "app/text.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

using std::chrono::milliseconds;

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t name_bytes_max = 63;
constexpr unsigned lanes_max = 1024;
constexpr unsigned in_flight_max = 1024;
constexpr unsigned window_rows_max = 65'536;
constexpr unsigned rate_rows_max = 1'000'000;
constexpr unsigned batch_rows_max = 100'000;
constexpr std::size_t bytes_max = 1U << 30U;  // PostgreSQL's own limit for one value

struct Range {
  milliseconds min;
  milliseconds max;
};

void read_duration(Options& from, std::string_view key, milliseconds& value, Range range) {
  const auto read = from.duration(key, value);
  if (read >= range.min && read <= range.max) {
    value = read;
  } else {
    from.problem(
        key, "must be between " + human_duration(range.min) + " and " + human_duration(range.max));
  }
}

void read_count(Options& from, std::string_view key, unsigned& value, unsigned min, unsigned max) {
  value = static_cast<unsigned>(from.integer(key, value, min, max));
}

void read_size(Options& from, std::string_view key, std::size_t& value) {
  const auto read = from.bytes(key, value);
  if (read >= 1 && read <= bytes_max) {
    value = read;
  } else {
    from.problem(key, "must be between 1 and " + human_bytes(bytes_max));
  }
}

/// "10/s", "600/min", "100/h"
std::optional<RateLimit> rate_of(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto digits = text.substr(0, slash);
  const auto unit = text.substr(slash + 1);
  RateLimit limit;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), limit.rows);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (limit.rows == 0 || limit.rows > rate_rows_max) return std::nullopt;
  if (unit == "s") return limit;
  limit.per = unit == "min" ? milliseconds(minutes(1)) : milliseconds(hours(1));
  return unit == "min" || unit == "h" ? std::optional(limit) : std::nullopt;
}

void read_rate(Options& section, std::string_view key, RateLimit& value) {
  if (!section.has(key)) return;
  const auto text = section.text(key, "");
  const auto rate = rate_of(text);
  if (rate) {
    value = *rate;
  } else {
    section.problem(key,
                    R"(must be rows and a time, such as "10/s", "600/min" or "100/h", with 1 to )" +
                        std::to_string(rate_rows_max) + " rows");
  }
}

std::string read_name(Options& section) {
  auto name = section.required_text("name");
  if (name.size() > name_bytes_max) {
    section.problem("name", "has " + std::to_string(name.size()) + " bytes; at most 63 fit");
  }
  if (printable(name) != name) {
    section.problem("name", "holds control characters; use letters, digits and \"_\"");
  }
  return name;
}

BackoffConfig read_backoff(Options section) {
  BackoffConfig backoff;
  read_duration(section, "first", backoff.first, {milliseconds{1}, hours{24}});
  read_duration(section, "max", backoff.max, {milliseconds{1}, hours{24}});
  read_duration(section, "retry_after_max", backoff.retry_after_max, {milliseconds{0}, hours{24}});
  if (backoff.first > backoff.max) section.problem("first", "must not exceed max");
  section.finish();
  return backoff;
}

void read_failures(Options& section, ProcessConfig& process) {
  process.on_poison =
      static_cast<OnPoison>(section.choice("on_poison", 0, {"halt", "park_key", "dead_letter"}));
  read_count(section, "max_parked", process.max_parked, 0, 1'000'000);
  process.on_retry = static_cast<OnRetry>(section.choice("on_retry", 0, {"wait", "hold_key"}));
  read_count(section, "max_held_keys", process.max_held_keys, 1, 1'000'000);
  if (process.on_retry == OnRetry::hold_key && process.on_poison != OnPoison::park_key) {
    section.problem(
        "on_retry",
        "\"hold_key\" needs on_poison = \"park_key\": a row that turns out to be poison "
        "while its key is held must not halt the lane for the other keys");
  }
  process.on_unknown =
      section.choice("on_unknown", 0, {"retry", "halt"}) == 0 ? OnUnknown::retry : OnUnknown::halt;
  read_count(section, "max_attempts", process.max_attempts, 0, 1'000'000);
  read_count(section, "max_crashes", process.max_crashes, 1, 1'000);
  process.backoff = read_backoff(section.table("backoff"));
}

/// What rests on one call after another is refused next to it.
void read_in_flight(Options& section, ConfiguredProcess& configured) {
  auto& process = configured.target.process;
  read_count(section, "in_flight", process.in_flight, 1, in_flight_max);
  read_count(section, "window_rows", process.window_rows, 2, window_rows_max);
  if (process.in_flight == 1) return;
  if (process.window_rows < process.in_flight + process.commit_every) {
    section.problem("window_rows", "must be at least in_flight and commit_every together (" +
                                       std::to_string(process.in_flight + process.commit_every) +
                                       ')');
  }
  if (configured.target.source.key.empty()) {
    section.problem("in_flight",
                    "more than one call at once needs source.key: rows of one key go out one after "
                    "another");
  }
  const auto& kind = configured.handler_kind;
  const auto* why = kind == "sql"     ? "which writes in the transaction of the cursor"
                    : kind == "redis" ? "whose stream takes ascending numbers only"
                    : kind == "nats"  ? "which names the message before each message"
                                      : nullptr;
  if (why != nullptr) {
    section.problem("in_flight", "more than one call at once does not go with handler " + kind +
                                     ", " + why + ": use lanes instead");
  }
}

void read_pace(Options& section, ProcessConfig& process) {
  read_count(section, "batch_rows", process.batch_rows, 1, batch_rows_max);
  read_count(section, "commit_every", process.commit_every, 1, batch_rows_max);
  if (process.commit_every > process.batch_rows) {
    section.problem("commit_every",
                    "must not exceed batch_rows (" + std::to_string(process.batch_rows) + ')');
  }
  read_duration(section, "handler_deadline", process.handler_deadline,
                {milliseconds{1}, hours{24}});
  read_rate(section, "rate_limit", process.rate_limit);
  read_rate(section, "key_rate_limit", process.key_rate_limit);
  read_duration(section, "max_hold", process.max_hold, {milliseconds{1}, seconds{60}});
  read_duration(section, "poll_interval_min", process.poll_interval_min,
                {milliseconds{1}, seconds{60}});
  read_duration(section, "poll_interval_max", process.poll_interval_max,
                {milliseconds{1}, seconds{60}});
  if (process.poll_interval_min > process.poll_interval_max) {
    section.problem("poll_interval_min", "must not exceed poll_interval_max (" +
                                             human_duration(process.poll_interval_max) + ')');
  }
  read_duration(section, "lease", process.lease, {seconds{1}, hours{1}});
  read_duration(section, "standby_interval", process.standby_interval,
                {milliseconds{1}, seconds{60}});
  if (process.standby_interval > process.lease) {
    section.problem("standby_interval",
                    "must not exceed lease (" + human_duration(process.lease) + ')');
  }
}

/// The columns of Debezium's outbox event router, so that its table can be read as it is. It
/// names no column for the time: `created_at` (or order_by = "id" with an identity) must be there.
SourceConfig debezium_preset() {
  SourceConfig source;
  source.table = "public.outboxevent";
  source.key = "aggregateid";
  source.event_type = "type";
  source.payload = "payload";
  return source;
}

void read_columns(Options& section, SourceConfig& source, FormerKeys& former_keys) {
  const auto read = [&](std::string_view key, std::string& value, bool may_be_empty) {
    value = section.text(key, value);
    if (value.empty() && !may_be_empty) section.problem(key, "must not be empty");
    if (value.find('\0') != std::string::npos) section.problem(key, "holds a NUL character");
  };
  read("table", source.table, false);
  read("id", source.id, false);
  read("created_at", source.created_at, false);
  read("key", source.key, true);
  read("event_type", source.event_type, true);
  read("payload", source.payload, true);
  read("headers", source.headers, true);
  read("where", source.where, true);
  read("delivered_at_column", source.delivered_at_column, true);
  if (section.has("mark")) {  // its former name
    if (section.has("delivered_at_column"))
      section.problem("mark", "is the former name of delivered_at_column: keep one");
    read("mark", source.delivered_at_column, true);
    former_keys.emplace_back("source.mark", "source.delivered_at_column");
  }
  source.ignore = section.texts("ignore");
}

void read_late_rows(Options& section, SourceConfig& source) {
  source.late_rows = section.choice("late_rows", 0, {"halt", "deliver"}) == 0 ? OnLateRow::halt
                                                                              : OnLateRow::deliver;
  if (source.late_rows == OnLateRow::deliver && source.order_by == OrderBy::id) {
    section.problem(
        "late_rows",
        "\"deliver\" goes by created_at; ids drawn from a sequence are not late, so leave "
        "it out, or set order_by = \"created_at\"");
  }
  if (section.has("lookback") && source.late_rows == OnLateRow::halt) {
    section.problem("lookback",
                    "is for late_rows = \"deliver\"; without it late rows halt the lane");
  }
  read_duration(section, "lookback", source.lookback, {milliseconds{1}, hours{24}});
  read_duration(section, "audit_window", source.audit_window, {seconds{1}, hours{24 * 366}});
}

SourceConfig read_source(Options section, FormerKeys& former_keys) {
  const bool debezium = section.choice("preset", 0, {"outbox", "debezium"}) == 1;
  auto source = debezium ? debezium_preset() : SourceConfig{};
  read_columns(section, source, former_keys);
  source.order_by =
      section.choice("order_by", 0, {"created_at", "id"}) == 0 ? OrderBy::created_at : OrderBy::id;
  source.guard =
      section.choice("guard", 0, {"fence", "latency"}) == 0 ? Guard::fence : Guard::latency;
  if (source.guard == Guard::latency && source.order_by == OrderBy::id) {
    section.problem("guard",
                    "\"latency\" measures created_at, so it needs order_by = \"created_at\"");
  }
  read_duration(section, "insert_latency", source.insert_latency, {milliseconds{0}, hours{1}});
  read_late_rows(section, source);
  read_size(section, "payload_max", source.payload_max);
  read_size(section, "batch_bytes", source.batch_bytes);
  source.listen = section.flag("listen", source.listen);
  source.start = section.text_or_integer("start", source.start);
  if (source.start.empty() || source.start.find('\0') != std::string::npos) {
    section.problem("start", "must be \"beginning\", \"now\", a row's id or a time");
  }
  section.finish();
  return source;
}

void refuse_both_lists(Options& section, const postgres::Target& target) {
  for (const auto& type : target.source.ignore) {
    const auto& wanted = target.process.event_types;
    if (std::find(wanted.begin(), wanted.end(), type) == wanted.end()) continue;
    section.problem("event_types", "\"" + printable(type) + "\" is in source.ignore too");
  }
}

void read_handler(Options section, const HandlerRegistry& handlers, bool commits_named,
                  ConfiguredProcess& process) {
  process.handler_kind = section.required_text("kind");
  if (process.handler_kind.empty()) return;
  const auto* kind = handlers.find(process.handler_kind);
  if (kind == nullptr) {
    section.problem("kind", handlers.why_missing(printable(process.handler_kind, 63)));
    return;
  }
  try {
    process.handler = kind->configure(section);
    const bool batches =
        kind->takes_batches || (kind->takes_batches_if && kind->takes_batches_if(section));
    if (batches && !commits_named) {
      process.target.process.commit_every = process.target.process.batch_rows;
    }
  } catch (const std::exception& thrown) {
    section.problem("kind", thrown.what());
  }
  section.finish();
}

}  // namespace

ConfiguredProcess read_process(Options& section, const HandlerRegistry& handlers) {
  ConfiguredProcess result;
  auto& process = result.target.process;
  process.name = read_name(section);
  read_count(section, "lanes", process.lanes, 1, lanes_max);
  process.event_types = section.texts("event_types");
  read_failures(section, process);
  read_pace(section, process);
  result.target.source = read_source(section.table("source"), result.former_keys);
  if (process.lanes > 1 && result.target.source.key.empty()) {
    section.problem("lanes", "more than one lane needs source.key, which assigns rows to lanes");
  }
  if (process.on_poison == OnPoison::park_key && result.target.source.key.empty()) {
    section.problem("on_poison", "\"park_key\" needs source.key, which says whose rows queue");
  }
  if (process.key_rate_limit.rows > 0 && result.target.source.key.empty()) {
    section.problem("key_rate_limit", "needs source.key, which says whose rows are counted");
  }
  refuse_both_lists(section, result.target);
  read_handler(section.table("handler"), handlers, section.has("commit_every"), result);
  read_in_flight(section, result);
  process.read_ahead = section.flag("read_ahead", process.commit_every > 1);
  section.finish();
  return result;
}

}  // namespace seriatim::app
