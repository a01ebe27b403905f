#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/context.hpp"
#include "app/lanes_reader.hpp"
#include "app/metrics/families.hpp"
#include "console/access.hpp"
#include "console/api.hpp"
#include "console/health.hpp"
#include "console/http_server.hpp"
#include "seriatim/relay.hpp"

namespace seriatim::app {

/// What a relay says of itself while it runs: to probes, to Prometheus, to the service manager.
///
/// Threads: any.
class RelayState {
 public:
  enum class Phase {
    starting,  ///< waiting for the database, or checking the configuration against it
    running,
    stopping
  };

  /// `relay` must live until `stopped`.
  void runs(const Relay& relay);
  void stopping() { phase_ = Phase::stopping; }
  void stopped() noexcept;

  [[nodiscard]] std::vector<LaneCounts> counts() const;
  /// As cursors and other relays name it; empty until it runs.
  [[nodiscard]] std::string holder() const;
  [[nodiscard]] console::Health liveness() const;
  [[nodiscard]] console::Health readiness() const;

 private:
  std::atomic<Phase> phase_ = Phase::starting;
  mutable std::mutex mutex_;
  const Relay* relay_ = nullptr;
  std::vector<LaneCounts> last_;  ///< once it has stopped
};

/// Serves `[console]`: /livez, /healthz, /readyz, /statusz and /metrics (docs/monitoring.md says
/// what they mean), and the console if it is given a desk (docs/api.md).
class Endpoint {
 public:
  using Processes = std::vector<const ConfiguredProcess*>;
  /// Adds the metrics of other parts of the program.
  using CountsOfOthers = std::function<void(Families&)>;
  /// Other parts of the program that it needs.
  struct Others {
    CountsOfOthers counts;
    std::function<void(const std::string&)> warn;  ///< writes the log
    console::Desk* desk = nullptr;                 ///< null: there is no console
  };
  /// `reader`, `state` and the desk must outlive it. Throws Error if an address cannot be listened
  /// on.
  Endpoint(const ConsoleConfig& config, const Processes& processes, Context& context,
           LanesReader& reader, const RelayState& state, Others others);
  ~Endpoint();

  [[nodiscard]] std::string url() const { return server_->url(); }

 private:
  console::HttpResponse statusz();
  console::HttpResponse metrics(const console::HttpRequest& request);
  [[nodiscard]] std::vector<console::HttpRoute> probe_routes();
  [[nodiscard]] std::vector<console::HttpRoute> all_routes();
  [[nodiscard]] console::HttpServer::Settings settings_of(const ListenPlace& place,
                                                          const ConsoleConfig& config);
  struct RequestCounts;

  LanesReader& reader_;
  const Secrets& secrets_;
  std::vector<std::string> names_;
  std::string config_hash_;
  const RelayState& state_;
  Others others_;
  std::unique_ptr<RequestCounts> requests_;
  console::Access access_;
  std::unique_ptr<console::Api> api_;  ///< null: no console
  std::unique_ptr<console::HttpServer> server_;
  std::unique_ptr<console::HttpServer> probes_;
};

}  // namespace seriatim::app
