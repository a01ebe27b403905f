#pragma once

#include <cstdint>
#include <string>

#include "postgres/admin/check/findings.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"

namespace seriatim::postgres {

/// The server, the way to it and our role on it.
struct ServerFacts {
  std::string version;     ///< version(): lookalikes name themselves there
  std::string release;     ///< "15.8"
  int version_number = 0;  ///< 150008
  bool standby = false;
  std::string database;  ///< quoted
  std::string role;      ///< quoted
  bool superuser = false;
  bool pooled = false;  ///< a pooler is between us and the server
  bool tls = false;
  bool local = true;             ///< a socket or loopback
  milliseconds idle_timeout{0};  ///< idle_in_transaction_session_timeout; 0: none
  milliseconds clock_ahead{0};   ///< the server's clock before ours
};

[[nodiscard]] ServerFacts read_server(Connection& connection);

/// Judging is apart from reading, so that servers we cannot start here are judged in tests too.
void judge_server(const ServerFacts& server, Guard guard, Findings& findings);

/// What changes behind a pooler, where there is one.
void judge_way(const ServerFacts& server, const ProcessConfig& process, bool listen,
               Findings& findings);

/// Prepared longer ago than this and still not ended: they hold the fence where they wrote the
/// table.
void check_prepared_transactions(Connection& connection, std::chrono::minutes age_max,
                                 Findings& findings);

}  // namespace seriatim::postgres
