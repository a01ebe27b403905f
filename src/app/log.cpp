#include "app/log.hpp"

#include <signal.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include "app/text.hpp"

namespace seriatim::app {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds stall_min{1'000};  ///< a shorter wait at the fence is ordinary traffic

bool is_stall(const LaneStatus& lane) {
  if (lane.fenced_for >= stall_min) return true;
  for (const auto& blocker : lane.blockers) {
    if (blocker.age >= stall_min) return true;
  }
  return false;
}

bool is_moving(const LaneStatus& lane) {
  switch (lane.state) {
    case LaneState::running:
    case LaneState::idle: return true;
    case LaneState::fenced: return !is_stall(lane);
    default: return false;
  }
}

LogLevel level_of(const LaneStatus& lane) {
  switch (lane.state) {
    case LaneState::halted: return LogLevel::error;
    case LaneState::retrying: return LogLevel::warn;
    case LaneState::claiming: return lane.detail.empty() ? LogLevel::debug : LogLevel::warn;
    case LaneState::fenced: return is_stall(lane) ? LogLevel::warn : LogLevel::info;
    default: return LogLevel::info;
  }
}

/// What follows the state: "POISON at row 4711 after 4710: HTTP 422".
std::string circumstances(const LaneStatus& lane) {
  std::string text;
  if (lane.reason) text += std::string(" ") + to_string(*lane.reason);
  if (lane.row_id) text += " at row " + printable(*lane.row_id, 64);
  if (lane.position) text += " after " + printable(lane.position->id, 64);
  if (lane.state == LaneState::retrying) {
    text += ", attempt " + std::to_string(lane.attempts) + ", again in " +
            human_duration(lane.retry_in);
  }
  std::string blockers;
  for (const auto& blocker : lane.blockers) {
    blockers += (blockers.empty() ? "waits for " : ", ") + describe(blocker);
  }
  if (!blockers.empty()) return text + ": " + blockers;
  return lane.detail.empty() ? text : text + ": " + printable(lane.detail);
}

/// Of the oldest; the message names them all.
void add_blocker(std::vector<LogLine::Field>& fields, const Blocker& blocker) {
  if (blocker.pid == 0) {
    fields.emplace_back("blocker_gid", printable(blocker.gid, 200));
  } else {
    fields.emplace_back("blocker_pid", static_cast<std::int64_t>(blocker.pid));
    fields.emplace_back("blocker_application", printable(blocker.application, 64));
  }
  fields.emplace_back("blocker_user", printable(blocker.user, 64));
  fields.emplace_back("blocker_age_ms", static_cast<std::int64_t>(blocker.age.count()));
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// The writing thread takes no signals: they are for whoever waits for them, or for main.
std::shared_ptr<spdlog::details::thread_pool> quiet_thread() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  auto pool = std::make_shared<spdlog::details::thread_pool>(Log::lines_waiting_max, 1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return pool;
}

std::string in_quotes(std::string_view text) {
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

}  // namespace

std::string describe(const Blocker& blocker) {
  const bool prepared = blocker.pid == 0;
  std::string text = prepared ? "prepared transaction \"" + printable(blocker.gid, 200) + "\""
                              : "pid " + std::to_string(blocker.pid);
  std::string inside;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) inside += (inside.empty() ? "" : ", ") + printable(part, 64);
  };
  if (blocker.ours) add("a session of seriatim itself");
  add(blocker.application);
  add(blocker.user);
  if (!prepared) add(blocker.state);
  if (blocker.age > milliseconds{0}) add(human_duration(blocker.age));
  if (blocker.statement_age > milliseconds{0}) {
    add((blocker.state == "active" ? "in a statement for " : "last statement ") +
        human_duration(blocker.statement_age) + (blocker.state == "active" ? "" : " ago"));
  }
  return inside.empty() ? text : text + " (" + inside + ')';
}

LogLine describe(const LaneStatus& lane) {
  LogLine line;
  line.level = level_of(lane);
  line.message = lane.process + '/' + std::to_string(lane.lane) + ' ' + to_string(lane.state) +
                 circumstances(lane);
  auto& fields = line.fields;
  fields.emplace_back("process", lane.process);
  fields.emplace_back("lane", static_cast<std::int64_t>(lane.lane));
  fields.emplace_back("state", to_string(lane.state));
  fields.emplace_back("sequence", static_cast<std::int64_t>(lane.sequence));
  fields.emplace_back("epoch", static_cast<std::int64_t>(lane.epoch));
  if (lane.position) fields.emplace_back("position", printable(lane.position->id, 64));
  if (lane.reason) fields.emplace_back("reason", to_string(*lane.reason));
  if (lane.row_id) fields.emplace_back("row", printable(*lane.row_id, 64));
  if (!lane.detail.empty()) fields.emplace_back("detail", printable(lane.detail));
  if (lane.state == LaneState::fenced) {
    fields.emplace_back("fenced_for_ms", static_cast<std::int64_t>(lane.fenced_for.count()));
    if (!lane.blockers.empty()) add_blocker(fields, lane.blockers.front());
  }
  if (lane.state == LaneState::retrying) {
    fields.emplace_back("attempt", static_cast<std::int64_t>(lane.attempts));
    fields.emplace_back("retry_in_ms", static_cast<std::int64_t>(lane.retry_in.count()));
  }
  return line;
}

LogLine describe(const HandlerNote& note) {
  return {LogLevel::info,
          note.process + '/' + std::to_string(note.lane) + " handler: " + note.text,
          {{"process", note.process},
           {"lane", static_cast<std::int64_t>(note.lane)},
           {"handler", printable(note.text, 1'000)}}};
}

std::string json_members(const LogLine& line) {
  std::string text = "\"message\":" + in_quotes(line.message);
  for (const auto& [name, value] : line.fields) {
    const auto* number = std::get_if<std::int64_t>(&value);
    text += ',' + in_quotes(name) + ':' +
            (number != nullptr ? std::to_string(*number) : in_quotes(std::get<std::string>(value)));
  }
  return text;
}

struct Log::Impl {
  const Secrets& secrets;
  LogFormat format;
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
};

std::uint64_t Log::lines_dropped() const {
  return impl_->pool->overrun_counter();
}

Log::Log(LogConfig config, const Secrets& secrets)
    : impl_(new Impl{secrets, config.format, quiet_thread(), nullptr}) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  impl_->logger = std::make_shared<spdlog::async_logger>(
      "seriatim", std::move(sink), impl_->pool, spdlog::async_overflow_policy::overrun_oldest);
  impl_->logger->set_level(to_spdlog(config.level));
  impl_->logger->set_error_handler([](const std::string&) {});
  impl_->logger->set_pattern(config.format == LogFormat::json
                                 ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                                 : "%Y-%m-%dT%H:%M:%S.%eZ %-7l %v",
                             spdlog::pattern_time_type::utc);
}

Log::~Log() = default;

void Log::write(const LogLine& line) noexcept {
  try {
    const auto level = to_spdlog(line.level);
    if (!impl_->logger->should_log(level)) return;
    auto clean = line;
    clean.message = impl_->secrets.redact(printable(line.message, 2'000));
    for (auto& [name, value] : clean.fields) {
      if (auto* text = std::get_if<std::string>(&value)) *text = impl_->secrets.redact(*text);
    }
    const auto json = impl_->format == LogFormat::json;
    impl_->logger->log(level, spdlog::string_view_t(json ? json_members(clean) : clean.message));
  } catch (...) {  // a line less is better than a lane that stops
  }
}

LaneLog::LaneLog(Writer writer) : writer_(std::move(writer)) {}

bool LaneLog::worth_reporting(const LaneStatus& lane) {
  const std::lock_guard lock(mutex_);
  auto& steady = steady_[{lane.process, lane.lane}];
  const bool moving = is_moving(lane);
  const bool flip = moving && steady;
  steady = moving;
  return !flip;
}

void LaneLog::lane_changed(const LaneStatus& lane) {
  auto line = describe(lane);
  if (!worth_reporting(lane)) line.level = LogLevel::debug;
  writer_(line);
}

void LaneLog::delivered(const LaneStatus& lane, std::size_t rows) {
  auto line = describe(lane);
  line.level = LogLevel::debug;
  line.message += ": " + std::to_string(rows) + " delivered";
  line.fields.emplace_back("rows", static_cast<std::int64_t>(rows));
  writer_(line);
}

void LaneLog::parked(const LaneStatus& lane, const std::string& row_id, const std::string& detail) {
  auto line = describe(lane);
  line.level = LogLevel::warn;
  line.message += ": row " + printable(row_id, 64) + " parked: " + printable(detail);
  line.fields.emplace_back("row", printable(row_id, 64));
  line.fields.emplace_back("detail", printable(detail));
  writer_(line);
}

void LaneLog::held(const LaneStatus& lane, const std::string& row_id, const std::string& detail,
                   std::chrono::milliseconds retry_in) {
  auto line = describe(lane);
  line.message += ": row " + printable(row_id, 64) +
                  " failed, its key is held, and it is tried again in " + human_duration(retry_in) +
                  ": " + printable(detail);
  line.fields.emplace_back("row", printable(row_id, 64));
  line.fields.emplace_back("detail", printable(detail));
  line.fields.emplace_back("retry_in_ms", static_cast<std::int64_t>(retry_in.count()));
  writer_(line);
}

void LaneLog::audit_failed(const std::string& process, const std::string& why) {
  const auto what = printable(why);
  writer_({LogLevel::warn,
           process + " audit: " + what + "; it is tried again, and delivery goes on",
           {{"process", process}, {"detail", what}}});
}

}  // namespace seriatim::app
