#include "postgres/admin/reports/why.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "postgres/admin/reports/lane_report.hpp"
#include "postgres/admin/reports/parked_report.hpp"
#include "postgres/reader/fence_reader.hpp"
#include "postgres/reader/row_reader.hpp"
#include "postgres/store/noted_ids.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/reader.hpp"
#include "sql/reports.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

using State = RowReport::State;

std::optional<OrderKey> number_in(const std::string& text) {
  OrderKey value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

/// One question about one row: each check fills in what it finds.
class Inquiry {
 public:
  Inquiry(Connection& connection, const Target& target, const std::string& id)
      : connection_(connection),
        target_(target),
        table_(resolve_table(connection, target.source)),
        lanes_(all_lanes(connection, target)) {
    refuse_retired(lanes_);
    report_.process = target.process.name;
    report_.id = canonical(id);
  }

  RowReport answer() {
    const bool there = find();
    if (check_noted()) return std::move(report_);
    if (!there) {
      search_history();
    } else if (judge() && !is_filtered()) {
      place();
    }
    return std::move(report_);
  }

 private:
  std::string canonical(const std::string& id) {
    try {
      return connection_.run(statement_for(sql::reports::canonical_id, table_, {}), {id})[0][0]
          .as<std::string>();
    } catch (const SourceBroken&) {
      throw Error("\"" + id + "\" is no id of table " + table_.name + ": its ids are of type " +
                  table_.id_type);
    }
  }

  bool by_id() const { return target_.source.order_by == OrderBy::id; }

  pqxx::result run(std::string_view sql, const Params& params, const LaneId& lane = {}) {
    return connection_.run(statement_for(sql, table_, lane), params);
  }

  // --- the row itself ---------------------------------------------------------------------------

  bool find() {
    const auto found = run(sql::reports::find_row, {report_.id});
    if (found.empty()) return false;
    report_.in_table = true;
    report_.same_id = found[0]["same_id"].as<std::uint64_t>();
    if (!found[0]["created_at_us"].is_null()) {
      report_.created_at_us = found[0]["created_at_us"].as<std::int64_t>();
    }
    return true;
  }

  /// What the configured expressions make of the row. One that fails leaves the lane unknown where
  /// there are several: then nothing more can be said.
  bool judge() {
    const auto lanes = std::to_string(lanes_.front().id.lanes);
    try {
      const auto row = run(sql::reports::judge_row, {report_.id, lanes});
      if (row.empty()) return false;  // deleted a moment ago
      if (!row[0]["matches"].is_null()) report_.matches = row[0]["matches"].as<bool>();
      check_ignored(row[0]["event_type"].as<std::string>(""));
      if (!row[0]["key"].is_null()) report_.key = row[0]["key"].as<std::string>();
      enter_lane(row[0]["lane"].as<unsigned>());
    } catch (const SourceBroken& broken) {
      if (broken.reason() != HaltReason::bad_payload) throw;
      report_.unreadable = broken.what();
      report_.matches = true;
      if (lanes_.size() > 1) {
        report_.state = State::waiting;
        return false;
      }
      enter_lane(0);
    }
    return true;
  }

  void check_ignored(const std::string& event_type) {
    const auto& ignore = target_.source.ignore;
    if (std::find(ignore.begin(), ignore.end(), event_type) != ignore.end()) {
      report_.ignored = event_type;
    }
  }

  void enter_lane(unsigned lane) {
    const auto row = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const LaneRow& r) { return r.id.lane == lane; });
    if (row == lanes_.end()) return;
    lane_id_ = row->id;
    report_.lane = report_lane(connection_, target_, table_, *row);
  }

  bool is_filtered() {
    if (report_.matches == true) return false;
    report_.state = State::filtered;
    report_.where = target_.source.where;
    return true;
  }

  // --- its place --------------------------------------------------------------------------------

  void place() {
    if (!report_.created_at_us && !by_id()) {
      report_.state = State::unplaced;
      return;
    }
    if (!report_.lane) return;
    const auto& cursor = report_.lane->lane.position;
    const auto due = connection_.run(sql::reports::due_before, {report_.process, report_.id});
    if (!due.empty()) {  // wherever its place is
      report_.rows_before = due[0]["rows_before"].as<std::uint64_t>();
    } else {
      if (!is_after(cursor)) return check_behind(cursor);
      if (report_.lane->next_id == report_.id) report_.rows_before = 0;
      if (report_.unreadable.empty()) check_readable(cursor);
    }
    const bool first = report_.rows_before == 0;
    report_.state = first ? State::next : State::waiting;
    place_in_lane();
  }

  bool is_after(const std::optional<Position>& cursor) {
    const auto at = cursor ? std::optional(timestamp_text(cursor->created_at_us)) : std::nullopt;
    const auto id = cursor ? std::optional(cursor->id) : std::nullopt;
    const auto ask = [&](std::uint64_t count_max) {
      const auto counted = std::to_string(count_max);
      return run(sql::reports::row_place,
                 {at, id, report_.id, counted, report_.process, std::to_string(lane_id_.lane)},
                 lane_id_);
    };
    try {
      const auto found = ask(LaneReport::lag_records_max);
      if (found.empty()) return false;
      report_.rows_before = found[0]["rows_before"].as<std::uint64_t>();
      return found[0]["after_cursor"].as<bool>();
    } catch (const SourceBroken& broken) {  // `where` fails at an earlier row, or at this one
      if (broken.reason() != HaltReason::bad_payload) throw;
    }
    const auto& unread = report_.lane->unread;
    const bool is_it = unread && unread->id == report_.id;
    report_.rows_before = is_it ? unread->rows_before : std::nullopt;
    const auto found = ask(0);
    return !found.empty() && found[0]["after_cursor"].as<bool>();
  }

  void check_behind(const std::optional<Position>& cursor) {
    report_.state = State::passed;
    if (check_skipped()) return;
    if (cursor && cursor->id == report_.id) {
      report_.state = State::delivered;
      report_.sequence = report_.lane->lane.sequence;
    } else if (is_audited()) {
      report_.state = State::late;
    }
  }

  bool is_audited() {
    const auto found = run(sql::reports::row_audited,
                           {report_.process, std::to_string(lane_id_.lane), report_.id});
    return !found.empty() && found[0]["audited"].as<bool>();
  }

  void check_readable(const std::optional<Position>& cursor) {
    RowReader reader(connection_, table_, target_.source, lane_id_);
    const auto batch = reader.read_one({cursor, order_key_max, std::nullopt}, report_.id);
    if (batch.unreadable) report_.unreadable = batch.unreadable->detail;
  }

  void place_in_lane() {
    const auto& lane = *report_.lane;
    const auto number = std::to_string(lane.lane.lane);
    if (lane.lane.state == LaneState::paused) report_.act = act("pause", number, std::nullopt);
    if (lane.lane.state == LaneState::halted) report_.act = act("halt", number, std::nullopt);
    const bool ripens = !by_id() && lane.lane.state == LaneState::running && !lane.called_for;
    if (ripens && lane.lag_age && *lane.lag_age < target_.source.insert_latency) {
      report_.ripens_in = target_.source.insert_latency - *lane.lag_age;
    }
  }

  // --- what was noted of it
  // -----------------------------------------------------------------------

  /// Delivered or set aside, whatever has become of the row since.
  bool check_noted() {
    const auto found =
        connection_.run(sql::reports::find_noted, {report_.process, report_.id, integer_id()});
    if (found.empty()) return false;
    report_.noted =
        RowReport::Noted{found[0]["lane"].as<unsigned>(), found[0]["bucket"].as<std::string>(""),
                         found[0]["closed_at"].as<std::string>("")};
    enter_lane(report_.noted->lane);
    report_.state = State::delivered;
    if (check_skipped() || !report_.lane) return true;
    const auto& lane = report_.lane->lane;
    if (lane.position && lane.position->id == report_.id) report_.sequence = lane.sequence;
    return true;
  }

  // --- a row that cannot be seen ----------------------------------------------------------------

  void search_history() {
    if (lanes_.size() == 1) enter_lane(lanes_.front().id.lane);
    if (check_skipped()) return;
    for (const auto& lane : lanes_) {
      if (lane.cursor.row_id == report_.id) enter_lane(lane.id.lane);  // failed, then deleted
      if (!lane.cursor.position || lane.cursor.position->id != report_.id) continue;
      enter_lane(lane.id.lane);
      report_.state = State::delivered;
      report_.sequence = lane.cursor.sequence;
      return;
    }
    report_.writers = read_writers(connection_, table_).blockers;
    check_numbers();
  }

  /// Ids that are numbers say more: was it drawn, has the cursor passed it?
  void check_numbers() {
    const auto id = number_in(report_.id);
    if (!id || !table_.integer_id()) return;
    const auto sequence =
        connection_.run(sql::reader::sequence_value, {table_.name, table_.id_name});
    if (!sequence.empty() && !sequence[0][0].is_null()) {
      report_.last_drawn = sequence[0][0].as<std::string>();
      report_.never_drawn = sequence[0][0].as<OrderKey>() < *id;
    }
    report_.behind_cursor =
        by_id() && std::all_of(lanes_.begin(), lanes_.end(), [&](const LaneRow& lane) {
          const auto& position = lane.cursor.position;
          return position && number_in(position->id).value_or(order_key_min) > *id;
        });
  }

  // --- the journal ------------------------------------------------------------------------------

  bool check_skipped() {
    if (check_parked()) return true;
    report_.act = act("skip", std::nullopt, report_.id);
    if (!report_.act) report_.act = act("discard", std::nullopt, report_.id);
    if (!report_.act) return check_passed_over();
    report_.state = State::set_aside;
    return true;
  }

  bool check_passed_over() {
    const auto found =
        connection_.run(sql::reports::passed_over, {report_.process, report_.id, integer_id()});
    if (found.empty()) return false;
    report_.passed_over = true;
    report_.state = State::set_aside;
    report_.act = read_act(sql::reports::entry, {found[0]["number"].as<std::string>()});
    return true;
  }

  [[nodiscard]] std::optional<std::string> integer_id() const {
    return fits_range(report_.id) ? std::optional(report_.id) : std::nullopt;
  }

  bool check_parked() {
    report_.parked = find_parked(connection_, report_.process, report_.id);
    if (!report_.parked) return false;
    report_.state = State::parked;
    if (!report_.key) report_.key = report_.parked->key;
    report_.act = act("park", std::nullopt, report_.id);
    return true;
  }

  std::optional<RowReport::Act> act(const std::string& kind, std::optional<std::string> lane,
                                    std::optional<std::string> row) {
    return read_act(sql::store::latest_act,
                    {report_.process, kind, std::move(lane), std::move(row)});
  }

  std::optional<RowReport::Act> read_act(std::string_view question, const Params& params) {
    try {
      const auto found = connection_.run(question, params);
      if (found.empty()) return std::nullopt;
      const auto text = [&](const char* name) { return found[0][name].as<std::string>(""); };
      return RowReport::Act{text("number"), text("act"), text("at"), text("who"), text("why")};
    } catch (const SourceBroken&) {  // this role may write the journal, and not read it
      report_.journal_hidden = true;
      return std::nullopt;
    }
  }

  Connection& connection_;
  const Target& target_;
  Table table_;
  std::vector<LaneRow> lanes_;
  LaneId lane_id_;
  RowReport report_;
};

}  // namespace

RowReport explain_row(Connection& connection, const Target& target, const std::string& id) {
  try {
    return Inquiry(connection, target, id).answer();
  } catch (const SessionLost& lost) {
    if (!is_held_up(lost)) throw;
    connection.rollback();
    RowReport report;
    report.process = target.process.name;
    report.id = id;
    report.state = State::unknown;
    report.not_read = held_up_text(lost);
    report.lanes = report_cursors(connection, target);
    return report;
  }
}

}  // namespace seriatim::postgres
