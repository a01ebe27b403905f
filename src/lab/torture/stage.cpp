#include "lab/torture/stage.hpp"

#include "seriatim/error.hpp"
#include "sql/torture.hpp"

namespace seriatim::torture {

namespace {

/// Our DDL on seriatim.cursor would wait for them.
void forget_probes(Session& session) {
  for (const auto& probe : session.run(sql::torture::leftover_probes)) {
    session.run("ROLLBACK PREPARED " + session.quoted(probe.at(0).value()));
  }
}

}  // namespace

Stage::Stage(std::string url, std::uint64_t seed, const std::vector<OrderBy>& orders)
    : url_(std::move(url)),
      schema_("seriatim_torture_" + std::to_string(seed)),
      prefix_("torture_" + std::to_string(seed) + '_') {
  for (const char* table : {"plain", "parts"}) {
    for (const auto order : orders) {
      const bool by_id = order == OrderBy::id;
      streams_.push_back({prefix_ + table + (by_id ? "_by_id" : "_by_time"), table, order});
    }
  }
}

std::string Stage::on(std::string_view statement, const std::string& table) const {
  return fill(statement, {{"table", qualified(table)},
                          {"archive", qualified("archive")},
                          {"schema", schema_},
                          {"prefix", prefix_}});
}

void Stage::server_state(Session& session) {
  const auto row = session.run(on(sql::torture::server_state, "plain")).at(0);
  const auto yes = [&](std::size_t column) { return row.at(column) == "t"; };
  facts_ = {row.at(0).value_or(""), yes(1), yes(2), yes(3)};
  if (yes(4)) {
    throw Error("schema " + schema_ +
                " is there already: a run of this seed is going on or was kept; take another "
                "--seed, or DROP SCHEMA " +
                schema_ + " CASCADE");
  }
}

void Stage::build() {
  Session session(url_, prefix_ + "stage");
  server_state(session);
  forget_probes(session);
  session.run("BEGIN;\n" + on(sql::torture::create_stage, "plain") + ";\nCOMMIT");
  if (!facts_.watches_cursors) return;
  session.run("BEGIN;\n" + on(sql::torture::watch_cursors, "plain") + ";\nCOMMIT");
}

void Stage::tear_down() {
  Session session(url_, prefix_ + "stage");
  forget_probes(session);
  session.run(on(sql::torture::drop_stage, "plain"));
  if (facts_.ledger) session.run(on(sql::torture::drop_ledger, "plain"));
}

}  // namespace seriatim::torture
