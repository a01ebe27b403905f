#include "postgres/pipeline.hpp"

#include <libpq-fe.h>

#include <pqxx/except>

namespace seriatim::postgres {

// --- what a statement answered ------------------------------------------------------------------

void Answer::Clear::operator()(pg_result* result) const {
  PQclear(result);
}

Answer::Answer(pg_result* result) : result_(result) {}

std::size_t Answer::size() const {
  return static_cast<std::size_t>(PQntuples(result_.get()));
}

std::optional<std::string> Answer::value(std::size_t row, const char* column) const {
  const auto* result = result_.get();
  const int at = static_cast<int>(row);
  const int field = PQfnumber(result, column);
  if (field < 0) throw pqxx::argument_error("no column " + std::string(column));
  if (PQgetisnull(result, at, field) != 0) return std::nullopt;
  return std::string(PQgetvalue(result, at, field),
                     static_cast<std::size_t>(PQgetlength(result, at, field)));
}

// --- statements together ------------------------------------------------------------------------

Pipeline::Pipeline(pg_conn* connection) : connection_(connection) {
  if (PQenterPipelineMode(connection_) != 1) lost();
}

Pipeline::~Pipeline() {
  leave();  // where it cannot, libpq refuses all that follows: the session is lost
}

void Pipeline::send(const std::string& prepared,
                    const std::vector<std::optional<std::string>>& params) {
  std::vector<const char*> values;
  values.reserve(params.size());
  for (const auto& param : params) values.push_back(param ? param->c_str() : nullptr);
  if (PQsendQueryPrepared(connection_, prepared.c_str(), static_cast<int>(values.size()),
                          values.data(), nullptr, nullptr, 0) != 1) {
    lost();
  }
  ++owed_;
}

Answer Pipeline::answer_now() {
  if (PQsendFlushRequest(connection_) != 1) lost();
  return answer();
}

std::vector<Answer> Pipeline::answers() {
  if (PQpipelineSync(connection_) != 1) lost();
  synced_ = true;
  std::vector<Answer> told;
  while (owed_ > 0) told.push_back(answer());
  if (!leave()) lost();
  return told;
}

/// A null of libpq's ends the answer of a statement.
Answer Pipeline::answer() {
  Answer told(PQgetResult(connection_));
  const auto* result = told.result_.get();
  const auto status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    const std::string message = PQresultErrorMessage(result);
    const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const bool usable = leave() && PQstatus(connection_) == CONNECTION_OK;
    if (message.empty()) lost();
    if (!usable) throw pqxx::broken_connection(message);
    throw pqxx::sql_error(message, "", sqlstate == nullptr ? "" : sqlstate);
  }
  --owed_;
  Answer end(PQgetResult(connection_));
  return told;
}

/// Whatever is still to come is read first. False where it does not come.
bool Pipeline::leave() {
  if (PQpipelineStatus(connection_) == PQ_PIPELINE_OFF) return true;
  if (!synced_ && PQpipelineSync(connection_) == 1) synced_ = true;
  // Two nulls in a row: nothing will follow.
  for (int nulls = 0; nulls < 2 && PQstatus(connection_) == CONNECTION_OK;) {
    const Answer dropped(PQgetResult(connection_));
    if (PQresultStatus(dropped.result_.get()) == PGRES_PIPELINE_SYNC) break;
    nulls = dropped.result_ ? 0 : nulls + 1;
  }
  return PQexitPipelineMode(connection_) == 1;
}

void Pipeline::lost() const {
  throw pqxx::broken_connection(PQerrorMessage(connection_));
}

}  // namespace seriatim::postgres
