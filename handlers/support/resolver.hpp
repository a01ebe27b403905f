#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace seriatim::handlers {

/// Numeric addresses of a host name. May block up to about `limit`; throws Error with the reason.
using Lookup =
    std::function<std::vector<std::string>(const std::string& host, std::chrono::seconds limit)>;

/// getaddrinfo, with the system resolver's own time-outs cut to `limit`.
[[nodiscard]] std::vector<std::string> resolve_by_system(const std::string& host,
                                                         std::chrono::seconds limit);

/// Name resolution with a deadline, which getaddrinfo lacks.
///
/// Threads: one user at a time. Each lookup runs on a helper thread that is left behind when the
/// deadline passes; the next call waits for it instead of starting another, so there is never more
/// than one, and it cannot keep the process from ending.
class Resolver {
 public:
  explicit Resolver(Lookup lookup = resolve_by_system);

  struct Failure {
    std::string what;
  };
  using Result = std::variant<std::vector<std::string>, Failure>;

  [[nodiscard]] Result resolve(const std::string& host,
                               std::chrono::steady_clock::time_point deadline);

 private:
  struct Job;

  [[nodiscard]] bool wait_for_job(std::chrono::steady_clock::time_point deadline) const;

  Lookup lookup_;
  std::shared_ptr<Job> job_;
};

}  // namespace seriatim::handlers
