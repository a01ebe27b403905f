#pragma once

#include <string>
#include <vector>

#include "postgres/admin/admin.hpp"

namespace seriatim::postgres {

/// One thing `check` found out about a process's table and database.
struct Finding {
  enum class Severity { ok, warning, refusal };
  Severity severity = Severity::ok;
  std::string what;    ///< "public.bookings.created_at defaults to now(), the transaction's start"
  std::string remedy;  ///< the statement or setting that puts it right; empty for ok
};

struct CheckOptions {
  /// Every process of the configuration: a cursor of none of them may be ours under a former name.
  /// Empty: not searched for.
  std::vector<std::string> configured;
  /// What the lanes themselves halt for, and go on from once it was adopted, is no reason not to
  /// start them.
  bool at_start = false;
};

/// Everything by which promise P1 could not hold is a refusal. Reads only.
[[nodiscard]] std::vector<Finding> check(const std::string& url, const Target& target,
                                         const CheckOptions& options = {});

/// Where the process begins and how many rows go out first, for people; empty if it has a cursor.
/// The count takes no longer than a few seconds. Error: `start` names no place in the table.
[[nodiscard]] std::string first_rows_text(const std::string& url, const Target& target);

/// The refusals as one message, empty when there are none: what start-up shows.
[[nodiscard]] std::string refusals(const std::vector<Finding>& findings);

}  // namespace seriatim::postgres
