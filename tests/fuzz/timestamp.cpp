#include <cstring>

#include "fuzz/fuzz_target.hpp"
#include "postgres/wire/sql_text.hpp"
#include "support/time_text.hpp"

SERIATIM_FUZZ_TARGET(timestamp) {
  using seriatim::fuzz::require;
  std::int64_t at = 0;
  std::memcpy(&at, input.data(), std::min(input.size(), sizeof at));
  const auto sql = seriatim::postgres::timestamp_text(at);
  const auto sent = seriatim::handlers::rfc3339(at);
  require(!sql.empty() && !sent.empty(), "every number is some text");
  if (at == INT64_MIN || at == INT64_MAX) return;
  if (sql.ends_with("BC")) return;
  auto expected = sql.substr(0, sql.size() - 3) + 'Z';  // without +00
  expected[expected.find(' ')] = 'T';
  require(sent == expected, "what is sent and shown is what PostgreSQL reads");
}
