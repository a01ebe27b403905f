#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "seriatim/handler.hpp"
#include "seriatim/registry.hpp"
#include "support/excerpt.hpp"

namespace seriatim::handlers {

/// A handler that sends several rows and then waits for their acknowledgements: the delivery loop
/// of all brokers.
///
/// A call goes in rounds: `begin`, `add` for one row after the other, `settle`. The next round
/// begins at the first row that is not acknowledged. A row that cannot be rendered ends the round
/// before it, and is poison when it is the first of a round. So does any other error: then it is
/// `retry_later`, or `unknown` if `settle` threw it.
class PipelinedHandler : public Handler {
 public:
  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) final;

 protected:
  using Clock = std::chrono::steady_clock;
  using Rows = std::span<const Record>;

  /// What became of the rows of one round.
  struct RoundResult {
    std::size_t done = 0;  ///< leading rows that the receiver acknowledged
    /// What happened to the row after them. Empty if all are done, or if the receiver surely does
    /// not have that row and it can go out again at once.
    std::optional<Outcome> failure;
  };

  /// Connects if there is no connection, and forgets the round before. `rows` is what is left of
  /// the batch. Answers why nothing can be sent; empty: go on.
  [[nodiscard]] virtual std::optional<Outcome> begin(Rows rows, Clock::time_point deadline) = 0;
  /// Adds `rows[row]` to the round. False: the round is full without this row. Throws CannotRender
  /// for a row that cannot be sent as it is. Nothing of a row that was not added may be sent.
  [[nodiscard]] virtual bool add(Rows rows, std::size_t row) = 0;
  /// Sends what was added, unless `add` did, and waits until each row of `sent` is acknowledged,
  /// refused or given up. A row whose answer is missing is `unknown`, never done.
  [[nodiscard]] virtual RoundResult settle(Rows sent, Clock::time_point deadline) = 0;

  /// For an `add` that may take long: end the round before any row but the first.
  [[nodiscard]] bool should_yield() const { return context_->should_yield(); }
  /// A secret that no reason may hold.
  void hide(std::string_view secret) { redactor_.add(secret); }
  /// What the receiver said, fit for a reason.
  [[nodiscard]] std::string reported(std::string text) const;

 private:
  [[nodiscard]] RoundResult deliver(Rows rows);
  [[nodiscard]] std::size_t fill(Rows rows);

  const CallContext* context_ = nullptr;  ///< of the call that runs
  Redactor redactor_;
};

/// Registers a kind whose handlers are made of what `read` finds in the table.
template <class Made, class Config>
void add_pipelined_kind(HandlerRegistry& registry, std::string name, std::string summary,
                        Config (*read)(Options&)) {
  const auto configure = [read](Options& options) -> HandlerFactory {
    return [config = read(options)](unsigned) { return std::make_unique<Made>(config); };
  };
  HandlerKind kind{std::move(name), std::move(summary), configure};
  kind.takes_batches = true;
  registry.add(std::move(kind));
}

}  // namespace seriatim::handlers
