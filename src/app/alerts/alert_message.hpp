#pragma once

#include <string>

#include "postgres/admin/records/records.hpp"

namespace seriatim::app {

/// The same at every try, and from every relay: what a receiver de-duplicates by.
[[nodiscard]] std::string message_id(const postgres::AlertMessage& message);

/// "seriatim.lane.halted", "seriatim.process.parked", "seriatim.server.slot"
[[nodiscard]] std::string message_type(const postgres::AlertMessage& message);

/// The body of Standard Webhooks, docs/monitoring.md says what is in it. Never a payload.
[[nodiscard]] std::string message_json(const postgres::AlertMessage& message);

/// `{"text": "…"}`, as Slack's incoming webhooks and those of several others take it.
[[nodiscard]] std::string message_slack(const postgres::AlertMessage& message);

}  // namespace seriatim::app
