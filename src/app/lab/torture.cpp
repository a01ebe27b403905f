#include "lab/torture/torture.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "app/config_file.hpp"
#include "app/lab/verbs.hpp"
#include "app/signals.hpp"
#include "embedded/embedded_server.hpp"
#include "lab/process/process.hpp"
#include "lab/process/temporary_folder.hpp"
#include "lab/torture/replicated_server.hpp"
#include "postgres/admin/migrate.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app::lab_program {

namespace fs = std::filesystem;

namespace {

/// After Ctrl-C the run is still judged: rows are delivered to the end first.
constexpr std::chrono::minutes judgement_max{15};

constexpr const char* needs_copies =
    "needs pg_basebackup (package postgresql-client) next to the server's programs";

void progress(const std::string& line) {
  complain("seriatim torture: " + line + '\n');
}

/// fsync = off: a crash of the server alone loses nothing the kernel has. Nothing but a commit that
/// waits writes the log in time.
std::vector<std::string> server_settings() {
  return {"fsync=off",
          "max_prepared_transactions=100",
          "max_connections=300",
          "wal_writer_delay=10s",
          "wal_writer_flush_after=1GB",
          "wal_keep_size=256MB",  // for a standby that was cut off for a while
          "wal_retrieve_retry_interval=100ms",
          "log_min_messages=warning"};
}

std::function<void()> restarting(const std::string& command) {
  return [command] {
    const auto ended = lab::run({"sh", "-c", command});
    if (ended.code == 0) return;
    throw Error("--restart-command \"" + command + "\" ended with " + std::to_string(ended.code) +
                (ended.err.empty() ? "" : ": " + ended.err));
  };
}

torture::Settings settings_from(const TortureVerb& verb) {
  torture::Settings settings;
  settings.seed = verb.seed.value_or(std::random_device{}());
  settings.length = std::chrono::milliseconds(std::llround(verb.minutes * 60'000));
  settings.producers = verb.producers;
  settings.relays = verb.relays;
  settings.lanes = verb.lanes;
  settings.in_flight = verb.in_flight;
  settings.hold_key = verb.hold_key;
  if (verb.order == "created_at") settings.orders = {OrderBy::created_at};
  if (verb.order == "id") settings.orders = {OrderBy::id};
  settings.kill = verb.kill || verb.all_faults;
  settings.freeze = verb.freeze || verb.all_faults;
  settings.terminate_backends = verb.terminate_backends || verb.all_faults;
  settings.net = verb.net || verb.all_faults;
  settings.relay_program = verb.relay_program.empty()
                               ? fs::read_symlink("/proc/self/exe").replace_filename("seriatim")
                               : fs::path(verb.relay_program);
  settings.keep = verb.keep;
  return settings;
}

/// "embedded": a server of our own, in the run's folder.
void find_server(const TortureVerb& verb, const lab::TemporaryFolder& folder, Context& context,
                 std::unique_ptr<torture::ReplicatedServer>& server, torture::Settings& settings,
                 const std::stop_token& stop) {
  const bool restart = verb.restart_server || verb.all_faults;
  if (verb.database == embedded_url) {
    server = std::make_unique<torture::ReplicatedServer>(
        embedded::EmbeddedServer::Options{folder.path() / "postgres", server_settings(), {}, stop});
    settings.url = server->url();
    if (restart) settings.restart_server = [&server] { server->crash_and_restart(); };
    const bool possible = server->can_have_standby();
    if (verb.promote && !possible) throw ConfigError(std::string("--promote ") + needs_copies);
    if (possible && (verb.promote || verb.all_faults)) {
      settings.promote = [&server] { server->promote(); };
      settings.add_standby = [&server] { server->add_standby(); };
    }
  } else {
    if (!verb.database.empty()) context.use_database(verb.database);
    settings.url = context.database_url();
    if (restart && !verb.restart_command.empty()) {
      settings.restart_server = restarting(verb.restart_command);
    }
  }
}

void install_where_missing(const std::string& url) {
  if (postgres::schema_version(url) > 0) return;
  progress("schema seriatim is not there: installing it");
  postgres::migrate(url);
}

torture::Report hold(const torture::Settings& settings, const std::stop_token& stop) {
  try {
    return torture::torture(settings, progress, stop);
  } catch (...) {
    progress("the run could not be held to its end; logs in " + settings.folder.string());
    throw;
  }
}

void demand_possible(const TortureVerb& verb) {
  const bool ours = verb.database == embedded_url;
  if (verb.restart_server && !ours && verb.restart_command.empty()) {
    throw ConfigError(
        "--restart-server needs --restart-command \"…\" for a server that is not embedded: a shell "
        "command that stops it as a crash would (pg_ctl restart -m immediate) and starts it again");
  }
  if (verb.promote && !ours) {
    throw ConfigError("--promote needs --database embedded: a private server and its standby");
  }
}

}  // namespace

Exit perform(const TortureVerb& verb, Context& context) {
  demand_possible(verb);
  auto settings = settings_from(verb);
  progress("seed " + std::to_string(settings.seed) + ", trying " + settings.relay_program.string());
  // Before the database is asked anything: its connections have threads.
  const Signals signals(judgement_max,
                        [](int) { progress("ending early; judging what happened"); });
  // Logs and the data of a private server: evidence that is kept until the verdict is clean.
  lab::TemporaryFolder folder("torture-" + std::to_string(settings.seed));
  settings.folder = folder.path();
  std::unique_ptr<torture::ReplicatedServer> server;
  find_server(verb, folder, context, server, settings, signals.token());
  install_where_missing(settings.url);
  if (settings.promote) server->add_standby();
  folder.keep(true);
  auto report = hold(settings, signals.token());
  if (verb.all_faults && !settings.restart_server) {
    report.left_out.emplace_back(
        "--restart-server: needs --restart-command for a server that is not embedded");
  }
  if (verb.all_faults && !settings.promote) {
    report.left_out.push_back(std::string("--promote: ") +
                              (server ? needs_copies : "needs --database embedded"));
  }
  const bool kept = verb.keep || !report.clean();
  print(context.json() ? torture::report_json(settings, report)
                       : torture::report_text(settings, report));
  folder.keep(kept);
  if (kept) {
    progress("kept: schema seriatim_torture_" + std::to_string(settings.seed) + ", logs in " +
             folder.path().string());
    if (server) progress("the server's data are in " + server->folder().string());
  }
  return report.clean() ? Exit::done : Exit::failure;
}

}  // namespace seriatim::app::lab_program
