#include "postgres/admin/check/check_server.hpp"

#include <array>
#include <cstdlib>

#include "sql/check.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

constexpr int oldest_version = 140000;
constexpr milliseconds clock_skew_max{1'000};

/// Ours at the middle of the question against theirs: right to half a round trip.
milliseconds clock_ahead(Connection& connection) {
  using std::chrono::microseconds;
  using std::chrono::system_clock;
  const auto asked = system_clock::now();
  const auto theirs = connection.run(sql::wire::clock)[0][0].as<std::int64_t>();
  const auto middle = asked + (system_clock::now() - asked) / 2;
  return std::chrono::duration_cast<milliseconds>(microseconds(theirs) - middle.time_since_epoch());
}

/// Speaks PostgreSQL's protocol without its lock manager behind pg_locks; empty: it is PostgreSQL.
std::string lookalike(const std::string& version) {
  constexpr std::array<std::string_view, 6> names{"CockroachDB", "-YB-",        "YugabyteDB",
                                                  "Redshift",    "Materialize", "Greenplum"};
  for (const auto name : names) {
    if (version.find(name) != std::string::npos) return std::string(name);
  }
  return version.rfind("PostgreSQL ", 0) == 0 ? "" : version.substr(0, 40);
}

void judge_version(const ServerFacts& server, Guard guard, Findings& findings) {
  const auto name = lookalike(server.version);
  if (!name.empty() && guard == Guard::fence) {
    findings.refuse("the server is not PostgreSQL but " + name +
                        ": its pg_locks need not show who is writing, so the fence may lose rows",
                    "guard = \"latency\", knowing that it loses rows whose transactions stay open "
                    "longer than insert_latency");
  } else if (!name.empty()) {
    findings.warn("the server is not PostgreSQL but " + name,
                  "try it under load first; seriatim is tested on PostgreSQL 14 to 18");
  } else if (server.version_number < oldest_version) {
    findings.refuse("PostgreSQL " + server.release + " is older than 14", "upgrade the server");
  } else {
    findings.ok("server: PostgreSQL " + server.release);
  }
}

void judge_role(const ServerFacts& server, Findings& findings) {
  if (server.superuser) {
    findings.warn("role " + server.role + " is a superuser",
                  "a role of its own with SELECT on the table and rights on schema seriatim: "
                  "docs/roles.md");
  } else {
    findings.ok("role: " + server.role + ", not a superuser");
  }
  if (!server.local && !server.tls && !server.pooled) {  // behind a pooler: its way, not ours
    findings.warn("the connection to a server elsewhere is not encrypted",
                  "sslmode=verify-full in the database url");
  }
}

}  // namespace

ServerFacts read_server(Connection& connection) {
  const auto row = connection.run(sql::check::server)[0];
  ServerFacts facts;
  facts.pooled = !connection.direct();
  facts.version = row["version"].c_str();
  facts.release = row["release"].c_str();
  facts.version_number = row["version_number"].as<int>();
  facts.standby = row["standby"].as<bool>();
  facts.database = row["database"].c_str();
  facts.role = row["role"].c_str();
  facts.superuser = row["superuser"].as<bool>(false);
  facts.tls = row["tls"].as<bool>();
  facts.local = row["local"].as<bool>();
  facts.idle_timeout = milliseconds(row["idle_timeout_ms"].as<std::int64_t>(0));
  facts.clock_ahead = clock_ahead(connection);
  return facts;
}

void judge_server(const ServerFacts& server, Guard guard, Findings& findings) {
  judge_version(server, guard, findings);
  if (server.standby) {
    findings.refuse("the server is a standby (pg_is_in_recovery): the cursor cannot be kept there",
                    "connect to the primary: target_session_attrs=read-write in the database url");
  }
  judge_role(server, findings);
  if (server.idle_timeout == milliseconds{0}) {
    findings.warn(
        "idle_in_transaction_session_timeout is 0: a producer that forgets an open "
        "transaction holds its rows and all later ones back for ever",
        "ALTER DATABASE " + server.database + " SET idle_in_transaction_session_timeout = '60s'");
  }
  if (std::abs(server.clock_ahead.count()) > clock_skew_max.count()) {
    findings.warn("the server's clock is " + std::to_string(server.clock_ahead.count()) +
                      " ms ahead of this machine's",
                  "synchronise both clocks (NTP): ages and times shown will be off");
  }
  if (guard == Guard::latency) {
    findings.warn(
        "guard = \"latency\" loses rows whose transactions stay open longer than "
        "insert_latency",
        "guard = \"fence\"");
  }
}

void judge_way(const ServerFacts& server, const ProcessConfig& process, bool listen,
               Findings& findings) {
  if (!server.pooled) return;
  const auto ms = [](milliseconds m) { return std::to_string(m.count()) + " ms"; };
  const std::string what =
      "the connection goes through a pooler: new rows are found by polling (every " +
      ms(process.poll_interval_max) +
      " when idle), and a relay that died is replaced once its lease is over (" +
      ms(process.lease) + ")";
  if (!listen) {
    findings.ok(what);
    return;
  }
  findings.warn(what,
                "listen = false, where that will do; give the pool more connections than there "
                "are lanes, and idle_transaction_timeout 0 or above handler_deadline (" +
                    ms(process.handler_deadline) +
                    "); settings of the role by ALTER ROLE\nor: a direct connection for seriatim");
}

void check_prepared_transactions(Connection& connection, std::chrono::minutes age_max,
                                 Findings& findings) {
  for (const auto& row : connection.run(sql::check::prepared, {std::to_string(age_max.count())})) {
    findings.warn("transaction " + std::string(row["gid_literal"].c_str()) + " of " +
                      row["owner"].c_str() + " has been prepared for " +
                      std::to_string(row["age_seconds"].as<std::int64_t>() / 60) +
                      " min: where it wrote the table, rows wait for it",
                  "ROLLBACK PREPARED " + std::string(row["gid_literal"].c_str()) +
                      "\nor: COMMIT PREPARED, as its coordinator says");
  }
}

}  // namespace seriatim::postgres
