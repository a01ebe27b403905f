#include "app/reports.hpp"

#include <doctest/doctest.h>

using namespace seriatim;
using postgres::Finding;

TEST_SUITE("reports") {
  TEST_CASE("each way to mend a finding is a line of its own") {
    const auto text = app::findings_text("p", {{Finding::Severity::refusal, "defaults to now()",
                                                "ALTER TABLE t\nor: order_by = \"id\""},
                                               {Finding::Severity::ok, "the rest", ""}});
    CHECK(text ==
          "p\n"
          "  REFUSED  defaults to now()\n"
          "           mend: ALTER TABLE t\n"
          "           or: order_by = \"id\"\n"
          "  ok       the rest\n");
  }
}
