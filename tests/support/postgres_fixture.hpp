#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "embedded/embedded_server.hpp"

namespace seriatim::testing {

/// The one server of this test program: started at first use, stopped at exit. Its folder is kept,
/// and its log named, when a test case failed.
embedded::EmbeddedServer& shared_server();

/// A connection of a test, standing for a producer, an operator or a witness.
class SqlSession {
 public:
  using Row = std::vector<std::optional<std::string>>;

  explicit SqlSession(const std::string& url, const std::string& application = "test");
  ~SqlSession();
  SqlSession(SqlSession&&) noexcept;

  /// Any statements; the rows of the last. Throws std::exception with the server's message.
  std::vector<Row> run(const std::string& sql);
  /// The first column of the first row; "" for NULL or no row.
  std::string value(const std::string& sql);
  [[nodiscard]] int pid() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A fresh database of the shared server with schema seriatim installed, dropped at the end.
class TestDatabase {
 public:
  TestDatabase();
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] SqlSession connect(const std::string& application = "test") const;
  /// On a connection kept for such asides.
  std::vector<SqlSession::Row> run(const std::string& sql);
  std::string value(const std::string& sql);
  /// Waits until `sql` answers 't', at most `seconds`; false when it never did.
  bool becomes_true(const std::string& sql, int seconds = 20);

 private:
  std::string name_;
  std::string url_;
  std::unique_ptr<SqlSession> session_;
};

}  // namespace seriatim::testing
