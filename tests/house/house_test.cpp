// The rooms of the house (ARCHITECTURE.md) and who may include whom.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "house/string_literals.hpp"

namespace fs = std::filesystem;

namespace {

const fs::path root = SERIATIM_SOURCE_DIR;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// `| faults/x_test.cpp: "a fact" |` as documentation names a test.
const std::regex test_reference(R"re(\| (\S+_test\.cpp): "([^"]+)" \|)re");

bool has_test(const std::string& file, const std::string& name) {
  static const std::regex seam(R"re("\s*")re");  // a long name is written in two literals
  auto text = text_of(root / "tests" / file);
  if (text.empty()) text = text_of(root / "handlers" / file);
  return std::regex_replace(text, seam, "").find('"' + name + '"') != std::string::npos;
}

std::vector<fs::path> sources_below(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const auto extension = entry.path().extension();
    if (extension == ".cpp" || extension == ".hpp") found.push_back(entry.path());
  }
  return found;
}

std::vector<std::string> includes_of(const fs::path& file) {
  static const std::regex line(R"re(^\s*#include\s+[<"]([^>"]+)[>"])re");
  std::vector<std::string> found;
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);) {
    std::smatch match;
    if (std::regex_search(text, match, line)) found.push_back(match[1]);
  }
  return found;
}

bool starts_with_any(const std::string& text, const std::set<std::string>& prefixes) {
  for (const auto& prefix : prefixes) {
    if (text.starts_with(prefix)) return true;
  }
  return false;
}

/// Every include of the room that names one of our own rooms or a foreign library, but not these.
std::vector<std::string> trespasses(const fs::path& room, const std::set<std::string>& allowed) {
  std::vector<std::string> found;
  for (const auto& file : sources_below(room)) {
    for (const auto& include : includes_of(file)) {
      const bool standard = include.find('/') == std::string::npos && !include.ends_with(".hpp") &&
                            !include.ends_with(".h");
      const bool system = include.ends_with(".h") && !include.starts_with("openssl/");
      if (!standard && !system && !starts_with_any(include, allowed)) {
        found.push_back(fs::relative(file, root).string() + " includes " + include);
      }
    }
  }
  return found;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

/// `words` follow each other, at once or with anything between.
bool has_words(const std::vector<std::string>& all, std::vector<std::string> words, bool at_once) {
  if (at_once) return std::search(all.begin(), all.end(), words.begin(), words.end()) != all.end();
  auto at = all.begin();
  for (const auto& word : words) {
    at = std::find(at, all.end(), word);
    if (at++ == all.end()) return false;
  }
  return true;
}

/// Whole statements an operator is advised to run (GRANT, ALTER, setval) are messages, not SQL of
/// ours.
bool is_sql(const std::string& literal) {
  const auto words = words_of(literal);
  if (has_words(words, {"SELECT", "FROM"}, false) || has_words(words, {"UPDATE", "SET"}, false)) {
    return true;
  }
  for (const auto& phrase : std::vector<std::vector<std::string>>{{"INSERT", "INTO"},
                                                                  {"DELETE", "FROM"},
                                                                  {"FOR", "UPDATE"},
                                                                  {"FOR", "SHARE"},
                                                                  {"FOR", "NO", "KEY", "UPDATE"},
                                                                  {"FOR", "KEY", "SHARE"}}) {
    if (has_words(words, phrase, true)) return true;
  }
  return false;
}

/// The first string literal that holds a statement.
std::string sql_in_strings(const std::string& code) {
  for (const auto& literal : seriatim::testing::string_literals(code)) {
    if (is_sql(literal)) return literal;
  }
  return "";
}

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const auto& one : all) text += one + "\n";
  return text;
}

}  // namespace

TEST_SUITE("the house") {
  TEST_CASE("public headers show words and contracts: the standard library only") {
    CHECK(lines(trespasses("include", {"seriatim/"})) == "");
  }

  TEST_CASE("the core is pure") {
    CHECK(lines(trespasses("src/core", {"seriatim/", "core/"})) == "");
    const std::regex impure(
        R"(steady_clock::now|system_clock|std::thread|std::mutex|random_device|\bgetenv\b|::socket)");
    for (const auto& file : sources_below("src/core")) {
      CAPTURE(file.string());
      CHECK_FALSE(std::regex_search(text_of(file), impure));
    }
  }

  TEST_CASE("the runtime sees the core and no library") {
    CHECK(lines(trespasses("src/runtime", {"seriatim/", "core/", "runtime/"})) == "");
  }

  TEST_CASE("the PostgreSQL rooms see the core, their own library and what lies below them") {
    const std::set<std::string> below_all{"seriatim/", "core/", "pqxx/", "boost/json"};
    const std::map<std::string, std::vector<std::string>> doors{
        {"wire", {}},
        {"table", {"wire"}},
        {"reader", {"wire", "table"}},
        {"store", {"wire", "table", "reader"}},
        {"auditor", {"wire", "table", "reader", "store"}},
        {"admin/reports", {"wire", "table", "reader", "store", "auditor", "admin/admin.hpp"}},
        {"admin/acts", {"wire", "table", "reader", "store", "admin/admin.hpp", "admin/reports"}},
        {"admin/check", {"wire", "table", "reader", "store", "admin/admin.hpp", "admin/reports"}},
        {"admin/records", {"wire"}},
        {"admin/prune",
         {"wire", "table", "store", "admin/admin.hpp", "admin/acts", "admin/reports"}}};
    for (const auto& [room, seen] : doors) {
      const auto& shown = room;
      CAPTURE(shown);
      auto allowed = below_all;
      const auto let_in = [&](const std::string& other) {
        const bool is_file = other.ends_with(".hpp");
        allowed.insert("postgres/" + other + (is_file ? "" : "/"));
        if (!is_file) allowed.insert("sql/" + fs::path(other).filename().string() + ".hpp");
      };
      let_in(room);
      std::for_each(seen.begin(), seen.end(), let_in);
      if (room == "admin/check") allowed.insert({"sql/admin.hpp", "sql/migrations.hpp"});
      if (room == "admin/prune") allowed.insert({"sql/admin.hpp", "sql/check.hpp"});
      CHECK(lines(trespasses("src/postgres/" + room, allowed)) == "");
    }
    auto top = below_all;
    top.insert({"postgres/", "sql/"});
    CHECK(lines(trespasses("src/postgres", top)) == "");
  }

  TEST_CASE("a folder that has rooms holds a dozen files at most") {
    for (const char* folder : {"src/postgres", "src/postgres/admin"}) {
      CAPTURE(folder);
      CHECK(std::count_if(fs::directory_iterator(root / folder), {},
                          [](const auto& entry) { return entry.is_regular_file(); }) <= 12);
    }
  }

  TEST_CASE("the private server is independent") {
    CHECK(lines(trespasses("src/embedded", {"seriatim/error.hpp", "embedded/", "lab/process/"})) ==
          "");
  }

  TEST_CASE("what is served over HTTP knows neither PostgreSQL nor the programs") {
    CHECK(lines(trespasses("src/console", {"seriatim/", "console/", "boost/", "openssl/",
                                           "console_page.hpp"})) == "");
  }

  TEST_CASE("what starts processes and servers sees the standard library only") {
    CHECK(lines(trespasses("src/lab/process", {"lab/process/"})) == "");
  }

  TEST_CASE("the fault proxy is independent: it sees nothing of what it is to test") {
    CHECK(lines(trespasses("src/lab/proxy", {"lab/proxy/", "boost/", "linux/"})) == "");
  }

  TEST_CASE("the HTTP service is independent: it sees nothing of what calls it") {
    CHECK(lines(trespasses("src/lab/http", {"lab/http/", "boost/"})) == "");
  }

  TEST_CASE("the judge knows what was seen, and nothing of how rows are delivered") {
    CHECK(lines(trespasses("src/lab/judge", {"lab/judge/"})) == "");
  }

  TEST_CASE("writers know how applications write, and nothing of how rows are delivered") {
    CHECK(lines(trespasses("src/lab/writers", {"lab/writers/", "pqxx/", "sql/writers.hpp"})) == "");
  }

  TEST_CASE("the torture kit shares no code with the relay it judges") {
    CHECK(lines(trespasses("src/lab/torture",
                           {"seriatim/position.hpp", "seriatim/error.hpp", "embedded/",
                            "lab/torture/", "lab/process/", "lab/http/", "lab/judge/", "lab/proxy/",
                            "lab/writers/", "pqxx/", "boost/", "linux/", "sql/torture.hpp"})) ==
          "");
  }

  TEST_CASE("the bench sees the library as users do, and bare client libraries") {
    CHECK(lines(trespasses("src/lab/bench",
                           {"seriatim/", "lab/bench/", "lab/process/", "lab/http/", "lab/writers/",
                            "boost/", "sql/bench.hpp", "sql/reader.hpp", "librdkafka/"})) == "");
  }

  TEST_CASE("the demo sees the programs' parts that people use, and nothing of the app") {
    CHECK(lines(trespasses("src/lab/demo", {"seriatim/", "lab/", "embedded/", "postgres/admin/",
                                            "spdlog/", "boost/", "sql/demo.hpp"})) == "");
  }

  TEST_CASE("a handler sees public headers, handlers/support and its client library") {
    const std::map<std::string, std::set<std::string>> client_libraries{
        {"http", {}},
        {"sms", {"boost/json"}},
        {"log", {"boost/json"}},
        {"sql", {"sql/target.hpp"}},
        {"support", {"boost/", "openssl/", "kainjow/"}}};
    for (const auto& entry : fs::directory_iterator(root / "handlers")) {
      if (!entry.is_directory()) continue;
      const auto kind = entry.path().filename().string();
      std::set<std::string> allowed{"seriatim/", "support/", "contract/", kind + "/",
                                    kind,        "doctest/", "tests/",    "lab/http/"};
      if (const auto known = client_libraries.find(kind); known != client_libraries.end()) {
        allowed.insert(known->second.begin(), known->second.end());
      }
      CAPTURE(kind);
      CHECK(lines(trespasses(fs::path("handlers") / kind, allowed)) == "");
    }
  }

  TEST_CASE("only the tests of a handler see the laboratory") {
    for (const auto& file : sources_below("handlers")) {
      if (file.string().ends_with("_test.cpp")) continue;
      CAPTURE(file.string());
      for (const auto& include : includes_of(file)) CHECK_FALSE(include.starts_with("lab/"));
    }
  }

  TEST_CASE("SQL lives in sql/, never in C++ strings") {
    for (const char* room : {"src", "include", "handlers"}) {
      for (const auto& file : sources_below(room)) {
        if (file.string().ends_with("_test.cpp")) continue;
        CAPTURE(file.string());
        CHECK(sql_in_strings(text_of(file)) == "");
      }
    }
  }

  TEST_CASE("SQL is known from the names of rights and functions in advice to people") {
    for (const char* code : {R"(run("SELECT 1 FROM t", x))", "run(\"SELECT a \"\n    \"FROM t\")",
                             R"(x = "DELETE FROM t";)", R"(x = "INSERT INTO t VALUES";)",
                             R"(x = "UPDATE \"t\" SET a = 1";)", R"(x = " FOR UPDATE OF c";)",
                             R"(x = "FOR NO KEY UPDATE";)", R"(x = "FOR SHARE NOWAIT";)",
                             "x = 1'000; y = 'c'; z = \"SELECT a \" /* b */ R\"q(FROM t)q\";"}) {
      CAPTURE(code);
      CHECK(sql_in_strings(code) != "");
    }
    for (const char* code :
         {R"(x = "GRANT SELECT ON " + table + " TO " + role;)",
          R"(x = "GRANT UPDATE (" + column + ") ON " + table;)",
          R"(x = "a role with SELECT on the table";)", R"(x = "SELECT setval(" + name;)",
          R"(// x = "SELECT a FROM t")", R"(x = '"'; y = z; w = "SELECT"; v = "FROM";)",
          R"(x = "CREATE POLICY p ON " + t + " FOR SELECT TO " + role;)"}) {
      CAPTURE(code);
      CHECK(sql_in_strings(code) == "");
    }
  }

  TEST_CASE("outside the store one function changes a cursor's state or position") {
    const std::regex makes_or_removes(R"((INSERT INTO|DELETE FROM)\s+seriatim\.cursor\b)");
    const std::regex updates(R"(UPDATE\s+seriatim\.cursor\b([\s\S]*?)(WHERE|$))");
    const std::regex state(R"(\b(state|position_at|position_id|sequence|epoch|barrier_at)\s*=)");
    const std::regex comments("--[^\n]*");
    std::set<std::string> found;
    for (const auto& room : fs::directory_iterator(root / "sql")) {
      // The store's own; what was run once; a bench's imitation; the torture's damage.
      const std::set<std::string> others{"store", "migrations", "bench", "torture"};
      if (others.contains(room.path().filename().string())) continue;
      for (const auto& file : fs::directory_iterator(room)) {
        const auto text = std::regex_replace(text_of(file.path()), comments, "");
        std::smatch update;
        const bool is_update = std::regex_search(text, update, updates);
        const auto columns = is_update ? update.str(1) : std::string();
        const bool moves = std::regex_search(columns, state);
        if (moves || std::regex_search(text, makes_or_removes)) {
          found.insert(file.path().filename().string());
        }
      }
    }
    CHECK(found == std::set<std::string>{"act.sql"});
  }

  TEST_CASE("no comment in SQL holds a placeholder: what is put there may be of several lines") {
    static const std::regex filled(R"(--.*\{[a-z_]+\})");
    for (const auto& file : fs::recursive_directory_iterator(root / "sql")) {
      if (file.path().extension() != ".sql") continue;
      CAPTURE(file.path().string());
      CHECK_FALSE(std::regex_search(text_of(file.path()), filled));
    }
  }

  TEST_CASE("heavy headers stay out of headers") {
    const std::set<std::string> heavy{"boost/", "pqxx/", "toml++/", "CLI/", "kainjow/", "spdlog/"};
    // Streams of Beast are templates. Four sources see them here, and six in the console.
    const std::set<std::string> of_beast{"deadline_stream.hpp", "http_answer.hpp",
                                         "transport.hpp",       "http_connection.hpp",
                                         "http_exchange.hpp",   "http_listener.hpp"};
    for (const char* room : {"src", "include", "handlers"}) {
      for (const auto& file : sources_below(room)) {
        if (file.extension() != ".hpp" || of_beast.contains(file.filename().string())) continue;
        for (const auto& include : includes_of(file)) {
          CAPTURE(file.string());
          CAPTURE(include);
          const bool pqxx_inside = file.string().find("src/postgres/") != std::string::npos &&
                                   include.starts_with("pqxx/");
          CHECK((pqxx_inside || !starts_with_any(include, heavy)));
        }
      }
    }
  }

  TEST_CASE("every line of docs/faults.md names a test") {
    std::ifstream in(root / "docs/faults.md");
    int rows = 0;
    for (std::string line; std::getline(in, line);) {
      if (!std::regex_search(line, std::regex(R"(^\| \d+ \|)"))) continue;
      ++rows;
      CAPTURE(line);
      CHECK(std::regex_search(line, test_reference));
    }
    CHECK(rows > 50);
  }

  TEST_CASE("every file the pages for contributors name is there") {
    const std::regex path(
        R"(`((?:src|sql|tests|bench|handlers|include|docs|cmake|packages)/[a-z0-9_/.]+)`)");
    int named = 0;
    for (const char* page : {"ARCHITECTURE.md", "CONTRIBUTING.md", "handlers/README.md"}) {
      const auto text = text_of(root / page);
      for (std::sregex_iterator match(text.begin(), text.end(), path), end; match != end; ++match) {
        ++named;
        CAPTURE(page);
        CAPTURE((*match)[1].str());
        CHECK(fs::exists(root / (*match)[1].str()));
      }
    }
    CHECK(named > 40);
  }

  TEST_CASE("every member that ARCHITECTURE.md says is remembered is there") {
    const std::regex owner(R"(\| `(src/[a-z_/.]+)` \| (.*) \|)");
    const std::regex member(R"(`([a-z_]+_)`)");
    int named = 0;
    std::istringstream lines(text_of(root / "ARCHITECTURE.md"));
    for (std::string line; std::getline(lines, line);) {
      std::smatch row;
      if (!std::regex_match(line, row, owner)) continue;
      const auto header = text_of(root / row[1].str());
      const auto members = row[2].str();
      for (std::sregex_iterator match(members.begin(), members.end(), member), end; match != end;
           ++match) {
        ++named;
        CAPTURE(row[1].str());
        CAPTURE((*match)[1].str());
        CHECK(std::regex_search(header, std::regex("\\b" + (*match)[1].str() + "[ ;{]")));
      }
    }
    CHECK(named > 40);
  }

  TEST_CASE("every test the documentation names is there") {
    int named = 0;
    for (const auto& page : fs::directory_iterator(root / "docs")) {
      if (page.path().extension() != ".md") continue;
      const auto text = text_of(page.path());
      for (std::sregex_iterator match(text.begin(), text.end(), test_reference), end; match != end;
           ++match) {
        ++named;
        CAPTURE(page.path().string());
        CAPTURE(match->str());
        CHECK(has_test((*match)[1].str(), (*match)[2].str()));
      }
    }
    CHECK(named > 60);
  }

  TEST_CASE("a file is one noun: none is longer than 500 lines") {
    for (const char* room : {"src", "include", "handlers", "tests"}) {
      for (const auto& file : sources_below(room)) {
        const auto text = text_of(file);
        CAPTURE(file.string());
        CHECK(std::count(text.begin(), text.end(), '\n') <= 500);
      }
    }
  }
}
