#include "postgres/admin/prune/prune_readers.hpp"

#include <algorithm>

#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/prune.hpp"

namespace seriatim::postgres {

namespace {

std::string text(const pqxx::row& row, const char* column) {
  return row[column].is_null() ? std::string() : row[column].as<std::string>();
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(what + "; nothing was pruned");
}

const ConfiguredReader* find(const std::vector<ConfiguredReader>& configured,
                             const std::string& process) {
  const auto found = std::find_if(configured.begin(), configured.end(), [&](const auto& one) {
    return one.target->process.name == process;
  });
  return found == configured.end() ? nullptr : &*found;
}

/// A cursor of which it is not known what lies behind it.
void refuse_doubtful(const pqxx::row& row) {
  const auto process = text(row, "process");
  const bool here = row["configured_here"].as<bool>();
  if (row["lane"].is_null()) return;
  if (!row["table_known"].as<bool>() && !here) {
    if (row["configured_elsewhere"].as<bool>()) return;
    refuse("process " + process +
           ", which is not in this configuration, has a cursor that does not say which table it "
           "reads: run it once, or name its configuration with --config, or delete its rows from "
           "seriatim.cursor");
  }
  if (row["table_known"].as<bool>() && !row["kept_here"].as<bool>()) {
    refuse("the cursor of process " + process + " was kept for another table than the one " +
           (here ? "it is configured for" : "of that name now") + " (" + text(row, "kept_for") +
           "): seriatim adopt " + shell_word(process) + " once that was checked");
  }
  static const std::vector<std::string> doubts{"LATE_ROW", "CURSOR_AHEAD", "SOURCE_CHANGED",
                                               "CONFIG_CHANGED", "CLOCK_BACK"};
  if (text(row, "state") == "halted" &&
      std::find(doubts.begin(), doubts.end(), text(row, "reason")) != doubts.end()) {
    refuse("process " + process + ", lane " + text(row, "lane") + ", is halted " +
           text(row, "reason") + ": what lies behind its cursor is in question. " +
           text(row, "detail"));
  }
}

}  // namespace

PruneReaders::PruneReaders(Connection& connection, const Table& table,
                           const std::vector<ConfiguredReader>& configured) {
  std::vector<std::string> names;
  std::vector<std::string> oids;
  for (const auto& one : configured) {
    names.push_back(one.target->process.name);
    oids.push_back(one.table.oid);
  }
  const auto rows = connection.run(sql::prune::readers,
                                   {table.oid, table.name, array_text(names), array_text(oids)});
  for (const auto& row : rows) {
    refuse_doubtful(row);
    const bool here = row["configured_here"].as<bool>() ||
                      (!row["lane"].is_null() && row["kept_here"].as<bool>());
    if (here) add(row, configured);
  }
  note_missing(rows);
  for (const auto& reader : readers_) {
    if (reader.id == table.id) continue;
    refuse("process " + reader.process + " reads " + table.name + " by column " + reader.id +
           ", others by " + table.id + ": rows are distinguished by one id only");
  }
  make_conditions(table);
}

void PruneReaders::add(const pqxx::row& row, const std::vector<ConfiguredReader>& configured) {
  note_lowest(row);
  const auto process = text(row, "process");
  if (!readers_.empty() && readers_.back().process == process) return;
  Reader reader;
  reader.process = process;
  reader.configured = find(configured, process);
  if (reader.configured != nullptr) {
    const auto& source = reader.configured->target->source;
    reader.order_by = source.order_by;
    reader.id = reader.configured->table.id;
    reader.id_type = reader.configured->table.id_type;
    reader.created_at = reader.configured->table.created_at;
    if (source.late_rows == OnLateRow::deliver) reader.lookback = source.lookback;
  } else {
    reader.order_by = text(row, "order_by") == "id" ? OrderBy::id : OrderBy::created_at;
    reader.id = text(row, "id");
    reader.id_type = text(row, "id_type");
    reader.created_at = text(row, "created_at");
  }
  if (reader.id_type.empty() || reader.created_at.empty()) {
    refuse("process " + process + " reads a column the table has no more (" + reader.id + ")");
  }
  readers_.push_back(std::move(reader));
}

/// Before the first row is lowest of all.
void PruneReaders::note_lowest(const pqxx::row& row) {
  const bool at_start = row["lane"].is_null() || row["position_id"].is_null();
  const auto us = at_start ? INT64_MIN : row["position_us"].as<std::int64_t>();
  if (lowest_us_ && *lowest_us_ <= us) return;
  lowest_us_ = us;
  lowest_id_ = at_start ? "" : text(row, "position_id");
  lowest_ = "process " + text(row, "process");
  if (row["lane"].is_null()) {
    lowest_ += ", which never ran";
  } else if (at_start) {
    lowest_ += ", lane " + text(row, "lane") + ", which has delivered nothing yet";
  } else {
    lowest_ += ", lane " + text(row, "lane") + ", at row " + text(row, "position_id") + " of " +
               timestamp_text(us);
  }
}

/// A lane whose cursor row is gone: nobody knows which of its rows wait.
void PruneReaders::note_missing(const pqxx::result& rows) {
  for (const auto& reader : readers_) {
    std::size_t cursors = 0;
    std::size_t lanes = 0;
    for (const auto& row : rows) {
      if (text(row, "process") != reader.process || row["lane"].is_null()) continue;
      cursors += 1;
      lanes = std::max(lanes, row["lanes"].as<std::size_t>());
    }
    if (cursors >= lanes) continue;
    lowest_ = "process " + reader.process + ", of whose " + std::to_string(lanes) + " lanes " +
              std::to_string(lanes - cursors) + (lanes - cursors == 1 ? " has" : " have") +
              " no row in seriatim.cursor";
    lowest_id_.clear();
  }
}

std::vector<std::string> PruneReaders::names() const {
  std::vector<std::string> names;
  for (const auto& reader : readers_) names.push_back(reader.process);
  return names;
}

void PruneReaders::make_conditions(const Table& table) {
  for (const auto& reader : readers_) {
    const auto by_id = reader.order_by == OrderBy::id;
    if (!below_.empty()) below_ += "\nAND ";
    below_ += fill(by_id ? sql::prune::below_by_id : sql::prune::below_by_created_at,
                   {{"process", quote_literal(reader.process)},
                    {"id", reader.id},
                    {"id_type", reader.id_type},
                    {"created_at", reader.created_at},
                    {"lookback", std::to_string(reader.lookback.count())}});
  }
  free_ =
      fill(sql::prune::free, {{"processes", quote_literal(array_text(names()))}, {"id", table.id}});
}

}  // namespace seriatim::postgres
