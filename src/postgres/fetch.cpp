#include "postgres/fetch.hpp"

#include <libpq-fe.h>

#include <pqxx/except>

namespace seriatim::postgres {

namespace {

constexpr int binary = 1;

std::vector<const char*> values_of(const Fetch::Params& params) {
  std::vector<const char*> values;
  values.reserve(params.size());
  for (const auto& param : params) values.push_back(param ? param->c_str() : nullptr);
  return values;
}

}  // namespace

Fetch::Fetch(pg_conn* connection, int sent) : connection_(connection) {
  if (sent != 1) throw pqxx::broken_connection(PQerrorMessage(connection_));
}

Fetch Fetch::prepared(pg_conn* connection, const std::string& name, const Params& params) {
  const auto values = values_of(params);
  return {connection, PQsendQueryPrepared(connection, name.c_str(), static_cast<int>(values.size()),
                                          values.data(), nullptr, nullptr, binary)};
}

Fetch Fetch::text(pg_conn* connection, const std::string& sql, const Params& params) {
  const auto values = values_of(params);
  return {connection, PQsendQueryParams(connection, sql.c_str(), static_cast<int>(values.size()),
                                        nullptr, values.data(), nullptr, nullptr, binary)};
}

Answer Fetch::receive() const {
  Answer rows(PQgetResult(connection_));
  while (!Answer(PQgetResult(connection_)).none()) {
  }
  if (rows.refused()) rows.throw_refusal(connection_);
  return rows;
}

}  // namespace seriatim::postgres
