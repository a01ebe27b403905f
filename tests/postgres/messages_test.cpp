// The messages a lane sends: the table in ARCHITECTURE.md, held against the server's own log.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "postgres/desk.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

namespace fs = std::filesystem;
const fs::path root = SERIATIM_SOURCE_DIR;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The message of each text, by its first line, as ARCHITECTURE.md has them.
std::map<std::string, std::string> messages_of_the_table() {
  std::map<std::string, fs::path> files;
  for (const char* room : {"wire", "table", "reader", "store"}) {
    for (const auto& file : fs::directory_iterator(root / "sql" / room)) {
      files[file.path().stem().string()] = file.path();
    }
  }
  std::map<std::string, std::string> messages{
      {"BEGIN", "BEGIN"}, {"BEGIN;", "BEGIN"}, {"COMMIT", "COMMIT"}};
  const auto page = text_of(root / "ARCHITECTURE.md");
  std::istringstream lines(page.substr(page.find("| message | texts")));
  std::string line;
  for (std::getline(lines, line), std::getline(lines, line); std::getline(lines, line);) {
    std::smatch row;
    if (!std::regex_match(line, row, std::regex(R"(\| ([^|]+) \| ([^|]+) \|.*)"))) break;
    const auto texts = row[2].str();
    const std::regex name("`([a-z_]+)`");
    for (std::sregex_iterator text(texts.begin(), texts.end(), name), end; text != end; ++text) {
      const auto file = (*text)[1].str();
      CAPTURE(file);
      REQUIRE(files.contains(file));
      messages.emplace(first_line(text_of(files[file])),
                       row[1].str() == "settle, COMMIT" ? file : row[1].str());
    }
  }
  return messages;
}

/// All that clients ask is logged while this lives.
class Logged {
 public:
  explicit Logged(TestDatabase& database) : database_(database) {
    set("SET log_line_prefix = '%d %a '", "SET log_statement = 'all'");
  }
  ~Logged() { set("RESET log_line_prefix", "RESET log_statement"); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;

  /// First lines of what the lane of the process asked, in order.
  [[nodiscard]] std::vector<std::string> statements() const {
    const auto log = text_of(shared_server().log_file());
    const auto database = database_.value("SELECT current_database()");
    const std::regex line(database +
                          R"( seriatim/process/0 LOG:  (?:statement|execute [^:]*): (.*))");
    std::vector<std::string> found;
    std::istringstream lines(log);
    std::smatch match;
    for (std::string text; std::getline(lines, text);) {
      if (std::regex_match(text, match, line)) found.push_back(match[1].str());
    }
    return found;
  }

 private:
  void set(const std::string& prefix, const std::string& statement) {
    database_.run("ALTER SYSTEM " + prefix);
    database_.run("ALTER SYSTEM " + statement);
    database_.run("SELECT pg_reload_conf()");
    const auto wanted = statement.starts_with("SET") ? "all" : "none";
    wait_until("the server has read it",
               [&] { return database_.connect().value("SHOW log_statement") == wanted; });
  }
  TestDatabase& database_;
};

/// How the texts begin that a session asks once, or now and then.
std::vector<std::string> seldom() {
  std::vector<std::string> lines;
  for (const char* file :
       {"store/read_cursor", "store/flushed_is_known", "store/parked_keys", "reader/sequence_value",
        "reader/newest_by_id", "reader/unstamped_row"}) {
    const auto line = first_line(text_of(root / "sql" / (std::string(file) + ".sql")));
    lines.push_back(line.substr(0, line.find('{')));
  }
  return lines;
}

/// What a lane sends from its first poll to its release: each message once where it comes again.
struct Walk {
  std::vector<std::string> messages;
  std::set<std::string> unknown;
};

Walk walk(const std::vector<std::string>& statements) {
  const auto known = messages_of_the_table();
  const auto now_and_then = seldom();
  Walk walk;
  bool polled = false;
  for (const auto& statement : statements) {
    const auto found = known.find(statement);
    polled = polled || (found != known.end() && found->second == "poll");
    if (!polled) continue;
    const bool is_seldom =
        std::any_of(now_and_then.begin(), now_and_then.end(),
                    [&](const std::string& line) { return statement.starts_with(line); });
    if (found == known.end() && !is_seldom) {
      walk.unknown.insert(statement);
    } else if (found == known.end()) {
      continue;
    } else if (walk.messages.empty() || walk.messages.back() != found->second) {
      walk.messages.push_back(found->second);
    }
  }
  return walk;
}

/// Drains the table; refused rows are parked.
Walk drain(Desk& desk, const std::set<std::string>& refused = {}) {
  std::vector<std::string> statements;
  {
    const Logged log(desk.database);
    Relay relay({.drain = true});
    relay.add(desk.target.process, postgres_source(desk.database.url(), desk.target.source),
              handler_from([&](const Record& record) {
                return refused.contains(record.id()) ? Outcome::poison("422") : Outcome::done();
              }));
    relay.run({});
    statements = log.statements();
  }
  auto walked = walk(statements);
  for (const auto& statement : walked.unknown) MESSAGE("not in the table: ", statement);
  return walked;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

TEST_CASE("a lane at work sends the messages of ARCHITECTURE.md and no others") {
  SUBCASE("by created_at") {
    Desk desk;
    const auto walked = drain(desk);
    CHECK(walked.unknown.empty());
    CHECK(joined(walked.messages) == "poll, start, settle, poll, release");
  }
  SUBCASE("by id") {
    Desk desk(OrderBy::id);
    const auto walked = drain(desk);
    CHECK(walked.unknown.empty());
    CHECK(joined(walked.messages) == "poll, start, settle, poll, release");
  }
  SUBCASE("a column is stamped with the cursor") {
    Desk desk;
    desk.database.run("ALTER TABLE bookings ADD sent timestamptz");
    desk.target.source.delivered_at_column = "sent";
    const auto walked = drain(desk);
    CHECK(walked.unknown.empty());
    CHECK(joined(walked.messages) ==
          "poll, start, BEGIN, no_time_limit, settle_surely, mark_rows, COMMIT, BEGIN, "
          "no_time_limit, settle_surely, mark_rows, COMMIT, BEGIN, no_time_limit, settle_surely, "
          "mark_rows, COMMIT, poll, release");
  }
  SUBCASE("rows are parked, and others of their key queue") {
    Desk desk(OrderBy::id);
    desk.target.process.on_poison = OnPoison::park_key;
    desk.target.source.key = "customer";
    desk.database.run("UPDATE bookings SET customer = 'x'");
    const auto walked = drain(desk, {"1"});
    CHECK(walked.unknown.empty());
    CHECK(joined(walked.messages) ==
          "poll, start, BEGIN, no_time_limit, settle_surely, park, COMMIT, poll, BEGIN, "
          "no_time_limit, settle_surely, queue_rows, COMMIT, poll, release");
  }
}
