#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "seriatim/handler.hpp"
#include "sql/named_statement.hpp"

namespace seriatim::handlers {

/// What is to be written for records, and in which statement.
struct ProjectionConfig {
  std::optional<NamedStatement> statement;   ///< for every event type not named in `on`
  std::map<std::string, NamedStatement> on;  ///< by event type
  std::optional<std::string> reset;          ///< before the first row of a lane
};

/// Applies records to a read model, in a transaction of someone else's.
///
/// The whole batch is written on the chance that all of it is accepted. Where a row is refused, all
/// is taken back and the rows before it are written again: so what remains is exactly what is
/// reported as done.
class Projection {
 public:
  explicit Projection(ProjectionConfig config) : config_(std::move(config)) {}

  /// Errors: SessionLost when the transaction is gone.
  [[nodiscard]] BatchOutcome apply(Transaction& transaction, std::span<const Record> batch,
                                   const CallContext& context) const;

  /// The statement of a record that comes alone, with its parameters as headers. Throws as
  /// `statement_for` does.
  [[nodiscard]] Rendering render(const Record& record) const;

  /// Whether this row begins the model anew.
  [[nodiscard]] bool resets_at(const Record& record) const {
    return config_.reset && !record.previous_id;
  }

 private:
  enum class Pace { in_haste, row_by_row };
  [[nodiscard]] BatchOutcome write(Transaction& transaction, std::span<const Record> batch,
                                   const CallContext& context, Pace pace) const;
  [[nodiscard]] std::optional<Outcome> write_reset(Transaction& transaction) const;
  [[nodiscard]] std::optional<Outcome> write_rows(Transaction& transaction,
                                                  std::span<const Record> rows) const;
  [[nodiscard]] static std::optional<Outcome> check_constraints(Transaction& transaction);
  /// Throws CannotRender if there is none for its event type.
  [[nodiscard]] const NamedStatement& statement_for(const Record& record) const;

  ProjectionConfig config_;
};

}  // namespace seriatim::handlers
