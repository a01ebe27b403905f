#include "postgres/wire/answer.hpp"

#include <libpq-fe.h>

#include <pqxx/except>

namespace seriatim::postgres {

std::vector<const char*> pointers_to(const std::vector<std::optional<std::string>>& params) {
  std::vector<const char*> values;
  values.reserve(params.size());
  for (const auto& param : params) values.push_back(param ? param->c_str() : nullptr);
  return values;
}

void Answer::Clear::operator()(pg_result* result) const {
  PQclear(result);
}

Answer::Answer(pg_result* result) : result_(result) {}

std::size_t Answer::size() const {
  return static_cast<std::size_t>(PQntuples(result_.get()));
}

std::size_t Answer::columns() const {
  return static_cast<std::size_t>(PQnfields(result_.get()));
}

std::optional<std::string_view> Answer::cell(std::size_t row, std::size_t column) const {
  const auto* result = result_.get();
  const int at = static_cast<int>(row);
  const int field = static_cast<int>(column);
  const auto length = static_cast<std::size_t>(PQgetlength(result, at, field));
  if (length == 0 && PQgetisnull(result, at, field) != 0) return std::nullopt;
  return std::string_view(PQgetvalue(result, at, field), length);
}

std::optional<std::string> Answer::value(std::size_t row, const char* column) const {
  const int field = PQfnumber(result_.get(), column);
  if (field < 0) throw pqxx::argument_error("no column " + std::string(column));
  const auto found = cell(row, static_cast<std::size_t>(field));
  return found ? std::optional(std::string(*found)) : std::nullopt;
}

bool Answer::refused() const {
  const auto status = PQresultStatus(result_.get());
  return status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK;
}

void Answer::throw_refusal(const pg_conn* connection) const {
  const auto* result = result_.get();
  if (result == nullptr) throw pqxx::broken_connection(PQerrorMessage(connection));
  const std::string message = PQresultErrorMessage(result);
  if (PQstatus(connection) != CONNECTION_OK) throw pqxx::broken_connection(message);
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  throw pqxx::sql_error(message, "", sqlstate == nullptr ? "" : sqlstate);
}

bool Answer::ends_pipeline() const {
  return PQresultStatus(result_.get()) == PGRES_PIPELINE_SYNC;
}

}  // namespace seriatim::postgres
