// A user's program whose handler ends the process at the row that says "fatal".
//   fatal_handler WAY COMMIT_EVERY FILE: each id it is given goes to FILE; database: DATABASE_URL
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <seriatim/postgres.hpp>
#include <seriatim/relay.hpp>

namespace {

[[noreturn]] void end_the_process(const std::string& way) {
  if (way == "segfault") std::raise(SIGSEGV);
  if (way == "exit") ::_exit(0);
  std::abort();
}

}  // namespace

int main(int, char** arguments) {
  const std::string way = arguments[1];
  seriatim::ProcessConfig config;
  config.name = "p";
  config.batch_rows = 10;
  config.commit_every = static_cast<unsigned>(std::atoi(arguments[2]));
  config.standby_interval = std::chrono::milliseconds{20};
  seriatim::Relay relay({.drain = true});
  relay.add(config, seriatim::postgres_source(std::getenv("DATABASE_URL"), {.table = "public.t"}),
            seriatim::handler_from([&](const seriatim::Record& record) {
              std::ofstream(arguments[3], std::ios::app) << ' ' << record.id() << std::flush;
              if (record.payload == "fatal") end_the_process(way);
              return seriatim::Outcome::done();
            }));
  std::cout << "ended " << to_string(relay.run({}).front().state) << std::endl;
}
