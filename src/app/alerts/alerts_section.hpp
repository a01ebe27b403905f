#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/post_target.hpp"
#include "app/secrets.hpp"
#include "seriatim/options.hpp"

namespace seriatim::app {

/// From when on something is worth an alert; absent: never.
struct AlertThresholds {
  using milliseconds = std::chrono::milliseconds;

  std::optional<milliseconds> unheld;           ///< no relay holds a lane
  std::optional<milliseconds> lag;              ///< the oldest row of a lane waits
  std::optional<milliseconds> fence;            ///< rows of a lane wait for an open transaction
  std::optional<milliseconds> audit;            ///< the latest `seriatim audit` is older
  std::optional<milliseconds> database;         ///< it does not answer
  std::optional<std::uint64_t> parked;          ///< so many rows are set aside
  std::optional<milliseconds> held;             ///< a key is held
  std::optional<std::uint64_t> slot;            ///< a replication slot keeps so many bytes
  milliseconds configuration{15 * 60 * 1'000};  ///< relays run with different ones
};

/// `[alerts]`: what a relay calls a person for, and how.
struct AlertsConfig {
  enum class Format { webhook, slack };

  std::optional<PostTarget> target;  ///< else `command`
  std::vector<std::string> command;  ///< gets the message as JSON on its stdin
  std::vector<std::string> secrets;  ///< Standard Webhooks; two while rotating
  Format format = Format::webhook;
  AlertThresholds thresholds;
  std::chrono::milliseconds every{0};          ///< between two judgements
  std::chrono::milliseconds repeat{0};         ///< an open alert is sent again after so long
  std::chrono::milliseconds resolve_after{0};  ///< it was clear for so long
};

[[nodiscard]] AlertsConfig read_alerts(Options section, Secrets& secrets);

}  // namespace seriatim::app
