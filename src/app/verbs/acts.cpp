// What an operator does to a process; each act is in the journal.
#include <algorithm>
#include <charconv>

#include "app/desk/orders.hpp"
#include "app/output.hpp"
#include "app/reports.hpp"
#include "app/signals.hpp"
#include "app/text.hpp"
#include "app/verbs/verbs.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

constexpr std::chrono::milliseconds check_interval{200};
constexpr std::chrono::seconds give_up_max{
    30};  ///< to take back what an act asked for, at a signal

template <class T>
void read_number(const std::string& text, const std::string& value, std::optional<T>& number) {
  T read = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
  if (error != std::errc{} || end != value.data() + value.size()) {
    throw ConfigError("--expect " + printable(text) + ": \"" + printable(value) +
                      "\" is no number that it can be");
  }
  number = read;
}

/// "row=4711", "state=halted", "attempts=3", "epoch=7", "lane=0", "count=17", "plan=9f…"
void expect(console::Order::Seen& seen, const std::string& text) {
  const auto equals = std::min(text.find('='), text.size());
  const auto key = text.substr(0, equals);
  const auto value = equals < text.size() ? text.substr(equals + 1) : "";
  if (key == "row" && equals < text.size()) {
    seen.row = value;
  } else if (key == "state" && !value.empty()) {
    seen.state = value;
  } else if (key == "attempts") {
    read_number(text, value, seen.attempts);
  } else if (key == "epoch") {
    read_number(text, value, seen.epoch);
  } else if (key == "lane") {
    read_number(text, value, seen.lane);
  } else if (key == "count") {
    read_number(text, value, seen.count);
  } else if (key == "plan" && !value.empty()) {
    seen.plan = value;
  } else {
    throw ConfigError("--expect " + printable(text) +
                      ": it takes row=ID, state=STATE, attempts=N, epoch=N, lane=N, count=N or "
                      "plan=HASH");
  }
}

/// One act of a person, from the command line. It says what it waits for, and gives up at a signal.
class Desk {
 public:
  Desk(const Act& act, Context& context)
      : process(act.process),
        target(context.process(act.process).target),
        actor(context.actor(act.who, act.reason)),
        admin(context.database_url(),
              [this](const std::string& text) { return keep_waiting(text); }),
        json_(context.json()) {
    for (const auto& text : act.expect) expect(seen, text);
  }

  /// The acts that a page can ask for too go one way.
  console::Order order(const char* act) const {
    console::Order asked;
    asked.process = process;
    asked.act = act;
    asked.seen = seen;
    return asked;
  }
  Performed perform(const console::Order& order) try {
    return perform_order(admin, target, order, actor);
  } catch (const console::Refused& refused) {
    throw ConfigError(std::string(refused.what()) + ": " + refused.remedy);
  }
  Exit carry_out(const console::Order& order) { return report(perform(order).lines); }
  Previewed preview(const console::Order& order) { return preview_order(admin, target, order); }
  /// An act that only the command line has.
  void expect_lanes_only() {
    if (seen.count || seen.plan) throw ConfigError("--expect: this act has no count and no plan");
    const auto order_of = order("");
    auto expected = expectation_of(order_of, 0);
    actor.expected.push_back(std::move(expected));
  }

  bool keep_waiting(const std::string& text) {
    if (!text.empty() && said_ != text) complain("waiting for " + text + '\n');
    said_ = text;
    return !stopped();
  }
  [[nodiscard]] bool stopped() const { return signals_.token().stop_requested(); }
  bool sleep() const { return sleep_unless_stopped(check_interval, signals_.token()); }

  Exit report(const postgres::ActResult& done) const {
    if (json_) print(act_json(process, done));
    for (const auto& line : done) {
      if (!json_) print(process + ' ' + printable(line) + '\n');
    }
    return Exit::done;
  }

 private:
  const Signals signals_{give_up_max};

 public:
  const std::string process;
  const postgres::Target& target;
  postgres::Actor actor;
  postgres::Admin admin;
  console::Order::Seen seen;

 private:
  bool json_;
  std::string said_;
};

}  // namespace

namespace {

Exit perform_on_lanes(const char* act, const Act& asked, std::optional<unsigned> lane,
                      Context& context) {
  Desk desk(asked, context);
  auto order = desk.order(act);
  order.lane = lane;
  return desk.carry_out(order);
}

}  // namespace

Exit perform(const PauseVerb& verb, Context& context) {
  return perform_on_lanes("pause", verb.act, verb.lane, context);
}

Exit perform(const ResumeVerb& verb, Context& context) {
  return perform_on_lanes("resume", verb.act, verb.lane, context);
}

Exit perform(const RetryVerb& verb, Context& context) {
  return perform_on_lanes("retry", verb.act, verb.lane, context);
}

Exit perform(const SkipVerb& verb, Context& context) {
  Desk desk(verb.act, context);
  auto order = desk.order("skip");
  order.row = verb.id;
  return desk.carry_out(order);
}

/// Without --yes only what would happen: rows delivered again may be payments made again.
Exit perform(const RewindVerb& verb, Context& context) {
  Desk desk(verb.act, context);
  auto order = desk.order("rewind");
  order.place = verb.to;
  const auto steps = verb.yes ? desk.perform(order).steps : desk.preview(order).steps;
  print(context.json()
            ? rewind_json(verb.act.process, steps, verb.yes, plan_hash(verb.act.process, steps))
            : rewind_text(verb.act.process, steps, verb.yes));
  return Exit::done;
}

Exit perform(const LanesVerb& verb, Context& context) {
  Desk desk(verb.act, context);
  const auto keep_waiting = [&](const std::string& left) {
    return desk.keep_waiting(left) && desk.sleep();
  };
  const auto exit =
      desk.report(desk.admin.repartition(desk.target, verb.lanes, desk.actor, keep_waiting));
  return desk.stopped() ? Exit::failure : exit;
}

namespace {

/// What is configured is no former name.
void refuse_configured(Context& context, const std::string& from) {
  for (const auto& name : context.config().names()) {
    if (name != from) continue;
    throw ConfigError("--from names process \"" + from +
                      "\", which is still configured: a cursor belongs to one process");
  }
}

}  // namespace

Exit perform(const AdoptVerb& verb, Context& context) {
  Desk desk(verb.act, context);
  desk.expect_lanes_only();
  if (verb.from) refuse_configured(context, *verb.from);
  std::optional<postgres::OldRows> old_rows;
  if (verb.old_rows) {
    old_rows = *verb.old_rows == "skip" ? postgres::OldRows::skip : postgres::OldRows::deliver;
  }
  return desk.report(desk.admin.adopt(desk.target, verb.from, desk.actor, old_rows));
}

namespace {

Exit list(const ParkedVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  postgres::Admin admin(context.database_url());
  std::vector<postgres::ParkedRow> rows;
  admin.parked(target, verb.key, verb.rows, [&](const auto& row) { rows.push_back(row); });
  const auto count = admin.parked_count(target);
  print(context.json() ? parked_json(verb.act.process, rows, count)
                       : parked_text(verb.act.process, rows, count, stdout_is_terminal()));
  return Exit::done;
}

}  // namespace

Exit perform(const ParkedVerb& verb, Context& context) {
  if (verb.what == ParkedVerb::What::list) return list(verb, context);
  Desk desk(verb.act, context);
  auto order = desk.order(verb.what == ParkedVerb::What::redrive ? "redrive" : "discard");
  order.row = verb.id;
  order.key = verb.key;
  order.all = verb.all;
  if (!verb.dry_run) return desk.carry_out(order);
  const auto preview = desk.preview(order);
  if (context.json()) {
    print(parked_plan_json(verb.act.process, preview.count.value_or(0), preview.plan.value_or("")));
  } else {
    for (const auto& line : preview.lines) print(verb.act.process + ": " + line + '\n');
  }
  return Exit::done;
}

}  // namespace seriatim::app
