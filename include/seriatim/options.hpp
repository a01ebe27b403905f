#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace seriatim {

/// What is wrong with a configuration, gathered so that all of it is reported together.
/// Each line reads `file:line: key: what is wrong; what to do`.
class Problems {
 public:
  void add(std::string where, std::string_view what);
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> lines_;
};

/// A configuration table as handlers see it: typed lookups that note problems instead of throwing.
/// Every key that was asked for is known; `finish` complains about the others, naming the nearest.
///
/// Values of the wrong type, out of range or missing give the fallback and a problem.
class Options {
 public:
  struct Value;
  using List = std::vector<Value>;
  struct Table;
  struct Value {
    std::variant<bool, std::int64_t, double, std::string, List, std::shared_ptr<Table>> data;
    std::string where;  ///< "seriatim.toml:12"
  };
  struct Table {
    std::map<std::string, Value, std::less<>> values;
    std::string where;
    std::string path;  ///< "process.handler"
  };

  Options(std::shared_ptr<const Table> table, Problems& problems);

  [[nodiscard]] bool has(std::string_view key);
  std::string text(std::string_view key, std::string fallback = {});
  /// Text, or a whole number as text.
  std::string text_or_integer(std::string_view key, std::string fallback);
  std::string required_text(std::string_view key);
  bool flag(std::string_view key, bool fallback);
  std::int64_t integer(std::string_view key, std::int64_t fallback, std::int64_t min,
                       std::int64_t max);
  /// "200ms", "10s", "5m", "1h"
  std::chrono::milliseconds duration(std::string_view key, std::chrono::milliseconds fallback);
  /// "64KiB", "16MiB" or a plain count of bytes
  std::size_t bytes(std::string_view key, std::size_t fallback);
  /// One of `choices`; answers its index.
  std::size_t choice(std::string_view key, std::size_t fallback,
                     const std::vector<std::string_view>& choices);
  std::vector<std::string> texts(std::string_view key);
  /// A table of text values, e.g. extra headers.
  std::map<std::string, std::string> text_table(std::string_view key);
  /// A nested table, empty where absent.
  Options table(std::string_view key);
  std::vector<Options> tables(std::string_view key);

  /// Notes a problem with `key` that only the caller can see.
  void problem(std::string_view key, std::string_view what);
  /// Notes every key nobody asked for.
  void finish();

 private:
  const Value* find(std::string_view key);

  std::shared_ptr<const Table> table_;
  Problems* problems_;
  std::vector<std::string> asked_;
};

}  // namespace seriatim
