#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "seriatim/record.hpp"
#include "seriatim/transaction.hpp"

namespace seriatim::handlers {

/// A statement with the values of records by name: `:id`, `:payload` … become $1, $2 …; or
/// `:records`, the rows of a batch as a relation, alone. Names inside literals, quoted names and
/// comments are left alone, and so are casts (`::`).
class NamedStatement {
 public:
  /// Throws std::invalid_argument: a name no record has, several statements, or one that would
  /// begin or end a transaction.
  explicit NamedStatement(const std::string& text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool takes_batches() const { return takes_batches_; }
  [[nodiscard]] bool has_names() const { return takes_batches_ || !names_.empty(); }

  [[nodiscard]] Transaction::Params params(const Record& record) const;

 private:
  void name(const std::string& name);

  std::string text_;
  std::vector<std::string> names_;  ///< of $1, $2 …
  bool takes_batches_ = false;
};

/// A batch as the columns of `:records` (sql/target/records.sql), views into it. Does not move.
class RecordColumns {
 public:
  explicit RecordColumns(std::span<const Record> batch);
  RecordColumns(const RecordColumns&) = delete;
  RecordColumns& operator=(const RecordColumns&) = delete;

  [[nodiscard]] const std::vector<Transaction::Column>& values() const { return values_; }

 private:
  std::deque<std::string> headers_;  ///< those that are not {}
  std::vector<Transaction::Column> values_;
};

}  // namespace seriatim::handlers
