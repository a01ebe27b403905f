#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "app/alerts/alerts_section.hpp"
#include "postgres/admin/records/records.hpp"
#include "support/webhook_signature.hpp"

namespace seriatim::app {

/// Who takes alerts: a webhook or a program.
///
/// Threads: one at a time.
class AlertReceiver {
 public:
  /// A program that has not ended by then is killed. No request takes longer either.
  static constexpr std::chrono::seconds time_max{30};

  explicit AlertReceiver(const AlertsConfig& config);

  /// Why it was not accepted; nothing if it was. Text that may come from outside is in it. Once
  /// `stop` is asked, a program is killed; a request goes on until its timeout.
  [[nodiscard]] std::optional<std::string> send(const postgres::AlertMessage& message,
                                                const std::stop_token& stop);

 private:
  std::optional<std::string> post(const postgres::AlertMessage& message);
  std::optional<std::string> run(const postgres::AlertMessage& message,
                                 const std::stop_token& stop) const;

  const AlertsConfig& config_;
  handlers::WebhookSigner signer_;
  std::optional<Poster> poster_;
};

}  // namespace seriatim::app
