#include "support/postgres_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <iostream>
#include <pqxx/pqxx>
#include <thread>

#include "lab/process/temporary_folder.hpp"
#include "postgres/admin/migrate.hpp"

namespace seriatim::testing {

namespace {

bool some_case_failed = false;

/// Names the server's log where a case failed: the other half of the story is there.
struct ServerLogListener final : doctest::IReporter {
  explicit ServerLogListener(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    some_case_failed = some_case_failed || !stats.testCaseSuccess;
  }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

class SharedServer {
 public:
  SharedServer()
      : server_({folder_.path() / "server",
                 {"fsync=off", "max_prepared_transactions=64", "max_connections=600",
                  "shared_buffers=32MB", "autovacuum=off", "log_min_messages=warning",
                  // Nothing but a commit that waits makes a commit durable.
                  "wal_writer_delay=10s", "wal_writer_flush_after=1GB"},
                 {}}) {
    SqlSession(server_.url()).run("CREATE DATABASE seriatim_template");
    postgres::migrate(server_.url("seriatim_template"));
  }

  ~SharedServer() {
    folder_.keep(some_case_failed);
    if (some_case_failed) std::cerr << "the server's log is kept: " << server_.log_file() << '\n';
  }

  embedded::EmbeddedServer& server() { return server_; }

 private:
  lab::TemporaryFolder folder_;
  embedded::EmbeddedServer server_;
};

}  // namespace

REGISTER_LISTENER("server_log", 1, ServerLogListener);

embedded::EmbeddedServer& shared_server() {
  static SharedServer shared;
  return shared.server();
}

// --- SqlSession ---------------------------------------------------------------------------------

struct SqlSession::Impl {
  explicit Impl(const std::string& url) : connection(url) {}
  pqxx::connection connection;
};

SqlSession::SqlSession(const std::string& url, const std::string& application)
    : impl_(std::make_unique<Impl>(url)) {
  run("SET application_name = '" + application + "'");
  run("SET seriatim.knows_schema = '22'");  // so that a test may change a cursor by hand
}

SqlSession::~SqlSession() = default;
SqlSession::SqlSession(SqlSession&&) noexcept = default;

std::vector<SqlSession::Row> SqlSession::run(const std::string& sql) {
  pqxx::nontransaction work(impl_->connection);
  std::vector<Row> rows;
  for (const auto& row : work.exec(sql)) {
    auto& out = rows.emplace_back();
    for (const auto& field : row) {
      out.push_back(field.is_null() ? std::nullopt : std::optional(field.as<std::string>()));
    }
  }
  return rows;
}

std::string SqlSession::value(const std::string& sql) {
  const auto rows = run(sql);
  return rows.empty() || rows[0].empty() ? "" : rows[0][0].value_or("");
}

int SqlSession::pid() const {
  return impl_->connection.backendpid();
}

// --- TestDatabase -------------------------------------------------------------------------------

TestDatabase::TestDatabase() {
  static int count = 0;
  name_ = "test_" + std::to_string(++count);
  SqlSession(shared_server().url()).run("CREATE DATABASE " + name_ + " TEMPLATE seriatim_template");
  url_ = shared_server().url(name_);
  session_ = std::make_unique<SqlSession>(url_, "test aside");
}

TestDatabase::~TestDatabase() {
  session_.reset();
  try {
    SqlSession(shared_server().url()).run("DROP DATABASE " + name_ + " WITH (FORCE)");
  } catch (const std::exception&) {  // the server was stopped by a test, or holds a prepared one
  }
}

SqlSession TestDatabase::connect(const std::string& application) const {
  return SqlSession(url_, application);
}

std::vector<SqlSession::Row> TestDatabase::run(const std::string& sql) {
  return session_->run(sql);
}

std::string TestDatabase::value(const std::string& sql) {
  return session_->value(sql);
}

bool TestDatabase::becomes_true(const std::string& sql, int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (value(sql) != "t") {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace seriatim::testing
