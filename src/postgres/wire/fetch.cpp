#include "postgres/wire/fetch.hpp"

#include <libpq-fe.h>

#include <pqxx/except>
#include <utility>

namespace seriatim::postgres {

namespace {

Answer receive(pg_conn* connection, int sent) {
  if (sent != 1) throw pqxx::broken_connection(PQerrorMessage(connection));
  Answer rows(PQgetResult(connection));
  Answer refusal;  // of the transaction's end, perhaps, behind all rows
  for (Answer next(PQgetResult(connection)); !next.none(); next = Answer(PQgetResult(connection))) {
    refusal = std::move(next);
  }
  if (rows.refused()) rows.throw_refusal(connection);
  if (!refusal.none() && refusal.refused()) refusal.throw_refusal(connection);
  return rows;
}

}  // namespace

Answer fetch_prepared(pg_conn* connection, const std::string& name,
                      const std::vector<std::optional<std::string>>& params) {
  const auto values = pointers_to(params);
  return receive(connection,
                 PQsendQueryPrepared(connection, name.c_str(), static_cast<int>(values.size()),
                                     values.data(), nullptr, nullptr, 1));
}

Answer fetch_text(pg_conn* connection, const std::string& sql,
                  const std::vector<std::optional<std::string>>& params, bool binary) {
  const auto values = pointers_to(params);
  return receive(connection,
                 PQsendQueryParams(connection, sql.c_str(), static_cast<int>(values.size()),
                                   nullptr, values.data(), nullptr, nullptr, binary ? 1 : 0));
}

}  // namespace seriatim::postgres
