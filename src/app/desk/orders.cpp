#include "app/desk/orders.hpp"

#include <sstream>
#include <utility>

#include "app/digest.hpp"
#include "app/reports.hpp"
#include "app/text.hpp"

namespace seriatim::app {

namespace {

using console::Order;
using console::Refused;
using postgres::ParkedAct;
using postgres::ParkedChoice;
using postgres::RewindStep;

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one);) all.push_back(std::move(one));
  return all;
}

bool is_parked_act(const Order& order) {
  return order.act == "redrive" || order.act == "discard";
}

/// What an act does not compare must not be expected of it: who relies on it would be deceived.
void refuse_idle_expectations(const Order& order) {
  if (order.seen.count && !is_parked_act(order)) {
    throw Refused(order.act + " counts no rows", "leave the expected count out");
  }
  if (order.seen.plan && order.act != "rewind" && !is_parked_act(order)) {
    throw Refused(order.act + " has no plan", "leave the expected plan out");
  }
  if (order.lane && order.act != "retry" && order.act != "pause" && order.act != "resume") {
    throw Refused(order.act + " is no act on one lane", "leave the lane out");
  }
}

ParkedChoice choice_of(const Order& order) {
  const int named = (order.row ? 1 : 0) + (order.key ? 1 : 0) + (order.all ? 1 : 0);
  if (named == 1) return {order.row, order.key};
  throw Refused(order.act + " needs to know which parked rows", "name a row, a key, or all");
}

const std::string& row_of(const Order& order) {
  if (order.row) return *order.row;
  throw Refused(order.act + " needs a row", "name the row that the lane is at");
}

postgres::RewindPlace place_of(const Order& order) {
  if (!order.place.empty()) return postgres::place_from(order.place);
  throw Refused("rewind needs a place", "name start, end, a row's id or a time");
}

[[noreturn]] void refuse_act(const Order& order) {
  throw Refused("\"" + printable(order.act) + "\" is no act",
                "retry, pause, resume, skip, redrive, discard or rewind");
}

void refuse_other_steps(const std::string& process, const std::vector<RewindStep>& steps,
                        const std::string& expected) {
  if (plan_hash(process, steps) == expected) return;
  throw postgres::NotAsExpected(
      "the rewind of process \"" + process +
      "\" would now do something else than the preview showed; nothing was changed: read the "
      "preview again. While rows are delivered the plan changes all the time: pause the process "
      "first");
}

std::vector<RewindStep> rewind(postgres::Admin& admin, const postgres::Target& target,
                               const Order& order, const postgres::Actor& actor) {
  postgres::ApproveRewind approve;
  if (actor.expected_plan) {
    approve = [&](const std::vector<RewindStep>& steps) {
      refuse_other_steps(target.process.name, steps, *actor.expected_plan);
    };
  }
  return admin.rewind(target, place_of(order), actor, std::chrono::seconds{10}, approve);
}

Performed carry_out(postgres::Admin& admin, const postgres::Target& target, const Order& order,
                    const postgres::Actor& actor) {
  const auto& act = order.act;
  if (act == "retry") return {admin.retry(target, actor, order.lane)};
  if (act == "pause") return {admin.pause(target, actor, order.lane)};
  if (act == "resume") return {admin.resume(target, actor, order.lane)};
  if (act == "skip") return {admin.skip(target, row_of(order), actor)};
  if (act == "redrive") return {admin.redrive(target, choice_of(order), actor)};
  if (act == "discard") return {admin.discard(target, choice_of(order), actor)};
  if (act != "rewind") refuse_act(order);
  auto steps = rewind(admin, target, order, actor);
  auto lines = split_lines(rewind_text(target.process.name, steps, true));
  return {std::move(lines), std::move(steps)};
}

Previewed preview_parked(postgres::Admin& admin, const postgres::Target& target,
                         const Order& order) {
  const auto choice = choice_of(order);
  const bool redrives = order.act == "redrive";
  auto plan = admin.plan_parked(target, choice, redrives ? ParkedAct::redrive : ParkedAct::discard);
  const auto rows = std::to_string(plan.rows) + (plan.rows == 1 ? " row" : " rows");
  return {{rows + (redrives ? " would be handed over again, in the order parked"
                            : " would be set aside for good, and never delivered")},
          {},
          plan.rows,
          std::move(plan.plan)};
}

Previewed preview_rewind(postgres::Admin& admin, const postgres::Target& target,
                         const Order& order) {
  auto steps = admin.plan_rewind(target, place_of(order));
  auto lines = split_lines(rewind_text(target.process.name, steps, false));
  lines.pop_back();  // how the command line goes on
  auto hash = plan_hash(target.process.name, steps);
  return {std::move(lines), std::move(steps), std::nullopt, std::move(hash)};
}

std::string lanes_named(const postgres::Target& target, const Order& order) {
  const auto of = " of process " + printable(target.process.name);
  return order.lane ? "lane " + std::to_string(*order.lane) + of : "each lane" + of;
}

}  // namespace

postgres::Expectation expectation_of(const Order& order, unsigned lanes) {
  const auto& seen = order.seen;
  postgres::Expectation expected{seen.lane, seen.epoch, seen.state, seen.row, seen.attempts};
  if (!expected.lane) expected.lane = order.lane;
  if (!expected.lane && lanes == 1) expected.lane = 0;
  return expected;
}

std::string plan_hash(const std::string& process, const std::vector<RewindStep>& steps) {
  const auto place = [](const std::optional<Position>& position) {
    if (!position) return std::string("-");
    return std::to_string(position->created_at_us) + ' ' + std::to_string(position->id.size()) +
           ' ' + position->id;
  };
  auto text = "rewind\n" + process + '\n';
  for (const auto& step : steps) {
    text += std::to_string(step.lane) + '\n' + place(step.from) + '\n' + place(step.to) + '\n' +
            (step.forward ? "forward " : "back ") + std::to_string(step.rows) + ' ' +
            std::to_string(step.pruned) + ' ' + std::to_string(step.sequence_from) + ' ' +
            std::to_string(step.sequence_to) + '\n';
  }
  return hex(sha256(text));
}

Performed perform_order(postgres::Admin& admin, const postgres::Target& target, const Order& order,
                        postgres::Actor actor) {
  refuse_idle_expectations(order);
  const auto expected = expectation_of(order, target.process.lanes);
  if (expected.epoch || expected.state || expected.row || expected.attempts || order.seen.lane) {
    actor.expected.push_back(expected);
  }
  actor.expected_rows = order.seen.count;
  actor.expected_plan = order.seen.plan;
  auto done = carry_out(admin, target, order, actor);
  done.entry = admin.journal_entry();
  return done;
}

Previewed preview_order(postgres::Admin& admin, const postgres::Target& target,
                        const Order& order) {
  const auto& act = order.act;
  if (is_parked_act(order)) return preview_parked(admin, target, order);
  if (act == "rewind") return preview_rewind(admin, target, order);
  if (act == "skip") {
    return {{"row " + printable(row_of(order), id_bytes_max) +
             " would be set aside for good, and never delivered; its lane goes on after it"}};
  }
  if (act == "retry") return {{lanes_named(target, order) + " would try again at once"}};
  if (act == "pause")
    return {{lanes_named(target, order) + " would hand over no row until resume"}};
  if (act == "resume") return {{lanes_named(target, order) + " would go on"}};
  refuse_act(order);
}

}  // namespace seriatim::app
