#include "lab/torture/replicated_server.hpp"

#include <chrono>
#include <thread>

#include "lab/writers/session.hpp"
#include "seriatim/error.hpp"
#include "sql/torture.hpp"

namespace seriatim::torture {

namespace fs = std::filesystem;
using embedded::EmbeddedServer;
using namespace std::chrono_literals;

namespace {

constexpr auto in_step_max = 60s;
constexpr const char* name = "operator";

void wait_until_in_step(lab::Session& session) {
  const auto deadline = std::chrono::steady_clock::now() + in_step_max;
  while (session.number(sql::torture::standbys_in_step) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error(
          "the standby has not caught up with its server within a minute; see server.log of both");
    }
    std::this_thread::sleep_for(10ms);
  }
}

}  // namespace

ReplicatedServer::ReplicatedServer(EmbeddedServer::Options options)
    : options_(std::move(options)), server_(std::make_unique<EmbeddedServer>(options_)) {}

void ReplicatedServer::crash_and_restart() {
  server_->stop(EmbeddedServer::Stop::immediate);
  server_->start();
}

/// The setting comes after the copy, so that the copy does not wait for standbys of its own once it
/// is promoted.
void ReplicatedServer::add_standby() {
  auto copy = options_;
  copy.folder += "-copy-" + std::to_string(++copies_);
  copy.primary_url = url();
  standby_ = std::make_unique<EmbeddedServer>(std::move(copy));
  lab::Session session(url(), name);
  session.run(sql::torture::wait_for_standbys);
  session.run(sql::torture::reload_settings);
  wait_until_in_step(session);
}

void ReplicatedServer::promote() {
  const auto port = server_->port();
  const auto data = server_->log_file().parent_path() / "data";
  server_->stop(EmbeddedServer::Stop::immediate);
  standby_->stop(EmbeddedServer::Stop::fast);
  standby_->start(port);
  server_ = std::move(standby_);
  fs::remove_all(data);
  if (lab::Session(url(), name).run(sql::torture::promote).at(0).at(0) != "t") {
    throw Error("the standby was not promoted within a minute; see " +
                server_->log_file().string());
  }
  add_standby();
}

}  // namespace seriatim::torture
