#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pg_conn;  // libpq's: its header stays out of ours
struct pg_result;

namespace seriatim::postgres {

/// As libpq takes them; valid for as long as they are.
[[nodiscard]] std::vector<const char*> pointers_to(
    const std::vector<std::optional<std::string>>& params);

/// What a statement sent through libpq itself answered: libpqxx 6 knows neither pipelines nor
/// binary rows.
class Answer {
 public:
  explicit Answer(pg_result* result = nullptr);  ///< takes it over

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::size_t columns() const;
  /// As it came; absent: NULL. Valid for as long as the answer is.
  [[nodiscard]] std::optional<std::string_view> cell(std::size_t row, std::size_t column) const;
  [[nodiscard]] std::optional<std::string> value(std::size_t row, const char* column) const;

  /// Is there none? libpq ends with it what a statement answered.
  [[nodiscard]] bool none() const { return !result_; }
  [[nodiscard]] bool refused() const;
  /// As libpqxx would: sql_error, broken_connection.
  [[noreturn]] void throw_refusal(const pg_conn* connection) const;
  [[nodiscard]] bool ends_pipeline() const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

}  // namespace seriatim::postgres
