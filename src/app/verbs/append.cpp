#include <iostream>
#include <iterator>

#include "app/reports.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

namespace {

std::string read_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

}  // namespace

Exit perform(const AppendVerb& verb, Context& context) {
  const auto& url = context.database_url();
  const auto payload = verb.payload ? *verb.payload : read_stdin();
  const auto id = postgres::Admin(url).append(
      {verb.aggregate_type, verb.aggregate_id, verb.type, payload, verb.headers});
  print(context.json() ? append_json(id) : id + '\n');
  return Exit::done;
}

}  // namespace seriatim::app
