#include "postgres/admin/acts/parked_acts.hpp"

#include <algorithm>
#include <utility>

#include "postgres/admin/acts/act.hpp"
#include "postgres/admin/reports/lane_rows.hpp"
#include "postgres/wire/shell_word.hpp"
#include "seriatim_sql.hpp"

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

std::string name_of(const ParkedChoice& choice) {
  if (choice.id) return "row " + *choice.id;
  if (choice.key) return "any row of key \"" + *choice.key + '"';
  return "any row";
}

[[noreturn]] void nothing_chosen(const Target& target, const ParkedChoice& choice) {
  throw Error("process \"" + target.process.name + "\" has not parked " + name_of(choice) +
              "; nothing was changed: seriatim parked list " + shell_word(target.process.name));
}

/// The same statement for each lane, in one transaction; answers how many rows it named in each.
std::vector<std::uint64_t> act(Connection& connection, std::string_view statement,
                               const std::vector<LaneRow>& lanes, const ParkedChoice& choice,
                               const Actor& actor) {
  std::vector<std::uint64_t> rows;
  for (const auto& lane : lanes) {
    const auto changed = change(connection, statement, lane, actor,
                                {choice.id, choice.key, choice.id || choice.key ? "false" : "true",
                                 std::to_string(lane.id.lanes)});
    rows.push_back(changed[0]["rows"].as<std::uint64_t>());
  }
  return rows;
}

std::string counted(std::uint64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

/// Why rows that are due do not go out yet.
std::string standstill(const LaneRow& lane) {
  const auto& process = lane.id.process;
  switch (lane.cursor.state) {
    case Cursor::State::halted: return "; the lane is halted: they go out after `retry` or `skip`";
    case Cursor::State::paused:
      return "; the lane is paused: seriatim resume " + shell_word(process);
    case Cursor::State::running:
    case Cursor::State::retrying: break;
  }
  return lane.holder_alive ? "" : "; nobody runs this process: seriatim run " + shell_word(process);
}

ActResult tell(const std::vector<LaneRow>& lanes, const std::vector<std::uint64_t>& rows,
               const std::function<std::string(const LaneRow&, std::uint64_t)>& what) {
  ActResult result;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (rows[i] > 0) result.push_back(lane_name(lanes[i]) + ": " + what(lanes[i], rows[i]));
  }
  return result;
}

}  // namespace

void list_parked(Connection& connection, const Target& target,
                 const std::optional<std::string>& key, std::uint64_t rows_max,
                 const std::function<void(const ParkedRow&)>& each) {
  std::string last = "0";
  while (rows_max > 0) {
    const auto asked = std::min(rows_max, rows_at_once);
    const auto page =
        connection.run(sql::list_parked, {target.process.name, key, last, std::to_string(asked)});
    for (const auto& row : page) {
      auto parked = row_from(row);
      parked.position = {row["created_at_us"].as<std::int64_t>(), row["row_id"].as<std::string>()};
      last = row["number"].as<std::string>();
      each(parked);
    }
    if (std::cmp_less(page.size(), asked)) return;
    rows_max -= asked;
  }
}

std::optional<ParkedRow> find_parked(Connection& connection, const std::string& process,
                                     const std::string& id) {
  const auto found = connection.run(sql::parked_row, {process, id});
  if (found.empty()) return std::nullopt;
  auto parked = row_from(found[0]);
  parked.position.id = id;
  parked.first_id = text_of(found[0]["first_id"]);
  parked.first_detail = found[0]["first_detail"].as<std::string>("");
  return parked;
}

ParkedCount count_parked(Connection& connection, const std::string& process) {
  const auto row = connection.run(sql::count_parked, {process})[0];
  return {row["rows"].as<std::uint64_t>(), row["heads"].as<std::uint64_t>(),
          row["redriven"].as<std::uint64_t>(), row["since"].as<std::string>("")};
}

ActResult redrive_parked(Connection& connection, const Target& target, const ParkedChoice& choice,
                         const Actor& actor) {
  const auto lanes = lock_lanes(connection, target.process.name);
  const auto rows = act(connection, sql::redrive_parked, lanes, choice, actor);
  auto result = tell(lanes, rows, [](const LaneRow& lane, std::uint64_t count) {
    return counted(count) + " handed over again, in the order parked" + standstill(lane);
  });
  if (result.empty()) nothing_chosen(target, choice);
  connection.commit();
  return result;
}

ActResult discard_parked(Connection& connection, const Target& target, const ParkedChoice& choice,
                         const Actor& actor) {
  if (!stored_reason(actor)) {
    throw Error("discard needs a reason for the journal; nothing was discarded: --reason \"…\"");
  }
  const auto lanes = lock_lanes(connection, target.process.name);
  const auto rows = act(connection, sql::discard_parked, lanes, choice, actor);
  auto result = tell(lanes, rows, [](const LaneRow&, std::uint64_t count) {
    return counted(count) + " discarded: set aside for good";
  });
  if (result.empty()) nothing_chosen(target, choice);
  connection.run(sql::promote_heads, {target.process.name});
  connection.commit();
  return result;
}

}  // namespace seriatim::postgres
