#include "postgres/admin/check/check_probe.hpp"

#include <algorithm>
#include <random>

#include "postgres/reader/fence_reader.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/check.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

std::string fresh_gid() {
  std::random_device random;
  return "seriatim_probe_" + std::to_string(random()) + std::to_string(random());
}

/// A transaction prepared under `gid`, gone with this object.
class Prepared {
 public:
  Prepared(Connection& connection, std::string gid)
      : connection_(connection), gid_(std::move(gid)) {
    connection_.run(fill(sql::check::probe_prepare, {{"gid", quote_literal(gid_)}}));
    connection_.rollback();  // it is no longer this session's transaction
  }
  ~Prepared() {
    try {
      connection_.run(fill(sql::check::probe_forget, {{"gid", quote_literal(gid_)}}));
    } catch (const std::exception&) {  // forget_leftover_probes() of the next check
    }
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

 private:
  Connection& connection_;
  std::string gid_;
};

template <class F>
bool any_blocker(Connection& eye, const Table& table, F&& is_it) {
  const auto holders = read_writers(eye, table);
  return std::any_of(holders.blockers.begin(), holders.blockers.end(), is_it);
}

Table cursor_table(Connection& connection) {
  const auto row = connection.run(sql::table::table_identity, {"seriatim.cursor"})[0];
  Table table;
  table.oid = row["oid"].as<std::string>();
  table.name = row["name"].as<std::string>();
  return table;
}

/// Younger ones may be in the hands of another check.
constexpr std::chrono::minutes leftover_age{1};

constexpr const char* latency =
    "guard = \"latency\", knowing that it loses rows whose transactions stay open longer than "
    "insert_latency";

/// Nothing where the transaction cannot be prepared now: all places for such may be taken.
std::optional<bool> see_prepared(Connection& eye, Connection& other, const Table& table) {
  const auto gid = fresh_gid();
  std::optional<Prepared> prepared;
  try {
    prepared.emplace(other, gid);
  } catch (const Error&) {
    return std::nullopt;
  }
  return any_blocker(eye, table, [&](const Blocker& blocker) { return blocker.gid == gid; });
}

}  // namespace

std::optional<ProbeFacts> probe_locks(Connection& eye, Connection& other, const Table& table,
                                      bool prepare) {
  ProbeFacts facts{table.name, false, std::nullopt};
  try {
    const auto pid =
        other.begin(fill(sql::check::probe_lock, {{"table", table.name}}))[0][0].as<int>();
    facts.lock_seen =
        any_blocker(eye, table, [&](const Blocker& blocker) { return blocker.pid == pid; });
  } catch (const SessionLost& lost) {
    if (lost.sqlstate() != "55P03") throw;  // lock_not_available
    other.rollback();
    return std::nullopt;
  }
  if (prepare) facts.prepared_seen = see_prepared(eye, other, table);
  other.rollback();
  return facts;
}

void forget_leftover_probes(Connection& connection, std::chrono::minutes age) {
  for (const auto& row :
       connection.run(sql::check::probe_leftovers, {std::to_string(age.count())})) {
    const auto gid = quote_literal(row["gid"].as<std::string>());
    connection.run(fill(sql::check::probe_forget, {{"gid", gid}}));
  }
}

void judge_probe(const ProbeFacts& facts, Findings& findings) {
  if (!facts.lock_seen) {
    findings.refuse(
        "pg_locks of this server does not show the lock that another session holds on " +
            facts.table + ": the fence would not see who is writing, and lose rows",
        latency);
  } else if (!facts.prepared_seen.value_or(true)) {
    findings.refuse(
        "pg_locks of this server does not show the lock that a prepared transaction "
        "holds on " +
            facts.table + ": the fence would not see it, and lose its rows",
        latency);
  } else {
    findings.ok("fence: the lock of another session on " + facts.table + " is seen" +
                (facts.prepared_seen ? ", that of a prepared transaction too" : ""));
  }
}

void check_fence(Connection& connection, const std::string& url, const Table& table,
                 Findings& findings) {
  if (!connection.direct()) {  // a pool of one would wait for itself
    findings.warn("behind a pooler it is not probed whether pg_locks shows the locks of others",
                  "run `seriatim check` once with the server's own address");
    return;
  }
  Connection other(url, {.application = "seriatim/check"});
  const auto means = connection.run(sql::check::probe_means, {table.oid})[0];
  const bool prepare = means["may_prepare"].as<bool>();
  if (prepare) forget_leftover_probes(connection, leftover_age);
  if (means["may_lock"].as<bool>()) {
    Table itself = table;
    itself.policed = means["policed"].as<bool>();
    if (const auto facts = probe_locks(connection, other, itself, false)) {
      judge_probe(*facts, findings);
    }
  }
  if (const auto facts = probe_locks(connection, other, cursor_table(connection), prepare)) {
    judge_probe(*facts, findings);
  } else {
    findings.warn("seriatim.cursor is locked against writers: the fence was not probed",
                  "check again when that has ended");
  }
}

}  // namespace seriatim::postgres
