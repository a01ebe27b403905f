#include "postgres/wire/pipeline.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <pqxx/except>
#include <utility>

namespace seriatim::postgres {

Pipeline::Pipeline(pg_conn* connection) : connection_(connection) {
  if (PQenterPipelineMode(connection_) != 1) lost();
}

Pipeline::~Pipeline() {
  leave();  // where it cannot, libpq refuses all that follows: the session is lost
}

void Pipeline::send(const std::string& prepared,
                    const std::vector<std::optional<std::string>>& params, bool binary) {
  const auto values = pointers_to(params);
  if (PQsendQueryPrepared(connection_, prepared.c_str(), static_cast<int>(values.size()),
                          values.data(), nullptr, nullptr, binary ? 1 : 0) != 1) {
    lost();
  }
  ++owed_;
  unsynced_ = true;
}

void Pipeline::flush() {
  if (PQpipelineSync(connection_) != 1) lost();
  ++syncs_;
  unsynced_ = false;
}

void Pipeline::ask_now() {
  if (PQsendFlushRequest(connection_) != 1 || PQflush(connection_) == -1) lost();
}

std::vector<Answer> Pipeline::answers_now(std::size_t count) {
  std::vector<Answer> received;
  while (count-- > 0) received.push_back(answer());
  return received;
}

std::vector<Answer> Pipeline::answers() {
  flush();
  auto received = answers_now(owed_);
  Answer refusal;  // of the transaction's end, perhaps, behind all answers
  if (!leave(&refusal)) lost();
  if (!refusal.none()) refusal.throw_refusal(connection_);
  return received;
}

Answer Pipeline::answer() {
  Answer received(PQgetResult(connection_));
  for (; received.ends_pipeline(); received = Answer(PQgetResult(connection_))) --syncs_;
  if (received.refused()) {
    if (!leave()) lost();
    received.throw_refusal(connection_);
  }
  --owed_;
  const Answer end(PQgetResult(connection_));
  return received;
}

void Pipeline::confirm() {
  for (int nulls = 0; nulls < 2;) {  // two in a row: nothing will follow
    const Answer end(PQgetResult(connection_));
    if (!end.none() && end.ends_pipeline()) {
      --syncs_;
      return;
    }
    if (!end.none() && end.refused()) {
      if (!leave()) lost();
      end.throw_refusal(connection_);
    }
    nulls = end.none() ? nulls + 1 : 0;
  }
  lost();
}

/// Whatever is still to come is read first. False where it does not come.
bool Pipeline::leave(Answer* refusal) {
  if (PQpipelineStatus(connection_) == PQ_PIPELINE_OFF) return true;
  if (unsynced_ && PQpipelineSync(connection_) == 1) ++syncs_;
  // Two nulls in a row: nothing will follow.
  for (int nulls = 0; syncs_ > 0 && nulls < 2 && PQstatus(connection_) == CONNECTION_OK;) {
    Answer dropped(PQgetResult(connection_));
    nulls = dropped.none() ? nulls + 1 : 0;
    if (dropped.ends_pipeline()) {
      --syncs_;
    } else if (refusal && !dropped.none() && dropped.refused()) {
      *refusal = std::move(dropped);
    }
  }
  return PQexitPipelineMode(connection_) == 1;
}

void Pipeline::lost() const {
  throw pqxx::broken_connection(PQerrorMessage(connection_));
}

}  // namespace seriatim::postgres
