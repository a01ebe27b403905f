#include "postgres/admin/records/records_reader.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "postgres/wire/sql_text.hpp"
#include "sql/records.hpp"

namespace seriatim::postgres {

namespace {

const Connection::Options reading{.application = "seriatim/report",
                                  .statement_timeout = milliseconds{10'000},
                                  .lock_timeout = milliseconds{1'000}};

std::string required(const pqxx::row& row, const char* column) {
  return row[column].as<std::string>("");
}

std::optional<std::string> optional_text(const pqxx::row& row, const char* column) {
  return row[column].is_null() ? std::nullopt : std::optional(row[column].as<std::string>());
}

std::uint64_t count_in(const pqxx::row& row, const char* column) {
  return row[column].as<std::uint64_t>();
}

std::vector<JournalEntry> entries_of(const pqxx::result& rows) {
  std::vector<JournalEntry> entries;
  for (const auto& row : rows) {
    JournalEntry entry;
    entry.number = required(row, "number");
    entry.process = required(row, "process");
    entry.act = required(row, "act");
    if (!row["lane"].is_null()) entry.lane = row["lane"].as<unsigned>();
    entry.at = required(row, "at");
    entry.who = required(row, "who");
    entry.why = required(row, "why");
    entry.row_id = optional_text(row, "row_id");
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

pqxx::result RecordsReader::run(std::string_view sql, const Params& params) {
  const std::lock_guard lock(mutex_);
  try {
    if (!connection_) connection_.emplace(url_, reading);
    return connection_->run(sql, params);
  } catch (const SessionLost&) {
    connection_.reset();
    throw;
  }
}

std::vector<JournalEntry> RecordsReader::journal(const std::string& process,
                                                 const std::optional<std::string>& before,
                                                 unsigned entries_max) {
  return entries_of(run(sql::records::journal, {process, before, std::to_string(entries_max)}));
}

std::vector<JournalEntry> RecordsReader::journal(const std::vector<std::string>& processes,
                                                 const std::optional<std::string>& before,
                                                 unsigned entries_max) {
  return entries_of(run(sql::records::journal_of_all,
                        {array_text(processes), before, std::to_string(entries_max)}));
}

std::vector<JournalEntry> RecordsReader::journal_after(const std::vector<std::string>& processes,
                                                       const std::string& number,
                                                       unsigned entries_max) {
  return entries_of(run(sql::records::journal_after,
                        {array_text(processes), number, std::to_string(entries_max)}));
}

std::vector<HistoryMinute> RecordsReader::history(const std::string& process, unsigned minutes) {
  std::vector<HistoryMinute> history;
  for (const auto& row : run(sql::records::history, {process, std::to_string(minutes),
                                                     std::to_string(history_rows_max)})) {
    HistoryMinute minute;
    minute.minute = required(row, "minute");
    minute.lane = row["lane"].as<unsigned>();
    minute.delivered = count_in(row, "delivered");
    minute.failures = count_in(row, "failures");
    minute.calls = count_in(row, "calls");
    minute.call_sum_us = count_in(row, "call_sum_us");
    minute.call_max_us = count_in(row, "call_max_us");
    minute.age_max_us = count_in(row, "age_max_us");
    history.push_back(std::move(minute));
  }
  std::reverse(history.begin(), history.end());
  return history;
}

std::vector<AuditReport> RecordsReader::audits(const std::string& process, unsigned reports_max) {
  std::vector<AuditReport> reports;
  for (const auto& row : run(sql::records::audit_reports, {process, std::to_string(reports_max)})) {
    reports.push_back({required(row, "at"), required(row, "who"), row["sound"].as<bool>(),
                       count_in(row, "rows"), required(row, "hash"),
                       optional_text(row, "through_id"), optional_text(row, "through_at"),
                       required(row, "detail")});
  }
  return reports;
}

std::vector<AlertReport> RecordsReader::alerts(const std::vector<std::string>& processes,
                                               const std::optional<std::string>& before,
                                               unsigned alerts_max) {
  std::vector<AlertReport> alerts;
  for (const auto& row :
       run(sql::records::alerts, {array_text(processes), before, std::to_string(alerts_max)})) {
    AlertReport alert;
    alert.id = required(row, "id");
    alert.process = required(row, "process_name");
    if (!row["lane"].is_null()) alert.lane = row["lane"].as<unsigned>();
    alert.kind = required(row, "kind");
    alert.summary = required(row, "summary");
    alert.opened_at = required(row, "opened_at");
    alert.clear_since = optional_text(row, "clear_since");
    alert.resolved_at = optional_text(row, "resolved_at");
    alert.accepted_at = optional_text(row, "accepted_at");
    alerts.push_back(std::move(alert));
  }
  return alerts;
}

std::uint64_t RecordsReader::open_alerts(const std::vector<std::string>& processes) {
  return run(sql::records::open_alerts, {array_text(processes)})[0][0].as<std::uint64_t>();
}

std::vector<RelayReport> RecordsReader::relays(const std::vector<std::string>& processes) {
  std::vector<RelayReport> relays;
  for (const auto& row : run(sql::records::relays, {array_text(processes)})) {
    RelayReport relay{required(row, "name"),        required(row, "version"),
                      required(row, "config_hash"), {},
                      required(row, "started_at"),  count_in(row, "seen_ms")};
    auto names = row["processes"].as_array();
    using Juncture = pqxx::array_parser::juncture;
    for (auto [what, name] = names.get_next(); what != Juncture::done;
         std::tie(what, name) = names.get_next()) {
      if (what == Juncture::string_value) relay.processes.push_back(name);
    }
    relays.push_back(std::move(relay));
  }
  return relays;
}

}  // namespace seriatim::postgres
