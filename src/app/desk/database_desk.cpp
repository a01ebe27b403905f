// What is shown.
#include "app/desk/database_desk.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "app/checks.hpp"
#include "app/desk/desk_json.hpp"
#include "app/desk/masked_payload.hpp"
#include "app/text.hpp"

namespace seriatim::app {

namespace {

using console::NotFound;
using console::Refused;

constexpr std::ptrdiff_t reads_at_once = 2;
constexpr unsigned page_max = 1'000;
constexpr unsigned history_minutes_max = 25 * 60;
constexpr unsigned audits_shown = 50;

std::vector<std::string> names_of_processes(const std::vector<const ConfiguredProcess*>& all) {
  std::vector<std::string> names;
  for (const auto* process : all) names.push_back(process->target.process.name);
  return names;
}

unsigned page_of(unsigned limit) {
  return std::clamp(limit, 1U, page_max);
}

/// A place in a list, as the page before named it; the server reads it as a number.
std::optional<std::string> place_in_list(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return text;
  throw Refused("\"" + printable(text) + "\" is no place in this list",
                "pass what \"next\" of the page before said");
}

/// One more than was asked for was read, if there is more.
template <class T, class F>
std::optional<std::string> cut_page(std::vector<T>& all, unsigned limit, F&& number_of) {
  if (all.size() <= limit) return std::nullopt;
  all.resize(limit);
  return number_of(all.back());
}

}  // namespace

DatabaseDesk::DatabaseDesk(Parts parts)
    : parts_(std::move(parts)),
      url_(parts_.context.database_url()),
      names_(names_of_processes(parts_.processes)),
      concerned_(names_),
      records_(url_),
      alerts_open_([this]() -> std::optional<std::uint64_t> {
        try {
          return records_.open_alerts(concerned_);
        } catch (const Error&) {  // what is shown does not depend on it
          return std::nullopt;
        }
      }),
      checks_([this, names = parts_.context.config().names()] {
        return findings_json(findings_of(url_, parts_.processes, names));
      }),
      reads_(reads_at_once) {
  concerned_.emplace_back();
}

const postgres::Target& DatabaseDesk::target_of(const std::string& process) const {
  for (const auto* one : parts_.processes) {
    if (one->target.process.name == process) return one->target;
  }
  throw NotFound("no process of the configuration is called \"" + printable(process) + '"');
}

std::string DatabaseDesk::shown(const std::string& text) const {
  return parts_.context.secrets().redact(text);
}

/// A report on a connection of its own.
std::string DatabaseDesk::read(const Report& report) {
  struct Turn {
    std::counting_semaphore<>& turns;
    explicit Turn(std::counting_semaphore<>& all) : turns(all) { turns.acquire(); }
    ~Turn() { turns.release(); }
  };
  const Turn turn(reads_);
  postgres::Admin admin(url_);
  return shown(report(admin));
}

/// … about a row that a person named: what is wrong with it is that it is not there.
std::string DatabaseDesk::read_named(const Report& report) {
  try {
    return read(report);
  } catch (const SessionLost&) {
    throw;
  } catch (const SourceBroken&) {
    throw;
  } catch (const Error& error) {
    throw NotFound(shown(error.what()));
  }
}

DatabaseDesk::Snapshot DatabaseDesk::snapshot() {
  const auto timed = parts_.reader.read_timed();
  const StatusTimes times{timed->at, std::chrono::system_clock::now()};
  auto read = snapshot_json(timed->lanes, times, *alerts_open_.get());
  read.status = shown(read.status);
  return read;
}

bool DatabaseDesk::knows(const std::string& process) const {
  return std::find(names_.begin(), names_.end(), process) != names_.end();
}

std::string DatabaseDesk::rows(const std::string& process, unsigned lane, unsigned limit) {
  const auto& target = target_of(process);
  if (lane >= target.process.lanes) {
    throw NotFound("process \"" + process + "\" has no lane " + std::to_string(lane));
  }
  const auto mask = [this](std::string_view payload) {
    return masked_payload(payload, parts_.shown_paths);
  };
  return read([&](postgres::Admin& admin) {
    return rows_json(admin.peek(target, lane, page_of(limit)), false,
                     parts_.masked ? PayloadMask(mask) : PayloadMask());
  });
}

std::string DatabaseDesk::row(const std::string& process, const std::string& id) {
  const auto& target = target_of(process);
  return read_named([&](postgres::Admin& admin) {
    const auto story = admin.why(target, id);
    if (!parts_.masked || !story.in_table) return row_json(story);
    std::optional<std::string> masked;
    try {
      const auto payload = admin.payload(target, id);
      if (payload) masked = masked_payload(*payload, parts_.shown_paths);
    } catch (const Error&) {  // the story is complete without it
    }
    return row_json(story, &masked);
  });
}

std::string DatabaseDesk::parked(const std::string& process, const std::optional<std::string>& key,
                                 const std::string& after, unsigned limit) {
  const auto& target = target_of(process);
  const auto from = place_in_list(after).value_or("0");
  const auto size = page_of(limit);
  return read([&](postgres::Admin& admin) {
    std::vector<postgres::ParkedRow> rows;
    admin.parked(
        target, key, size + 1, [&](const auto& row) { rows.push_back(row); }, from);
    const auto next = cut_page(rows, size, [](const auto& row) { return row.number; });
    return parked_json(process, rows, admin.parked_count(target), next);
  });
}

std::string DatabaseDesk::history(const std::string& process, unsigned minutes) {
  static_cast<void>(target_of(process));
  const auto asked = std::clamp(minutes, 1U, history_minutes_max);
  return shown(history_json(process, records_.history(process, asked)));
}

std::string DatabaseDesk::audits(const std::string& process) {
  static_cast<void>(target_of(process));
  return shown(audits_json(process, records_.audits(process, audits_shown)));
}

std::string DatabaseDesk::journal(const std::optional<std::string>& process,
                                  const std::string& before, unsigned limit) {
  if (process) static_cast<void>(target_of(*process));
  const auto from = place_in_list(before);
  const auto size = page_of(limit);
  auto entries = process ? records_.journal(*process, from, size + 1)
                         : records_.journal(concerned_, from, size + 1);
  const auto next = cut_page(entries, size, [](const auto& entry) { return entry.number; });
  return shown(journal_json(entries, next));
}

std::string DatabaseDesk::journal_after(const std::string& number, unsigned limit) {
  const auto from = place_in_list(number).value_or("0");
  const auto size = page_of(limit);
  auto entries = records_.journal_after(concerned_, from, size + 1);
  const auto next = cut_page(entries, size, [](const auto& entry) { return entry.number; });
  return shown(journal_json(entries, next));
}

std::string DatabaseDesk::reveal(const std::string& process, const std::string& id,
                                 const std::string& who, const std::string& reason) {
  const auto& target = target_of(process);
  return read_named([&](postgres::Admin& admin) {
    return revealed_json(admin.reveal(target, id, {who, reason}));
  });
}

std::string DatabaseDesk::checks() {
  return shown(*checks_.get());
}

std::string DatabaseDesk::alerts(const std::string& before, unsigned limit) {
  const auto from = place_in_list(before);
  const auto size = page_of(limit);
  auto alerts = records_.alerts(concerned_, from, size + 1);
  const auto next = cut_page(alerts, size, [](const auto& alert) { return alert.id; });
  return shown(alerts_json(alerts, next));
}

std::string DatabaseDesk::relays() {
  return shown(relays_json(records_.relays(names_), parts_.own_name()));
}

}  // namespace seriatim::app
