#include "postgres/wire/fetch.hpp"

#include <libpq-fe.h>

#include <pqxx/except>
#include <utility>

namespace seriatim::postgres {

namespace {

constexpr int binary = 1;

}  // namespace

Fetch::Fetch(pg_conn* connection, int sent) : connection_(connection) {
  if (sent != 1) throw pqxx::broken_connection(PQerrorMessage(connection_));
}

Fetch Fetch::prepared(pg_conn* connection, const std::string& name, const Params& params) {
  const auto values = pointers_to(params);
  return {connection, PQsendQueryPrepared(connection, name.c_str(), static_cast<int>(values.size()),
                                          values.data(), nullptr, nullptr, binary)};
}

Fetch Fetch::text(pg_conn* connection, const std::string& sql, const Params& params) {
  const auto values = pointers_to(params);
  return {connection, PQsendQueryParams(connection, sql.c_str(), static_cast<int>(values.size()),
                                        nullptr, values.data(), nullptr, nullptr, binary)};
}

Answer Fetch::receive() const {
  Answer rows(PQgetResult(connection_));
  Answer refusal;  // of the transaction's end, perhaps, behind all rows
  for (Answer next(PQgetResult(connection_)); !next.none();
       next = Answer(PQgetResult(connection_))) {
    refusal = std::move(next);
  }
  if (rows.refused()) rows.throw_refusal(connection_);
  if (!refusal.none() && refusal.refused()) refusal.throw_refusal(connection_);
  return rows;
}

}  // namespace seriatim::postgres
