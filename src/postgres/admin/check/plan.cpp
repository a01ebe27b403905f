#include "postgres/admin/check/plan.hpp"

#include <algorithm>

#include "postgres/admin/check/check.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/store/old_rows.hpp"
#include "postgres/table/identity.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"

#include "sql/check.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

using Kind = PlannedChange::Kind;

class Planner {
 public:
  Planner(const std::string& url, const Target& target, const std::vector<std::string>& configured)
      : url_(url),
        target_(target),
        configured_(configured),
        connection_(url, {.application = "seriatim/check"}),
        table_(resolve_table(connection_, target.source)),
        lanes_(read_lanes(connection_, target.process.name)) {}

  std::vector<PlannedChange> changes() {
    if (lanes_.empty()) {
      add_beginning();
    } else if (lanes_.front().renamed_to) {
      add(Kind::refused, lanes_.front().cursor.detail);
    } else {
      add_lanes();
      add_identity();
      if (found_.empty()) add(Kind::goes_on, "goes on " + places());
    }
    return std::move(found_);
  }

 private:
  void add(Kind kind, std::string what, std::string command = {}) {
    found_.push_back({target_.process.name, kind, std::move(what), std::move(command)});
  }

  [[nodiscard]] std::string name() const { return shell_word(target_.process.name); }

  [[nodiscard]] std::string places() const {
    if (lanes_.size() > 1) return "in " + std::to_string(lanes_.size()) + " lanes";
    const auto& position = lanes_.front().cursor.position;
    return position ? "after row " + position->id : std::string("from the first row");
  }

  void add_beginning() {
    for (const auto& row :
         connection_.run(sql::check::orphans, {table_.oid, array_text(configured_)})) {
      const std::string former = row["process_name"].c_str();
      add(Kind::former_name,
          "has no cursor, and " + former +
              ", which is not configured, has one on the same table: if it was renamed, let it "
              "take that cursor over, or all rows are sent once more",
          "seriatim adopt " + name() + " --from " + shell_word(former) + " --reason TEXT");
    }
    add(Kind::begins, "begins " + first_rows_text(url_, target_));
  }

  void add_lanes() {
    const auto cut = lanes_.front().id.lanes;
    const auto wanted = target_.process.lanes;
    if (cut == wanted) return;
    add(Kind::repartition,
        "its " + std::to_string(cut) + (cut == 1 ? " lane becomes " : " lanes become ") +
            std::to_string(wanted) + "; until then its relays deliver nothing with this file",
        "seriatim lanes " + name() + ' ' + std::to_string(wanted) + " --reason TEXT");
  }

  void add_identity() {
    const auto seen = read_identity(connection_, table_, target_.source);
    const auto changes = read_identity_changes(connection_, target_.process.name, seen);
    if (const auto mismatch = judge_identity(changes, target_.process.lanes)) {
      if (!mismatch->confirmable) return add(Kind::refused, mismatch->what);
      return add(Kind::adopt, mismatch->what, "seriatim adopt " + name() + " --reason TEXT");
    }
    if (const auto* filter = find_change(changes, "filter")) add_old_rows(*filter, changes);
  }

  void add_old_rows(const IdentityChange& filter, const std::vector<IdentityChange>& changes) {
    const auto rows = count_old_rows(connection_, table_, target_.process.name, changes);
    if (rows == 0) return;
    add(Kind::old_rows,
        old_rows_text(filter, target_.process.name, counted_rows(rows) + " behind the cursors"),
        "seriatim adopt " + name() + " --source-changed --old-rows skip|deliver --reason TEXT");
  }

  const std::string& url_;
  const Target& target_;
  const std::vector<std::string>& configured_;
  Connection connection_;
  Table table_;
  std::vector<LaneRow> lanes_;
  std::vector<PlannedChange> found_;
};

}  // namespace

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::goes_on: return "goes_on";
    case Kind::begins: return "begins";
    case Kind::former_name: return "former_name";
    case Kind::repartition: return "repartition";
    case Kind::adopt: return "adopt";
    case Kind::old_rows: return "old_rows";
    case Kind::refused: return "refused";
    case Kind::no_longer_runs: return "no_longer_runs";
  }
  return "?";
}

std::vector<PlannedChange> plan_process(const std::string& url, const Target& target,
                                        const std::vector<std::string>& configured) {
  return Planner(url, target, configured).changes();
}

std::vector<PlannedChange> plan_unconfigured(const std::string& url,
                                             const std::vector<std::string>& configured) {
  Connection connection(url, {.application = "seriatim/check"});
  std::vector<PlannedChange> found;
  for (const auto& row : connection.run(sql::store::process_names)) {
    const auto process = row[0].as<std::string>();
    if (std::find(configured.begin(), configured.end(), process) != configured.end()) continue;
    const auto lanes = read_lanes(connection, process);
    if (lanes.empty() || lanes.front().renamed_to) continue;
    const bool held = std::any_of(lanes.begin(), lanes.end(),
                                  [](const LaneRow& lane) { return lane.holder_alive; });
    found.push_back(
        {process, Kind::no_longer_runs,
         held ? "has a cursor, and is not in this file; a relay with another file runs it"
              : "has a cursor, and is not in this file: nobody delivers its rows"});
  }
  return found;
}

}  // namespace seriatim::postgres
