#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seriatim::bench {

/// Rows as libpq holds them.
class Result {
 public:
  explicit Result(void* handle) : handle_(handle, &clear) {}

  [[nodiscard]] int rows() const;
  [[nodiscard]] int columns() const;
  /// Good as long as this; empty for NULL.
  [[nodiscard]] std::string_view at(int row, int column) const;
  [[nodiscard]] std::string text(int row, int column) const { return std::string(at(row, column)); }
  [[nodiscard]] std::int64_t number(int row = 0, int column = 0) const;

 private:
  static void clear(void* handle);
  std::shared_ptr<void> handle_;
};

/// A connection through bare libpq, text format: the limits are taken with it, and the stage is
/// set.
///
/// Threads: one. Errors: Error with what the server said.
class Database {
 public:
  using Params = std::vector<std::string>;

  explicit Database(const std::string& url, const std::string& application = "bench");

  /// One statement, or several in one message.
  void run(std::string_view sql);
  Result query(std::string_view sql, const Params& params = {});
  void prepare(const std::string& name, std::string_view sql);
  Result execute(const std::string& name, const Params& params);
  /// After a LISTEN: true when one came, false after `at_most`. All that came count as one.
  bool await_notification(std::chrono::milliseconds at_most);

 private:
  static void finish(void* handle);
  Result checked(void* result) const;
  std::unique_ptr<void, void (*)(void*)> handle_;
};

/// The same server and role, another database.
[[nodiscard]] std::string with_database(const std::string& url, const std::string& database);

/// Puts text into the `{name}` placeholders of a statement.
[[nodiscard]] std::string fill(
    std::string_view sql,
    std::initializer_list<std::pair<std::string_view, std::string_view>> values);

}  // namespace seriatim::bench
