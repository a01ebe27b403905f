// CREATE TABLE greetings (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,
//                         created_at timestamptz NOT NULL DEFAULT clock_timestamp())
#include <cstdlib>
#include <iostream>
#include <seriatim/postgres.hpp>
#include <seriatim/relay.hpp>

int main() {
  const std::string url = std::getenv("DATABASE_URL");
  seriatim::install_schema(url);
  seriatim::Relay relay({.drain = true});  // without drain: until the stop token says so
  relay.add({.name = "greeter"}, seriatim::postgres_source(url, {.table = "public.greetings"}),
            seriatim::handler_from([](const seriatim::Record& record) {
              std::cout << record.sequence << ' ' << record.payload.value_or("-") << std::endl;
              return std::cout ? seriatim::Outcome::done()
                               : seriatim::Outcome::retry_later("stdout is closed");
            }));
  for (const auto& lane : relay.run()) {
    if (!lane.reason) continue;
    std::cerr << "halted at row " << lane.row_id.value_or("?") << ": " << lane.detail << '\n';
    return 1;
  }
}
