#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "support/postgres_fixture.hpp"

namespace seriatim::testing {

/// A role of its own for one test, with the rights docs/roles.sql gives it on `table` (empty: no
/// rights at all); dropped at the end with what it owns.
class LeastRole {
 public:
  LeastRole(TestDatabase& database, const std::string& table)
      : database_(database), name_("relay_" + database.name()) {
    database_.run("CREATE ROLE " + name_ + " LOGIN");
    if (!table.empty()) grant("roles.sql", table);
  }
  ~LeastRole() { database_.run("DROP OWNED BY " + name_ + " CASCADE; DROP ROLE " + name_); }
  LeastRole(const LeastRole&) = delete;
  LeastRole& operator=(const LeastRole&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  /// What a file of docs/ grants.
  void grant(const std::string& file, const std::string& table = {}) {
    const auto path = SERIATIM_SOURCE_DIR "/docs/" + file;
    std::ifstream in(path);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.empty()) throw std::runtime_error(path + " cannot be read");
    replace_all(text, ":\"role\"", name_);
    replace_all(text, ":table", table);
    database_.run(text);
  }

  [[nodiscard]] std::string url() const {
    const auto& url = database_.url();
    const auto user = url.find("//") + 2;
    return url.substr(0, user) + name_ + url.substr(url.find('@'));
  }

 private:
  static void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }

  TestDatabase& database_;
  std::string name_;
};

}  // namespace seriatim::testing
