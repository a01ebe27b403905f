#include "app/reports.hpp"

#include <doctest/doctest.h>

using namespace seriatim;
using postgres::Finding;

TEST_SUITE("reports") {
  TEST_CASE("each way to fix a finding is a line of its own") {
    const auto text = app::findings_text("p", {{Finding::Severity::refusal, "defaults to now()",
                                                "ALTER TABLE t\nor: order_by = \"id\""},
                                               {Finding::Severity::ok, "the rest", ""}});
    CHECK(text ==
          "p\n"
          "  REFUSED  defaults to now()\n"
          "           fix: ALTER TABLE t\n"
          "           or: order_by = \"id\"\n"
          "  ok       the rest\n");
  }

  TEST_CASE("status reports an audit that is older than a minute, and no younger one") {
    postgres::LaneReport report;
    report.lane.process = "p";
    report.audit_age = std::chrono::seconds(59);
    CHECK(app::lanes_table(app::LaneReports{report}, false).find("audit") == std::string::npos);
    CHECK(app::lanes_json(app::LaneReports{report}).find("\"audit_age_ms\":59000") !=
          std::string::npos);
    report.audit_age = std::chrono::seconds(120);
    CHECK(app::lanes_table(app::LaneReports{report}, false)
              .find("its last complete audit was 2 min") != std::string::npos);
    report.audit_age.reset();
    CHECK(app::lanes_json(app::LaneReports{report}).find("\"audit_age_ms\":null") !=
          std::string::npos);
  }

  TEST_CASE("rows that may wait for a rate limit: it is named") {
    postgres::LaneReport report;
    report.lag_records = 0;
    report.rate_limit.rows = 10;
    CHECK(app::lanes_table(app::LaneReports{report}, false).find("10 a") == std::string::npos);
    report.lag_records = 3;
    report.key_rate_limit = {1, std::chrono::minutes(1)};
    CHECK(app::lanes_table(app::LaneReports{report}, false)
              .find("no more rows go out than 10 a second (rate_limit) and 1 a minute of each key "
                    "(key_rate_limit)") != std::string::npos);
  }

  TEST_CASE("status says how much of a window is in flight, and how much is done") {
    postgres::LaneReport report;
    CHECK(app::lanes_table(app::LaneReports{report}, false).find("in flight") == std::string::npos);
    report.lane.in_flight = 1;
    report.done_ahead = 40;
    CHECK(app::lanes_table(app::LaneReports{report}, false)
              .find("1 call is in flight or begins next; 40 rows after the cursor done") !=
          std::string::npos);
    CHECK(app::lanes_json(app::LaneReports{report}).find("\"in_flight\":1,\"done_ahead\":40") !=
          std::string::npos);
  }
}
