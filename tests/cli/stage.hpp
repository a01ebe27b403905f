#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "lab/http/http_service.hpp"
#include "support/postgres_fixture.hpp"
#include "support/process.hpp"

namespace seriatim::testing {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A database, a folder with seriatim.toml, and the program run in it.
class Stage {
 public:
  /// One process "p" of the ready-made outbox into the log handler, which writes `log`.
  Stage() { configure(process("kind = \"log\"\nfile = \"" + log.string() + "\"")); }

  static std::string process(const std::string& handler, const std::string& more = {},
                             const std::string& source = {}) {
    return "[[process]]\nname = \"p\"\n" + more + "\n[process.source]\n" + source +
           "\n[process.handler]\n" + handler + '\n';
  }

  void configure(const std::string& processes) const {
    std::ofstream(folder.path() / "seriatim.toml")
        << "[database]\nurl = \"" << database.url() << "\"\n"
        << processes;
  }

  [[nodiscard]] static std::vector<std::string> command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SERIATIM_PROGRAM);
    return arguments;
  }
  [[nodiscard]] Process::Options options() const {
    Process::Options result;
    result.folder = folder.path();
    result.without_environment = {"DATABASE_URL", "SERIATIM_CONFIG"};
    return result;
  }
  [[nodiscard]] Ended seriatim(std::vector<std::string> arguments) const {
    return run(command(std::move(arguments)), options());
  }

  void append(int rows = 1) {
    database.run(
        "SELECT seriatim.append('booking', 'b', 'booked', '{\"n\":1}')"
        " FROM generate_series(1, " +
        std::to_string(rows) + ")");
  }
  std::string sequence() {
    return database.value("SELECT coalesce(max(sequence), 0) FROM seriatim.cursor");
  }
  [[nodiscard]] int lines_in_log() const {
    std::ifstream in(log);
    int count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
  }

  TestDatabase database;
  TemporaryFolder folder;
  std::filesystem::path log = folder.path() / "delivered.jsonl";
};

}  // namespace seriatim::testing
