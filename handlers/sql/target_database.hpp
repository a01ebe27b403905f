#pragma once

#include <functional>
#include <memory>
#include <string>

#include "seriatim/handler.hpp"
#include "seriatim/postgres.hpp"
#include "sql/projection.hpp"

namespace seriatim::handlers {

/// A read model in a database of its own: what was written and how far it got (table
/// seriatim_position) are committed there together, so a row repeated to it takes effect once.
///
/// Threads: one. Errors: values; a lost connection is opened anew at the next call.
class TargetDatabase {
 public:
  TargetDatabase(std::string url, Projection projection)
      : url_(std::move(url)), projection_(std::move(projection)) {}

  BatchOutcome apply(std::span<const Record> batch, const CallContext& context);

 private:
  struct Position {
    std::uint64_t sequence = 0;
    std::string id;
    std::uint64_t epoch = 0;
  };
  void open(const std::string& process);
  [[nodiscard]] BatchOutcome apply_once(std::span<const Record> batch, const CallContext& context);
  [[nodiscard]] static Position locked_position(Transaction& transaction, const Record& of);
  [[nodiscard]] static std::optional<Outcome> refusal(const Position& reached,
                                                      std::span<const Record> batch,
                                                      std::size_t known);

  std::string url_;
  Projection projection_;
  std::unique_ptr<DatabaseSession> session_;
};

}  // namespace seriatim::handlers
