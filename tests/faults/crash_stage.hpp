#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lab/http/http_service.hpp"
#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

namespace seriatim::testing {

/// Rows of a table on their way to a receiver, and relays that are killed or frozen meanwhile.
struct CrashStage {
  static constexpr const char* quick =
      "lease = \"2s\"\nstandby_interval = \"50ms\"\nhandler_deadline = \"2s\"\n"
      "poll_interval_max = \"20ms\"\nbackoff = { first = \"10ms\", max = \"50ms\" }\n";

  explicit CrashStage(int rows, std::string more = {}, std::string more_source = {})
      : more_(std::move(more)), more_source_(std::move(more_source)) {
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON t (created_at, id)");
    append(rows);
  }
  void append(int rows = 1) {
    database.run("INSERT INTO t (payload) SELECT 'row ' || n FROM generate_series(1, " +
                 std::to_string(rows) + ") AS n");
  }
  std::unique_ptr<RelayProgram> start(const std::string& name,
                                      const RelayProgram::Hooks& hooks = {}) {
    return std::make_unique<RelayProgram>(
        folder, name,
        database_section(database.url()) + http_process("p", "public.t", "created_at",
                                                        receiver.url(), quick + more_,
                                                        more_source_),
        hooks);
  }
  /// A verb of the program, on the configuration of the relay `name`.
  Ended verb(std::vector<std::string> arguments, const std::string& name,
             const RelayProgram::Hooks& hooks = {}) const {
    arguments.insert(arguments.begin(), hooks.empty() ? SERIATIM_PROGRAM : SERIATIM_HOOKED_PROGRAM);
    arguments.insert(arguments.end(), {"--config", (folder.path() / (name + ".toml")).string()});
    Process::Options options;
    options.environment = hooks;
    return run(std::move(arguments), options);
  }
  bool cursor_reaches(int sequence) {
    return database.becomes_true(
        "SELECT sequence = " + std::to_string(sequence) + " FROM seriatim.cursor", 30);
  }
  std::string sequence() {
    return database.value("SELECT coalesce(max(sequence), 0) FROM seriatim.cursor");
  }

  bool state_becomes(const std::string& state) {
    return database.becomes_true("SELECT state = '" + state + "' FROM seriatim.cursor");
  }
  /// All an act could have changed.
  std::string cursor_and_journal() {
    return database.value(
        "SELECT concat_ws(' ', position_id, sequence, epoch, state, reason, attempts, crashes,"
        " (SELECT count(*) FROM seriatim.journal)) FROM seriatim.cursor");
  }

  /// "1 2 2 3": the rows by their sequence numbers, in the order of the calls. Every call of one
  /// row must have been the same, and no call of an earlier holder come after one of a later.
  [[nodiscard]] std::string calls() const {
    std::map<std::string, lab::ReceivedRequest> first;
    std::string text;
    unsigned long epoch = 0;
    for (const auto& request : receiver.requests()) {
      const auto number = request.header("Seriatim-Sequence").value_or("?");
      text += (text.empty() ? "" : " ") + number;
      const auto& before = first.try_emplace(number, request).first->second;
      CHECK(before.body == request.body);
      for (const char* header : {"Idempotency-Key", "Seriatim-Previous-Id"}) {
        CHECK(before.header(header) == request.header(header));
      }
      const auto its_epoch = std::stoul(request.header("Seriatim-Epoch").value_or("0"));
      CHECK(its_epoch >= epoch);
      epoch = its_epoch;
    }
    return text;
  }

  /// "1 2 3" for 1 to 3.
  static std::string numbers(int from, int to) {
    std::string text;
    for (int n = from; n <= to; ++n) text += (text.empty() ? "" : " ") + std::to_string(n);
    return text;
  }
  /// What the receiver sees of `rows` rows: up to `called`, and then from the committed cursor on.
  static std::string calls_of(int called, int committed, int rows) {
    const auto before = numbers(1, called);
    return before + (before.empty() ? "" : " ") + numbers(committed + 1, rows);
  }

  TestDatabase database;
  lab::HttpService receiver;
  TemporaryFolder folder;

 private:
  std::string more_;
  std::string more_source_;
};

}  // namespace seriatim::testing
