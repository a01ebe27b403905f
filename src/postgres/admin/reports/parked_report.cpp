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
  parked.first_detail = found[0]["first_detail"].as<std::string>("");
  return parked;
}

ParkedCount count_parked(Connection& connection, const std::string& process) {
  const auto row = connection.run(sql::reports::count_parked, {process})[0];
  return {
      row["rows"].as<std::uint64_t>(),
      row["heads"].as<std::uint64_t>(),
      row["redriven"].as<std::uint64_t>(),
      row["since"].as<std::string>(""),
      row["since_us"].is_null() ? std::nullopt : std::optional(row["since_us"].as<std::int64_t>()),
      row["due"].as<bool>()};
}

}  // namespace seriatim::postgres
