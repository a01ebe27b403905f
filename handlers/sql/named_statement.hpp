#pragma once

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
  /// Where it takes batches.
  [[nodiscard]] static Transaction::Params params(std::span<const Record> batch);

 private:
  void name(const std::string& name);

  std::string text_;
  std::vector<std::string> names_;  ///< of $1, $2 …
  bool takes_batches_ = false;
};

}  // namespace seriatim::handlers
