// What `seriatim top` makes of reads, and how it draws them.
#include <doctest/doctest.h>

#include "app/stall.hpp"
#include "app/top/frame.hpp"
#include "app/top/model.hpp"

using namespace seriatim;
using namespace seriatim::app;
using namespace seriatim::app::top;
using namespace std::chrono_literals;
using postgres::LaneReport;
using postgres::LaneWait;

namespace {

LaneReport report_of(const std::string& process, LaneState state, std::uint64_t sequence = 0) {
  LaneReport report;
  report.lane.process = process;
  report.lane.state = state;
  report.lane.sequence = sequence;
  report.lag_records = 0;
  report.holder_alive = true;
  return report;
}

std::string order_of(const std::vector<Lane>& lanes) {
  std::string names;
  for (const auto& lane : lanes) names += lane.report.lane.process + ' ';
  return names;
}

bool shows(const std::vector<std::string>& screen, const std::string& text) {
  for (const auto& line : screen) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

/// 2024-01-31
constexpr std::chrono::system_clock::time_point at_0241{std::chrono::seconds{1'706'668'860}};

}  // namespace

TEST_SUITE("top") {
  TEST_CASE("the verdict counts lanes that are stopped, and the rows that wait") {
    Model model;
    auto moving = report_of("a", LaneState::idle);
    model.take({moving}, {});
    CHECK(verdict(model.all(), at_0241) == "Everything moves; no row waits");
    auto halted = report_of("b", LaneState::halted);
    halted.lag_records = 3;
    halted.lag_age = 65s;
    model.take({moving, halted}, {});
    CHECK(verdict(model.all(), at_0241) ==
          "1 of 2 lanes is stopped; 3 rows wait, the oldest since 02:39 UTC (1 min)");
    halted.lag_more = true;
    auto locked = report_of("c", LaneState::running);
    locked.wait = LaneWait{LaneWait::Cause::lock, 2s, "its statement waits", "end it", {}};
    model.take({moving, halted, locked}, {});
    CHECK(
        verdict(model.all(), at_0241).starts_with("2 of 3 lanes are stopped; 3 rows or more wait"));
    locked.wait->cause = LaneWait::Cause::handler;  // that is what lanes do
    model.take({moving, locked}, {});
    CHECK(verdict(model.all(), at_0241) == "Everything moves; no row waits");
  }

  TEST_CASE("a lane that is fenced or retrying is stopped, whatever the others do") {
    Model model;
    auto fenced = report_of("fenced", LaneState::fenced);
    fenced.lane.fenced_for = std::chrono::seconds(2);
    model.take(
        {fenced, report_of("retrying", LaneState::retrying), report_of("idle", LaneState::idle)},
        {});
    CHECK(verdict(model.all(), at_0241).starts_with("2 of 3 lanes are stopped"));
    fenced.lane.fenced_for = std::chrono::milliseconds(999);
    model.take({fenced}, {});
    CHECK(verdict(model.all(), at_0241).starts_with("Everything moves"));
  }

  TEST_CASE("why a lane is stopped is one reason, the worst") {
    auto report = report_of("a", LaneState::running);
    const auto word = [&] {
      const auto standstill = stall_of(report);
      return std::string(standstill ? to_string(*standstill) : "");
    };
    CHECK(word().empty());
    report.called_for = 9'999ms;
    CHECK(word().empty());
    report.called_for = 10s;
    CHECK(word() == "long call");
    CHECK_FALSE(is_stopped(report));
    report.wait = LaneWait{LaneWait::Cause::standby, 999ms, "its COMMIT waits", "", {}};
    CHECK(word() == "long call");
    report.wait->cause = LaneWait::Cause::disk_full;  // whatever it lasted
    CHECK(word() == "waits");
    report.lane.state = LaneState::fenced;
    CHECK(word() == "waits");
    report.lane.blockers.emplace_back().age = 1s;
    CHECK(word() == "fenced");
    CHECK(is_stopped(report));
    report.not_read = "the table is locked";
    CHECK(word() == "not read");
    CHECK(is_stopped(report));  // for it is fenced, too
    report.lane.state = LaneState::running;
    report.lane.blockers.clear();
    report.wait.reset();
    CHECK(word() == "not read");
    CHECK_FALSE(is_stopped(report));
    report.holder_alive = false;
    CHECK(word() == "nobody holds it");
    report.lane.state = LaneState::halted;
    CHECK(word() == "halted");
  }

  TEST_CASE("lanes in trouble come first, and each order can be chosen") {
    Model model;
    auto busy = report_of("busy", LaneState::running);
    busy.lag_records = 9;
    model.take({report_of("idle", LaneState::idle), busy, report_of("paused", LaneState::paused),
                report_of("halted", LaneState::halted), report_of("unheld", LaneState::standby),
                report_of("retrying", LaneState::retrying)},
               {});
    CHECK(order_of(model.lanes(Sort::trouble, "")) == "halted unheld retrying paused busy idle ");
    CHECK(order_of(model.lanes(Sort::lag, "")).starts_with("busy "));
    CHECK(order_of(model.lanes(Sort::name, "")) == "busy halted idle paused retrying unheld ");
    CHECK(order_of(model.lanes(Sort::name, "le")) == "idle ");
  }

  TEST_CASE("a rate is what came between two reads, and unknown if the epoch has changed") {
    Model model;
    Model::Clock::time_point now{};
    auto report = report_of("a", LaneState::running, 100);
    model.take({report}, now);
    CHECK_FALSE(model.all()[0].rate());
    report.lane.sequence = 150;
    model.take({report}, now += 2s);
    CHECK(model.all()[0].rate() == 25.0);
    report.lane.epoch = 1;
    report.lane.sequence = 170;
    model.take({report}, now += 1s);
    CHECK_FALSE(model.all()[0].rate());
    report.lane.sequence = 10;  // rewound
    model.take({report}, now += 1s);
    CHECK_FALSE(model.all()[0].rate());
    model.take({}, now += 1s);
    CHECK(model.all().empty());
  }

  TEST_CASE("a sparkline has a gap where no rate is known, and another form in ASCII") {
    CHECK(sparkline({0.0, std::nullopt, 7.0, 3.5}, true) == "▁ █▅");
    CHECK(sparkline({0.0, std::nullopt, 7.0, 3.5}, false) == "_ #-");
  }

  TEST_CASE("a frame fits every window, and shows the selected lane and its notes") {
    Model model;
    LaneReports lanes;
    for (int i = 0; i < 40; ++i) {
      lanes.push_back(report_of("process_" + std::to_string(i), LaneState::idle));
    }
    lanes[7].lane.state = LaneState::halted;
    lanes[7].lane.detail = "HTTP 422: número no válido";
    lanes[7].next_id = "4711";
    model.take(lanes, {});
    const auto shown = model.lanes(Sort::trouble, "");
    for (const std::size_t height : {2U, 5U, 10U, 24U, 60U}) {
      for (const std::size_t width : {10U, 40U, 120U}) {
        View view;
        view.selected = 39;
        const auto screen =
            frame(shown, verdict(shown, at_0241), view, {width, height, false, true});
        CHECK(screen.size() == height);
        for (const auto& line : screen) CHECK(cut(line, width) == line);
      }
    }
    View view;
    const auto screen = frame(shown, verdict(shown, at_0241), view, {120, 24, false, true});
    CHECK(shows(screen, "process_7"));
    CHECK(shows(screen, "4711"));
    CHECK(shows(screen, "halted: HTTP 422: número no válido"));
    CHECK(shows(screen, "seriatim retry process_7"));
    CHECK_FALSE(shows(screen, "\x1b"));
    CHECK(shows(frame(shown, "", view, {120, 24, true, true}), "\x1b[7m"));
  }
}
