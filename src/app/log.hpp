#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/config_file.hpp"
#include "app/secrets.hpp"
#include "seriatim/observer.hpp"
#include "seriatim/registry.hpp"

namespace seriatim::app {

/// One line of the log: a sentence for people, and the same as fields for programs.
struct LogLine {
  using Field = std::pair<std::string, std::variant<std::string, std::int64_t>>;

  LogLevel level = LogLevel::info;
  std::string message;
  std::vector<Field> fields;
};

/// What is said about a lane: "booking_sms/0 halted POISON at row 4711 after 4710: HTTP 422: …".
/// Foreign text is escaped and cut. The level is for the state alone; LaneLog lowers it for flips.
[[nodiscard]] LogLine describe(const LaneStatus& lane);

/// "booking_sms/0 handler: …", a line of its child's standard error for example.
[[nodiscard]] LogLine describe(const HandlerNote& note);

/// "pid 123 (psql, alice, idle in transaction, 12 s, last statement 11 s ago)"; the first duration
/// is the age of its transaction. What this role may not see is left out.
[[nodiscard]] std::string describe(const Blocker& blocker);

/// The members of a line's JSON object, without braces: `"message":"…","process":"…"`.
[[nodiscard]] std::string json_members(const LogLine& line);

/// Writes lines to stderr from a thread of its own: a full disk, a closed or a stuck stderr never
/// holds up delivery; while it is stuck, the oldest of the waiting lines are dropped.
///
/// Threads: any.
class Log {
 public:
  static constexpr std::size_t lines_waiting_max = 8192;

  /// `secrets` must outlive the log.
  Log(LogConfig config, const Secrets& secrets);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void write(const LogLine& line) noexcept;
  /// Lines that were dropped because stderr was stuck.
  [[nodiscard]] std::uint64_t lines_dropped() const;
  void info(std::string message) { write({LogLevel::info, std::move(message), {}}); }
  void warn(std::string message) { write({LogLevel::warn, std::move(message), {}}); }
  void error(std::string message) { write({LogLevel::error, std::move(message), {}}); }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Turns what lanes do into lines: one for each change a person cares about; the steady flips
/// between running, idle and briefly fenced are debug.
class LaneLog final : public Observer {
 public:
  using Writer = std::function<void(const LogLine&)>;
  explicit LaneLog(Writer writer);

  void lane_changed(const LaneStatus& lane) override;
  void delivered(const LaneStatus& lane, std::size_t rows) override;
  void held(const LaneStatus& lane, const std::string& row_id, const std::string& detail,
            std::chrono::milliseconds retry_in) override;
  void parked(const LaneStatus& lane, const std::string& row_id,
              const std::string& detail) override;
  void audit_failed(const std::string& process, const std::string& why) override;

 private:
  bool worth_reporting(const LaneStatus& lane);

  Writer writer_;
  std::mutex mutex_;
  std::map<std::pair<std::string, unsigned>, bool> steady_;  ///< reported as moving, and still is
};

}  // namespace seriatim::app
