#include "contract/handler_relay_stage.hpp"

namespace seriatim::testing {

namespace {

std::string toml_of(const HandlerOptions::mapped_type& option) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&option)) {
    std::string list;
    for (const auto& text : *texts) list += (list.empty() ? "\"" : ", \"") + text + '"';
    return '[' + list + ']';
  }
  if (const auto* text = std::get_if<std::string>(&option)) return '"' + *text + '"';
  if (const auto* number = std::get_if<std::int64_t>(&option)) return std::to_string(*number);
  return std::get<bool>(option) ? "true" : "false";
}

constexpr const char* process_lines =
    "[[process]]\nname = \"p\"\nlease = \"2s\"\nstandby_interval = \"50ms\"\n"
    "handler_deadline = \"2s\"\npoll_interval_max = \"20ms\"\nbatch_rows = 100\n"
    "commit_every = 100\nmax_crashes = 100\nbackoff = { first = \"10ms\", max = \"50ms\" }\n"
    "[process.source]\ntable = \"public.t\"\norder_by = \"id\"\n[process.handler]\n";

}  // namespace

RelayStage::RelayStage(const BrokerUnderTest& broker, std::size_t row_count)
    : rows(row_count), toml_(database_section(database_.url()) + process_lines) {
  toml_ += "kind = \"" + std::string(broker.kind()) + "\"\n";
  for (const auto& [key, option] : broker.options()) toml_ += key + " = " + toml_of(option) + '\n';
  database_.run(
      "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
      " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
      "INSERT INTO t (payload) SELECT 'row ' || n FROM generate_series(1, " +
      std::to_string(rows) + ") AS n");
}

std::unique_ptr<RelayProgram> RelayStage::start(const RelayProgram::Hooks& hooks) {
  started_ += 1;
  return std::make_unique<RelayProgram>(folder_, "relay-" + std::to_string(started_), toml_, hooks);
}

bool RelayStage::all_delivered() {
  return database_.becomes_true(
      "SELECT sequence = " + std::to_string(rows) + " FROM seriatim.cursor", 180);
}

std::vector<Record> RelayStage::records() {
  std::vector<Record> all(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    all[i].position.id = std::to_string(i + 1);
    all[i].payload = "row " + std::to_string(i + 1);
    all[i].sequence = i + 1;
  }
  return all;
}

}  // namespace seriatim::testing
