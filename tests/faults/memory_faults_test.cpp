// FAULTS.md 23, promise P10: memory follows `batch_bytes`, not the backlog and not the rows. Seen
// from outside, as the peak of the program's resident memory.
#include <doctest/doctest.h>

#include <cstdlib>

#include "cli/stage.hpp"

using namespace seriatim::testing;

namespace {

constexpr long mebibyte = 1024;  ///< in kB, as /proc says

/// Sanitizers keep what was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_is_ours = false;
#else
constexpr bool memory_is_ours = true;
#endif

long rows_or(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}

/// A relay of table t that writes what it is handed nowhere.
struct MemoryStage : Stage {
  explicit MemoryStage(const std::string& source = {}) {
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON t (created_at, id); INSERT INTO t (payload) VALUES ('first')");
    configure(process("kind = \"log\"\nfile = \"/dev/null\"",
                      "batch_rows = 1000\ncommit_every = 1000", "table = \"public.t\"\n" + source));
    relay = std::make_unique<Process>(command({"run"}), options());
    REQUIRE(reaches(1));
    at_start = peak();
  }
  bool reaches(long sequence) {
    return database.becomes_true(
        "SELECT sequence = " + std::to_string(sequence) + " FROM seriatim.cursor", 600);
  }
  /// Peak of resident memory in kB.
  [[nodiscard]] long peak() const {
    std::ifstream status("/proc/" + std::to_string(relay->pid()) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::strtol(line.c_str() + 6, nullptr, 10);
    }
    return 0;
  }
  [[nodiscard]] long grown() const { return memory_is_ours ? peak() - at_start : 0; }

  std::unique_ptr<Process> relay;
  long at_start = 0;
};

}  // namespace

TEST_SUITE("memory") {
  // SERIATIM_BACKLOG_ROWS=10000000 for the whole of fault 23.
  TEST_CASE("a backlog of 50 000 rows takes no more memory than a batch of them") {
    const auto rows = rows_or("SERIATIM_BACKLOG_ROWS", 50'000);
    MemoryStage stage;
    stage.database.run("INSERT INTO t (payload) SELECT repeat('x', 1000) FROM generate_series(1, " +
                       std::to_string(rows) + ")");
    CHECK(stage.reaches(rows + 1));
    MESSAGE(rows, " rows: peak ", stage.at_start, " kB, then ", stage.peak(), " kB");
    CHECK(stage.peak() > 0);
    CHECK(stage.grown() < 24 * mebibyte);
  }

  TEST_CASE("large rows are fetched a few at a time, by batch_bytes") {
    MemoryStage stage("batch_bytes = \"4MiB\"");
    stage.database.run(
        "INSERT INTO t (payload) SELECT repeat('x', 2000000) FROM generate_series(1, 60)");
    CHECK(stage.reaches(61));
    MESSAGE("60 rows of 2 MB: peak ", stage.at_start, " kB, then ", stage.peak(), " kB");
    CHECK(stage.grown() < 48 * mebibyte);
  }

  TEST_CASE("a row of 200 MB is named and halts the lane, and is not fetched for it") {
    MemoryStage stage;
    stage.database.run(
        "INSERT INTO t (payload) VALUES ('ok'), (repeat('x', 200000000)), ('later')");
    CHECK(stage.database.becomes_true("SELECT state = 'halted' FROM seriatim.cursor", 60));
    CHECK(stage.database.value("SELECT concat_ws('|', reason, failed_id, position_id)"
                               " FROM seriatim.cursor") == "BAD_PAYLOAD|3|2");
    CHECK(contains(stage.seriatim({"status"}).out,
                   "its payload has 200000000 bytes, payload_max is 16777216"));
    MESSAGE("a row of 200 MB: peak ", stage.at_start, " kB, then ", stage.peak(), " kB");
    CHECK(stage.grown() < 24 * mebibyte);
  }
}
