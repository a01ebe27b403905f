// Delivers each row of public.charges in DATABASE_URL to stream "charges" of the server TARGET, and
// ends.
#include <cstdlib>
#include <iostream>
#include <seriatim/handlers.hpp>
#include <seriatim/seriatim.hpp>

int main() {
  const std::string database = std::getenv("DATABASE_URL");
  const std::string target = std::getenv("TARGET");

  seriatim::HandlerRegistry kinds;
  seriatim::handlers::register_redis(kinds);
  const auto handler = kinds.make("redis", {{"url", target}, {"stream", "charges"}});

  seriatim::Relay relay({.drain = true});  // without drain: until the stop token says so
  relay.add({.name = "charges", .commit_every = 100},
            seriatim::postgres_source(database, {.table = "public.charges"}), handler);
  for (const auto& lane : relay.run()) {
    if (!lane.reason) continue;
    std::cerr << "halted at row " << lane.row_id.value_or("?") << ": " << lane.detail << '\n';
    return 1;
  }
}
