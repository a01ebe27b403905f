#include "postgres/pipeline.hpp"

#include <libpq-fe.h>

#include <pqxx/except>

namespace seriatim::postgres {

Pipeline::Pipeline(pg_conn* connection) : connection_(connection) {
  if (PQenterPipelineMode(connection_) != 1) lost();
}

Pipeline::~Pipeline() {
  leave();  // where it cannot, libpq refuses all that follows: the session is lost
}

void Pipeline::send(const std::string& prepared,
                    const std::vector<std::optional<std::string>>& params) {
  const auto values = pointers_to(params);
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

Answer Pipeline::answer() {
  Answer told(PQgetResult(connection_));
  if (told.refused()) {
    if (!leave()) lost();
    told.throw_refusal(connection_);
  }
  --owed_;
  const Answer end(PQgetResult(connection_));
  return told;
}

/// Whatever is still to come is read first. False where it does not come.
bool Pipeline::leave() {
  if (PQpipelineStatus(connection_) == PQ_PIPELINE_OFF) return true;
  if (!synced_ && PQpipelineSync(connection_) == 1) synced_ = true;
  // Two nulls in a row: nothing will follow.
  for (int nulls = 0; nulls < 2 && PQstatus(connection_) == CONNECTION_OK;) {
    const Answer dropped(PQgetResult(connection_));
    if (dropped.ends_pipeline()) break;
    nulls = dropped.none() ? nulls + 1 : 0;
  }
  return PQexitPipelineMode(connection_) == 1;
}

void Pipeline::lost() const {
  throw pqxx::broken_connection(PQerrorMessage(connection_));
}

}  // namespace seriatim::postgres
