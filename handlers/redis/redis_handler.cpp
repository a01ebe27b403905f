#include "redis/redis_handler.hpp"

#include <algorithm>
#include <utility>

#include "redis/redis_refusal.hpp"
#include "seriatim/registry.hpp"
#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::milliseconds;

// On their way at once, and so what is kept in memory twice; or one row.
constexpr std::size_t chunks_max = 16;

std::string entry_of(const Record& record) {
  return std::to_string(record.sequence) + "-0";
}

std::string not_ours(const Chunk& chunk, const Record& record, const std::string& last) {
  return "another record stands at " + entry_of(record) + " of stream " + excerpt(chunk.stream) +
         ", which ends at " + excerpt(last) +
         ": the stream is written by someone else, or holds entries of an earlier life of this "
         "process; give this one a stream of its own, or move the old one away (RENAME)";
}

std::string cannot_tell(const Chunk& chunk, const Record& record, const std::string& last) {
  return "stream " + excerpt(chunk.stream) + " ends at " + excerpt(last) + ", but " +
         entry_of(record) +
         " was trimmed or deleted, so nobody can tell whether it was this record: skip it, or let "
         "it be appended (again) with XSETID to " +
         std::to_string(record.sequence - 1) + "-0 and seriatim retry";
}

}  // namespace

RedisHandler::RedisHandler(RedisHandlerConfig config)
    : config_(std::move(config)), chunker_(config_), connection_(config_) {
  redactor_.add(config_.password);
}

BatchOutcome RedisHandler::handle(std::span<const Record> batch, const CallContext& context) {
  std::size_t done = 0;
  auto chunk_rows_max = Chunker::rows_max;
  while (done < batch.size()) {
    if (done > 0 && context.should_yield()) return {done, std::nullopt};
    try {
      const auto chunks = cut(batch.subspan(done), chunk_rows_max);
      auto appended = append(chunks, context.deadline);
      done += appended.done;
      if (appended.failure) return {done, std::move(appended.failure)};
      if (appended.one_by_one) chunk_rows_max = 1;
    } catch (const CannotRender& e) {
      return {done, Outcome::poison(e.what())};
    }
  }
  return {done, std::nullopt};
}

/// Several only where the stream is known to end with the row before: then none of them can be a
/// repeat, and one that is behind a failed one finds the wrong end and does nothing.
RedisHandler::Chunks RedisHandler::cut(std::span<const Record> rows,
                                       std::size_t chunk_rows_max) const {
  Chunks chunks{chunker_.next(rows, chunk_rows_max)};
  const auto stream = chunks.front().stream;
  const bool known_end = at_the_end_ && connection_.is_open() && stream == acknowledged_stream_ &&
                         rows.front().sequence > acknowledged_sequence_;
  if (!known_end || chunk_rows_max == 1) return chunks;
  try {
    for (rows = rows.subspan(chunks.back().rows.size());
         !rows.empty() && chunks.size() < chunks_max;
         rows = rows.subspan(chunks.back().rows.size())) {
      const bool large_row = chunks.back().rows.size() == 1;
      if (large_row || !chunker_.has_stream(rows.front(), stream)) break;
      chunks.push_back(chunker_.next(rows, chunk_rows_max));
    }
  } catch (const CannotRender&) {  // told when its turn comes
  }
  return chunks;
}

RedisHandler::Appended RedisHandler::append(const Chunks& chunks, Clock::time_point deadline) {
  auto answer = ask(chunks, deadline);
  const bool stale = !answer.new_connection && answer.replies.empty() && !answer.failure.empty();
  if (!stale || Clock::now() >= deadline) return judge(chunks, answer);
  // The server closed it meanwhile. Sending again does no harm: what is there is recognised. But
  // only one chunk: rows of it may be repeats now.
  const Chunks first{chunks.front()};
  answer = ask(first, deadline);
  return judge(first, answer);
}

RedisConnection::Answer RedisHandler::ask(const Chunks& chunks, Clock::time_point deadline) {
  RedisCommands commands;
  Precondition precondition{to_be_there(chunks.front()), nullptr};
  for (const auto& chunk : chunks) {
    chunker_.add_append(commands, chunk, precondition);
    precondition = {0, &chunk.rows.back()};
  }
  if (config_.wait_replicas > 0) {
    const auto left = std::chrono::floor<milliseconds>(deadline - Clock::now()) / 2;
    const auto wait = std::clamp(left, milliseconds{1}, config_.wait_timeout);
    const auto replicas = std::to_string(config_.wait_replicas);
    const auto timeout = std::to_string(wait.count());
    commands.add({"WAIT", replicas, timeout});
  }
  return connection_.ask(commands, deadline);
}

/// A server that was restarted may have lost what it acknowledged. Only a new connection can be to
/// such a one, and only rows before this chunk are missed.
std::uint64_t RedisHandler::to_be_there(const Chunk& chunk) const {
  if (connection_.is_open() || chunk.stream != acknowledged_stream_) return 0;
  return std::min(acknowledged_sequence_, chunk.rows.front().sequence - 1);
}

RedisHandler::Appended RedisHandler::judge(const Chunks& chunks,
                                           const RedisConnection::Answer& answer) {
  Appended all;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (i >= answer.replies.size()) {
      all.failure = Outcome::retry_later(told(answer.failure));
      break;
    }
    auto appended = judge_script(chunks[i], answer.replies[i]);
    all.done += appended.done;
    all.failure = std::move(appended.failure);
    all.one_by_one = appended.one_by_one;
    if (appended.done < chunks[i].rows.size()) break;
  }
  if (config_.wait_replicas == 0 || all.done == 0) return all;
  if (auto missing = missing_replicas(answer)) return {0, std::move(missing)};
  return all;
}

void RedisHandler::remember(const Chunk& chunk, std::size_t done, bool repeats) {
  at_the_end_ = done == chunk.rows.size() && !repeats;
  if (done == 0) return;
  acknowledged_stream_ = chunk.stream;
  acknowledged_sequence_ = chunk.rows[done - 1].sequence;
}

RedisHandler::Appended RedisHandler::judge_script(const Chunk& chunk, const RedisReply& reply) {
  at_the_end_ = false;
  if (reply.kind == RedisReply::Kind::error) return refused(chunk, 0, reply.text);
  const bool known = reply.kind == RedisReply::Kind::list && reply.items.size() == 3 &&
                     reply.items[0].number >= 0 &&
                     static_cast<std::size_t>(reply.items[0].number) <= chunk.rows.size();
  if (!known) {
    connection_.close();
    return {0, Outcome::retry_later("the server answered what no script of ours says")};
  }
  const auto done = static_cast<std::size_t>(reply.items[0].number);
  const auto& stopped = reply.items[1].text;
  const auto& details = reply.items[2].text;
  remember(chunk, done, stopped == "repeats");
  if (done == chunk.rows.size() || stopped == "behind") return {done, std::nullopt};
  const auto& row = chunk.rows[done];
  if (stopped == "error") return refused(chunk, done, details);
  if (stopped == "taken") return {done, Outcome::poison(not_ours(chunk, row, details))};
  if (stopped == "gone") return {done, Outcome::poison(cannot_tell(chunk, row, details))};
  // Told once: an operator's `seriatim retry` accepts the gap.
  const auto acknowledged = std::exchange(acknowledged_sequence_, 0);
  connection_.close();
  return {done, Outcome::poison("the server lost entries it had acknowledged: stream " +
                                excerpt(chunk.stream) + " ends at " + excerpt(details) + ", but " +
                                std::to_string(acknowledged) +
                                "-0 was acknowledged; rewind the process to send them again, or "
                                "accept the gap with seriatim retry (see appendfsync)")};
}

RedisHandler::Appended RedisHandler::refused(const Chunk& chunk, std::size_t done,
                                             const std::string& error) {
  const auto what = config_.place.origin() + ": " + told(error);
  switch (refusal_of(error)) {
    case RedisRefusal::server: return {done, Outcome::retry_later(what)};
    case RedisRefusal::stream:
      return {done, Outcome::poison(excerpt(chunk.stream) + " is not a stream: " + what)};
    case RedisRefusal::row: break;
  }
  if (done == 0 && chunk.rows.size() > 1) return {0, std::nullopt, true};
  return {done, Outcome::poison("the server does not take this record: " + what)};
}

std::optional<Outcome> RedisHandler::missing_replicas(const RedisConnection::Answer& answer) const {
  if (!answer.failure.empty()) return Outcome::retry_later(told(answer.failure));
  const auto& reply = answer.replies.back();
  if (reply.kind == RedisReply::Kind::error) return Outcome::retry_later(told(reply.text));
  if (reply.number >= config_.wait_replicas) return std::nullopt;
  return Outcome::retry_later("appended, but " + std::to_string(reply.number) + " of " +
                              std::to_string(config_.wait_replicas) +
                              " replicas had it in time (wait_replicas, wait_timeout)");
}

std::string RedisHandler::told(std::string text) const {
  return excerpt(redactor_.redact(std::move(text)), 300);
}

}  // namespace seriatim::handlers

namespace seriatim {

void register_redis(HandlerRegistry& registry);

void register_redis(HandlerRegistry& registry) {
  HandlerKind kind{"redis", "an entry of a Redis stream a record",
                   [](Options& options) -> HandlerFactory {
                     auto config = handlers::read_redis_config(options);
                     return [config = std::move(config)](unsigned) {
                       return std::make_unique<handlers::RedisHandler>(config);
                     };
                   }};
  kind.takes_batches = true;
  registry.add(std::move(kind));
}

}  // namespace seriatim
