#include "isolation/tester.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace seriatim::isolation {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{20};
constexpr std::chrono::microseconds glance{2'000};  ///< most steps are done by then

void refuse_past(Clock::time_point deadline) {
  if (Clock::now() > deadline) throw std::runtime_error("a step neither ends nor waits");
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

// --- the stage -----------------------------------------------------------------------------------

Stage::Stage(const Spec& the_spec, OrderBy the_order) : spec(the_spec), order(the_order) {
  database.run("SET lock_timeout = '20s'");  // a permutation that left a transaction open
  database.run(spec.setup);
  for (const auto& session : spec.sessions) {
    if (session.name == "relay") {
      auto made = std::make_unique<Relay>(database, spec.reads, order);
      relay = made.get();
      actors.push_back(std::move(made));
    } else {
      actors.push_back(std::make_unique<Writer>(session.name, database));
    }
  }
  if (relay == nullptr) throw std::runtime_error(spec.name + ": no session relay");
}

/// A session left waiting would be waited for.
Stage::~Stage() {
  gates.open_second();
  for (const auto& actor : actors) {
    if (!actor->busy()) continue;
    database.run("SELECT pg_terminate_backend(" + std::to_string(actor->pid()) + ")");
  }
}

void Stage::reset() {
  database.run(spec.reset);
  relay->forget();
}

void Stage::drain() {
  const auto deadline = Clock::now() + patience;
  while (!all_delivered() && relay->deliver_more()) {
    if (Clock::now() > deadline) throw std::runtime_error("rows still wait at the end");
  }
}

bool Stage::all_delivered() {
  const auto all = rows();
  return std::all_of(all.begin(), all.end(),
                     [&](const Row& row) { return relay->has_delivered(row.position); });
}

bool Stage::audit_halts() {
  const auto deadline = Clock::now() + patience;
  while (!relay->finds_late_row()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

std::vector<Row> Stage::rows() {
  std::vector<Row> found;
  for (const auto& row :
       database.run("SELECT (extract(epoch FROM created_at) * 1000000)::bigint, id, payload FROM " +
                    spec.reads)) {
    found.push_back({{std::stoll(*row[0]), *row[1]}, row[2].value_or("NULL")});
  }
  return found;
}

std::vector<int> Stage::blockers_of(const Actor& actor) {
  std::istringstream text(database.value("SELECT array_to_string(pg_blocking_pids(" +
                                         std::to_string(actor.pid()) + "), ' ')"));
  return {std::istream_iterator<int>(text), {}};
}

// --- one permutation -----------------------------------------------------------------------------

Permutation::Permutation(Stage& stage) : stage_(stage), places_(stage.actors.size()) {}

const Step* Permutation::next_step(std::size_t session) const {
  const auto& steps = stage_.spec.sessions[session].steps;
  const auto next = places_[session].next;
  return next < steps.size() ? &steps[next] : nullptr;
}

bool Permutation::may_step(std::size_t session) const {
  const auto* step = next_step(session);
  if (step == nullptr) return false;
  const auto& word = step->alternatives.front();
  return !places_[session].waits || word == "locks" || word == "rows";
}

void Permutation::run(testing::Choices& choices) {
  for (;;) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (may_step(i)) ready.push_back(i);
    }
    if (ready.empty()) break;
    const auto session = ready[choices.pick(ready.size())];
    step(session, choices.pick(next_step(session)->alternatives.size()));
  }
}

void Permutation::run(const std::vector<std::string>& steps) {
  for (const auto& wanted : steps) {
    const auto slash = wanted.find('/');
    const auto name = wanted.substr(0, slash);
    const auto alternative =
        slash == std::string::npos ? 0 : std::stoul(wanted.substr(slash + 1)) - 1;
    std::size_t session = 0;
    while (session < places_.size() && !(may_step(session) && next_step(session)->name == name)) {
      ++session;
    }
    if (session == places_.size()) throw std::runtime_error(name + " is nobody's next step");
    step(session, alternative);
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (next_step(i) != nullptr) throw std::runtime_error(next_step(i)->name + " is not listed");
  }
}

void Permutation::step(std::size_t session, std::size_t alternative) {
  const auto& step = *next_step(session);
  auto& place = places_[session];
  place.next += 1;
  place.step = step.name + (alternative > 0 ? "/" + std::to_string(alternative + 1) : "");
  place.waits = false;
  steps_.push_back(place.step);
  say(place.step);
  begin(*stage_.actors[session], step.alternatives.at(alternative));
  settle(session);
}

void Permutation::begin(Actor& actor, const std::string& work) {
  if (work == "mark") {
    stage_.gates.close();
    actor.begin("deliver");
  } else if (work == "locks") {
    stage_.gates.open_first();
  } else if (work == "rows") {
    stage_.gates.open_second();
  } else {
    actor.begin(work);
  }
}

/// Until every session is done with its work or waits for another. The one that steps comes first,
/// then those that are done with it in the order of the sessions, so that the log says the same
/// each time.
void Permutation::settle(std::size_t stepping) {
  const auto deadline = Clock::now() + patience;
  while (is_moving(stepping, true)) refuse_past(deadline);
  say(log_.back() == '\n' ? "" : "\n");
  for (bool moving = true; moving; refuse_past(deadline)) {
    moving = false;
    for (std::size_t i = 0; i < places_.size(); ++i) moving = is_moving(i, false) || moving;
  }
  for (const auto& place : std::exchange(done_, {})) say(place.second);
}

/// Checks once; answers whether it is worth another check, at this session or at those that waited
/// for it.
bool Permutation::is_moving(std::size_t session, bool stepping) {
  auto& actor = *stage_.actors[session];
  auto& place = places_[session];
  if (!actor.busy()) return false;
  if (actor.done_within(glance)) {
    const auto answer = actor.answer();
    const auto end = (answer.empty() ? "" : ": " + answer) + "\n";
    if (stepping) {
      say(end);
    } else {
      done_[session] = place.step + " done" + end;
    }
    place.waits = false;
    return true;
  }
  const bool at_gate = &actor == stage_.relay && stage_.gates.somebody_waits();
  if (!at_gate && stage_.blockers_of(actor).empty()) return true;
  if (stepping && !at_gate) say(" <waiting>");
  place.waits = true;
  return false;
}

// --- the judgement -------------------------------------------------------------------------------

namespace {

/// What is wrong with the permutation just run.
std::optional<std::string> verdict_on(Stage& stage, const Permutation& permutation) {
  std::optional<std::string> wrong;
  try {
    stage.drain();
    wrong = judge(stage.order, stage.relay->delivered(), stage.rows());
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  if (!wrong) return wrong;
  std::string delivered;
  for (const auto& row : stage.relay->delivered()) delivered += ' ' + row.name;
  return *wrong + "\ndelivered:" + delivered + "\npermutation " + joined(permutation.steps()) +
         "\n" + permutation.log();
}

bool is_blind(const Stage& stage) {
  const auto& blind = stage.spec.blind;
  return std::find(blind.begin(), blind.end(), stage.order) != blind.end();
}

/// Keeps the book: a loss the spec foretells counts, the first of them when the audit halts at it.
void book(Stage& stage, std::optional<std::string> wrong, Verdict& verdict) {
  verdict.permutations += 1;
  if (!wrong) return;
  if (!is_blind(stage) || wrong->find(" was lost\n") == std::string::npos) {
    verdict.complaint = std::move(wrong);
    return;
  }
  verdict.losing += 1;
  if (verdict.losing == 1 && !stage.audit_halts()) {
    verdict.complaint = "the audit does not find it: " + *wrong;
  }
}

template <class Way>
void run_one(Stage& stage, Way&& way, Verdict& verdict, const std::string* expected = nullptr) {
  stage.reset();
  Permutation permutation(stage);
  try {
    permutation.run(way);
  } catch (const std::exception& e) {
    verdict.complaint = e.what() + ("\n" + permutation.log());
    return;
  }
  if (expected != nullptr && permutation.log() != *expected) {
    verdict.complaint = "it said\n" + permutation.log() + "\nand not\n" + *expected;
    return;
  }
  book(stage, verdict_on(stage, permutation), verdict);
}

std::string without_indent(const std::string& text) {
  std::string all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    all += line.substr(std::min(line.find_first_not_of(' '), line.size())) + '\n';
  }
  return all;
}

}  // namespace

Verdict run_spec(const Spec& spec, OrderBy order) {
  Stage stage(spec, order);
  stage.database.run("INSERT INTO " + spec.reads + " (payload) VALUES ('before')");
  stage.drain();
  Verdict verdict;
  for (const auto& listed : spec.listed) {
    const auto expected = without_indent(listed.expected);
    if (!verdict.complaint) run_one(stage, listed.steps, verdict, &expected);
  }
  testing::Choices choices;
  for (bool more = spec.all; more && !verdict.complaint; more = choices.next()) {
    run_one(stage, choices, verdict);
  }
  if (is_blind(stage) && verdict.losing == 0 && !verdict.complaint) {
    verdict.complaint = "the spec is called blind, and nothing was lost";
  }
  return verdict;
}

}  // namespace seriatim::isolation
