#include "lab/torture/replicated_server.hpp"

#include <chrono>

#include "lab/process/process.hpp"
#include "lab/writers/session.hpp"
#include "seriatim/error.hpp"
#include "sql/torture.hpp"

namespace seriatim::torture {

namespace fs = std::filesystem;
using embedded::EmbeddedServer;
using namespace std::chrono_literals;

namespace {

constexpr auto in_step_max = 60s;
constexpr const char* operator_name = "operator";

/// From then on a COMMIT waits for the standby.
void wait_until_in_step(const std::string& url) {
  lab::Session session(url, operator_name);
  lab::wait_until(
      "the standby follows its server; is the machine too busy for two?",
      [&] { return session.number(sql::torture::standbys_in_step) > 0; }, in_step_max);
}

}  // namespace

ReplicatedServer::ReplicatedServer(EmbeddedServer::Options options)
    : options_(std::move(options)), server_(std::make_unique<EmbeddedServer>(options_)) {}

void ReplicatedServer::crash_and_restart() {
  server_->stop(EmbeddedServer::Stop::immediate);
  server_->start();
}

/// The setting comes after the copy, so that the copy waits for no standby once it is promoted.
void ReplicatedServer::add_standby() {
  auto copy = options_;
  copy.folder += "-copy-" + std::to_string(++copies_);
  copy.primary_url = url();
  standby_ = std::make_unique<EmbeddedServer>(std::move(copy));
  options_.stop = {};  // it ends a start, not a run
  {
    lab::Session session(url(), operator_name);
    session.run(sql::torture::wait_for_standbys);
    session.run(sql::torture::reload_settings);
  }
  wait_until_in_step(url());
}

/// The standby takes the port first, so that for a moment all meet a server that only reads.
void ReplicatedServer::promote() {
  wait_until_in_step(url());
  server_->stop(EmbeddedServer::Stop::immediate);
  lab::Session(standby_->url(), operator_name).run(sql::torture::forget_primary);
  standby_->stop(EmbeddedServer::Stop::fast);
  standby_->start(server_->port());
  fs::remove_all(lost_);
  lost_ = server_->log_file().parent_path();
  server_ = std::move(standby_);
  if (lab::Session(url(), operator_name).run(sql::torture::promote).at(0).at(0) != "t") {
    throw Error("the standby was not promoted within a minute; see " +
                server_->log_file().string());
  }
}

}  // namespace seriatim::torture
