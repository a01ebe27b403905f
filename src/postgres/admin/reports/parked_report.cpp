#include "postgres/admin/reports/parked_report.hpp"

#include <algorithm>
#include <utility>

#include "sql/reports.hpp"

namespace seriatim::postgres {

namespace {

constexpr std::uint64_t rows_at_once = 1'000;

std::optional<std::string> text_of(const pqxx::field& field) {
  return field.is_null() ? std::nullopt : std::optional(field.as<std::string>());
}

ParkedRow row_from(const pqxx::row& row) {
  ParkedRow parked;
  parked.key = text_of(row["key"]);
  parked.holds_key = row["holds_key"].as<bool>();
  parked.head = row["head"].as<bool>();
  parked.attempts = row["attempts"].as<unsigned>();
  parked.detail = row["detail"].as<std::string>("");
  parked.parked_at = row["parked_at"].as<std::string>();
  parked.redriven = row["redriven"].as<bool>();
  parked.retry_at = row["retry_at"].as<std::string>("");
  return parked;
}

}  // namespace

void list_parked(Connection& connection, const Target& target,
                 const std::optional<std::string>& key, std::uint64_t rows_max,
                 const std::function<void(const ParkedRow&)>& each, const std::string& after) {
  auto last = after;
  while (rows_max > 0) {
    const auto asked = std::min(rows_max, rows_at_once);
    const auto page = connection.run(sql::reports::list_parked,
                                     {target.process.name, key, last, std::to_string(asked)});
    for (const auto& row : page) {
      auto parked = row_from(row);
      parked.position = {row["created_at_us"].as<std::int64_t>(), row["row_id"].as<std::string>()};
      last = parked.number = row["number"].as<std::string>();
      each(parked);
    }
    if (std::cmp_less(page.size(), asked)) return;
    rows_max -= asked;
  }
}

std::optional<ParkedRow> find_parked(Connection& connection, const std::string& process,
                                     const std::string& id) {
  const auto found = connection.run(sql::reports::parked_row, {process, id});
  if (found.empty()) return std::nullopt;
  auto parked = row_from(found[0]);
  parked.position.id = id;
  parked.first_id = text_of(found[0]["first_id"]);
  parked.first_retry_at = found[0]["first_retry_at"].as<std::string>("");
  parked.first_detail = found[0]["first_detail"].as<std::string>("");
  return parked;
}

ParkedCount count_parked(Connection& connection, const std::string& process) {
  const auto row = connection.run(sql::reports::count_parked, {process})[0];
  const auto micros = [&](const char* column) {
    const auto field = row[column];
    return field.is_null() ? std::nullopt : std::optional(field.as<std::int64_t>());
  };
  return {.rows = row["rows"].as<std::uint64_t>(),
          .heads = row["heads"].as<std::uint64_t>(),
          .redriven = row["redriven"].as<std::uint64_t>(),
          .since = row["since"].as<std::string>(""),
          .since_us = micros("since_us"),
          .due = row["due"].as<bool>(),
          .held_rows = row["held_rows"].as<std::uint64_t>(),
          .held_keys = row["held_keys"].as<std::uint64_t>(),
          .held_since = row["held_since"].as<std::string>(""),
          .held_since_us = micros("held_since_us")};
}

}  // namespace seriatim::postgres
