// Delivers each row of public.charges in DATABASE_URL as a webhook to TARGET, and ends.
#include <cstdlib>
#include <iostream>
#include <seriatim/handlers.hpp>
#include <seriatim/seriatim.hpp>

int main() {
  const std::string database = std::getenv("DATABASE_URL");
  const std::string target = std::getenv("TARGET");

  seriatim::HandlerRegistry kinds;
  seriatim::handlers::register_http(kinds);
  // allow_private: TARGET may be on this machine, or in this network.
  const auto handler = kinds.make("http", {{"url", target}, {"allow_private", true}});

  seriatim::Relay relay({.drain = true});  // without drain: until the stop token says so
  relay.add({.name = "charges"}, seriatim::postgres_source(database, {.table = "public.charges"}),
            handler);
  for (const auto& lane : relay.run()) {
    if (!lane.reason) continue;
    std::cerr << "halted at row " << lane.row_id.value_or("?") << ": " << lane.detail << '\n';
    return 1;
  }
}
