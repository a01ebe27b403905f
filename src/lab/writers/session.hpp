#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seriatim::lab {

/// What the server or the connection said. The session may be lost: begin a new one.
class SqlFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A connection of the laboratory's own: nothing of the relay's way to the database is used to try
/// or judge the relay. Never silently reopened.
///
/// Threads: one. Errors: SqlFailed.
class Session {
 public:
  using Row = std::vector<std::optional<std::string>>;
  using Params = std::vector<std::string>;

  /// `durable` false: synchronous_commit = off.
  Session(const std::string& url, const std::string& application, bool durable = true);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// One statement, or without parameters several in one message; the rows of the last.
  std::vector<Row> run(std::string_view sql, const Params& params = {});
  /// The first column of the first row as a number; 0 for NULL or no row.
  std::int64_t number(std::string_view sql, const Params& params = {});
  /// COPY of four columns, in the open transaction.
  void copy(const std::string& table, const Params& columns, const std::vector<Params>& rows);

  [[nodiscard]] std::string quoted(std::string_view text) const;
  /// Where the server is, for a proxy before it.
  [[nodiscard]] std::string host() const;
  [[nodiscard]] std::uint16_t port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Puts text into the `{name}` placeholders of a statement.
[[nodiscard]] std::string fill(
    std::string_view sql,
    std::initializer_list<std::pair<std::string_view, std::string_view>> values);

}  // namespace seriatim::lab
