#include "lab/bench/bench.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/lab/verbs.hpp"
#include "app/signals.hpp"
#include "embedded/embedded_server.hpp"
#include "lab/process/temporary_folder.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app::lab_program {

namespace fs = std::filesystem;

namespace {

/// To take the bench's database away.
constexpr std::chrono::minutes grace{1};
constexpr unsigned connections_of_ours = 150;

void progress(const std::string& line) {
  complain("seriatim bench: " + line + '\n');
}

/// A server of our own, as PostgreSQL comes but for what would disturb a measurement of seconds.
class PrivateServer {
 public:
  PrivateServer(unsigned max_connections, std::stop_token stop)
      : server_({folder_.path() / "postgres",
                 {"max_wal_size=8GB", "checkpoint_timeout=1h", "log_line_prefix=%a|",
                  "max_connections=" + std::to_string(max_connections)},
                 {},
                 std::move(stop)}) {}

  [[nodiscard]] const embedded::EmbeddedServer& get() const { return server_; }

 private:
  lab::TemporaryFolder folder_{"bench"};
  embedded::EmbeddedServer server_;
};

bench::Settings settings_from(const BenchVerb& verb) {
  bench::Settings settings;
  settings.name = verb.name;
  settings.url = verb.database;
  settings.rows = verb.rows;
  settings.repeats = verb.repeats;
  settings.batch_rows = verb.batch;
  settings.seconds = verb.seconds;
  if (verb.order == "created_at") settings.orders = {OrderBy::created_at};
  if (verb.order == "id") settings.orders = {OrderBy::id};
  settings.read_ahead = verb.read_ahead == "on";
  settings.waiting = verb.waiting;
  settings.delivered = verb.delivered;
  settings.partitions = verb.partitions;
  settings.connections = verb.connections;
  settings.program = fs::read_symlink("/proc/self/exe");
  return settings;
}

}  // namespace

Exit perform(const BenchVerb& verb, Context& context) {
  auto settings = settings_from(verb);
  // Before the database is asked anything: its connections have threads.
  const Signals signals(grace, [](int) { progress("ending early"); });
  std::unique_ptr<PrivateServer> server;
  if (verb.database.empty()) {
    progress("starting a private server");
    server = std::make_unique<PrivateServer>(
        std::max(verb.max_connections, verb.connections + connections_of_ours), signals.token());
    settings.url = server->get().url();
    settings.server_log = server->get().log_file();
  }
  const auto report = bench::measure(settings, progress, signals.token());
  print(context.json() ? bench::report_json(report) : bench::report_text(report));
  return report.interrupted ? Exit::failure : Exit::done;
}

Exit perform(const BenchRelayVerb&, Context&) {
  return bench::relay_part() == 0 ? Exit::done : Exit::failure;
}

}  // namespace seriatim::app::lab_program
