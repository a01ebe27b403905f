#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "postgres/admin/check/check.hpp"
#include "support/postgres_fixture.hpp"

namespace seriatim::testing {

using postgres::Finding;
using postgres::Target;
using Severity = Finding::Severity;

inline constexpr const char* sound_table = R"(
    CREATE TABLE bookings (
        id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
        customer_id text,
        status      text,
        payload     json
    );
    CREATE INDEX ON bookings (created_at, id);)";

inline Target target_of(const std::string& table = "public.bookings") {
  Target target;
  target.process.name = "p";
  target.source.table = table;
  return target;
}

inline std::vector<Finding> of(Severity severity, const std::vector<Finding>& findings) {
  std::vector<Finding> out;
  std::copy_if(findings.begin(), findings.end(), std::back_inserter(out),
               [&](const Finding& f) { return f.severity == severity; });
  return out;
}

inline std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& finding : findings) {
    text += std::to_string(static_cast<int>(finding.severity)) + ' ' + finding.what + " | " +
            finding.remedy + '\n';
  }
  return text;
}

inline std::optional<Finding> find(const std::vector<Finding>& findings, Severity severity,
                                   const std::string& part) {
  for (const auto& finding : findings) {
    if (finding.severity == severity && finding.what.find(part) != std::string::npos) {
      return finding;
    }
  }
  return std::nullopt;
}

/// The first of the ways to fix that is SQL, and no line of the configuration.
inline std::string first_statement(const std::string& fix) {
  std::istringstream lines(fix);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("or: ")) line.erase(0, 4);
    if (!line.starts_with("late_rows = ")) return line;
  }
  return {};
}

inline void by_id(Target& target) {
  target.source.order_by = OrderBy::id;
}

}  // namespace seriatim::testing
