// A service: delivers each row of public.charges in DATABASE_URL as a webhook to TARGET, until it
// gets SIGTERM. It says on standard error what its lanes do, and ends with 1 if one is halted.
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <seriatim/handlers.hpp>
#include <seriatim/seriatim.hpp>
#include <thread>

struct Report : seriatim::Observer {
  void lane_changed(const seriatim::LaneStatus& lane) override {
    std::cerr << lane.process + ": " + seriatim::to_string(lane.state) + ' ' + lane.detail + '\n';
  }
};

int main() try {
  sigset_t signals;  // blocked before the first thread, so that only sigwait gets it
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source stop;
  std::thread([signals, stop]() mutable {
    int signal = 0;
    sigwait(&signals, &signal);
    stop.request_stop();
  }).detach();

  const std::string database = std::getenv("DATABASE_URL");
  seriatim::install_schema(database);

  seriatim::HandlerRegistry kinds;
  seriatim::handlers::register_http(kinds);
  const auto handler =
      kinds.make("http", {{"url", std::getenv("TARGET")}, {"allow_private", true}});

  seriatim::Relay relay;
  relay.observe(std::make_shared<Report>());
  relay.add({.name = "charges"}, seriatim::postgres_source(database, {.table = "public.charges"}),
            handler);
  for (const auto& lane : relay.run(stop.get_token())) {
    if (!lane.reason) continue;
    std::cerr << "halted at row " << lane.row_id.value_or("?") << ": " << lane.detail << '\n';
    return 1;
  }
} catch (const seriatim::Error& wrong) {  // ConfigError, or the database is not there
  std::cerr << wrong.what() << '\n';
  return 2;
}
