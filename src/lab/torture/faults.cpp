#include "lab/torture/faults.hpp"

#include <algorithm>
#include <thread>

#include "sql/torture.hpp"

namespace seriatim::torture {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr auto quiet_max = 4'000ms;  ///< longer than the longest transaction
constexpr auto drained_max = 15'000ms;
constexpr auto ambush_max = 1'000ms;
constexpr auto answer_max = 500ms;

std::vector<FaultKind> kinds_of(const Settings& settings) {
  std::vector<FaultKind> kinds;
  if (settings.kill) kinds.push_back(FaultKind::kill);
  if (settings.freeze) kinds.push_back(FaultKind::freeze);
  if (settings.terminate_backends) kinds.push_back(FaultKind::terminate);
  if (settings.restart_server) kinds.push_back(FaultKind::restart);
  if (settings.net) kinds.push_back(FaultKind::net);
  if (settings.promote) kinds.push_back(FaultKind::promote);
  return kinds;
}

/// False when the time was over first.
template <class Fact>
bool wait_until(Fact&& fact, milliseconds at_most) {
  for (const auto deadline = std::chrono::steady_clock::now() + at_most; !fact();) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

}  // namespace

Faults::Faults(const Parts& parts)
    : parts_(parts),
      faults_(timetable(parts.settings.seed, kinds_of(parts.settings), parts.settings.length)) {}

void Faults::tick() {
  thaw_when_due();
  while (next_ < faults_.size() && Clock::now() >= began_ + faults_[next_].at) {
    perform(faults_[next_++]);
  }
}

void Faults::thaw_when_due() {
  if (parts_.network != nullptr) parts_.network->tick();
  if (frozen_ && Clock::now() >= frozen_->until) thaw();
}

void Faults::end() {
  next_ = faults_.size();
  if (frozen_) thaw();
  parts_.receiver.hold(false);
  parts_.receiver.refuse_all(false);
  if (parts_.network != nullptr) parts_.network->calm();
}

void Faults::perform(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kill:
      parts_.relays.kill(parts_.relays.holder(fault.dice));
      counts_["kill"] += 1;
      break;
    case FaultKind::freeze: freeze(fault.dice); break;
    case FaultKind::terminate: terminate(fault.dice); break;
    case FaultKind::restart:
      crash(fault.dice, parts_.settings.restart_server, "restart_server");
      break;
    case FaultKind::promote:
      crash(fault.dice, parts_.settings.promote, "promote");
      thaw_when_due();
      parts_.relays.adopt();
      thaw_when_due();
      parts_.settings.add_standby();
      break;
    case FaultKind::net: counts_["net " + parts_.network->storm(fault.dice)] += 1; break;
  }
}

// --- zombies ------------------------------------------------------------------------------------

/// For longer than its lease, or for longer than the server leaves a silent holder its lock. In the
/// first case it is stopped just after an answer, when it has committed the row, or is about to,
/// and will lock the lane for the next one; and the receiver is out of order meanwhile. So whoever
/// takes over is at the very row the frozen one goes on with, and only the epoch distinguishes
/// them.
void Faults::freeze(std::uint64_t dice) {
  if (frozen_) return;
  const auto relay = parts_.relays.holder(dice);
  const bool brief = dice % 4 != 0;
  if (brief) {
    const auto answered = parts_.receiver.answered();
    wait_until([&] { return parts_.receiver.answered() > answered; }, answer_max);
    std::this_thread::sleep_for(std::chrono::microseconds(dice / 4 % 3'000));
  }
  parts_.relays.freeze(relay);
  parts_.receiver.refuse_all(brief);
  const auto more = milliseconds(dice / 16 % 1'200);
  frozen_ = {relay, Clock::now() + (brief ? 2 * Relays::lease : Relays::tolerance) + more};
  counts_["freeze"] += 1;
}

void Faults::thaw() {
  parts_.relays.thaw(frozen_->relay);
  parts_.receiver.refuse_all(false);
  frozen_.reset();
}

// --- sessions -----------------------------------------------------------------------------------

void Faults::terminate(std::uint64_t dice) {
  try {
    Session session(parts_.stage.url(), parts_.stage.prefix() + "terminator");
    const bool relays = dice % 3 != 0;
    const auto victims = session.run(
        sql::torture::sessions,
        {relays ? "seriatim/" + parts_.stage.prefix() : parts_.stage.prefix() + "writer_"});
    if (victims.empty()) return;
    const auto& victim = victims[dice / 3 % victims.size()];
    if (session.run(sql::torture::terminate, {victim.at(0).value_or("0")}).at(0).at(0) != "t")
      return;
    const auto name = victim.at(1).value_or("");
    counts_[relays ? "terminate_relay_session" : "terminate_producer_session"] += 1;
    if (relays) terminated_[name.substr(9, name.rfind('/') - 9)] += 1;
  } catch (const SqlFailed& failed) {
    const std::string what = failed.what();
    if (what.find("permission denied") == std::string::npos) return;  // the server is away just now
    left_out_.assign(1,
                     "--terminate-backends: " + what + "; GRANT pg_signal_backend would allow it");
  }
}

// --- the server ---------------------------------------------------------------------------------

void Faults::crash(std::uint64_t dice, const std::function<void()>& carry_out, const char* kind) {
  const bool ambush = dice % 5 != 0;
  if (ambush) lie_in_wait();
  carry_out();
  parts_.receiver.hold(false);
  parts_.producers.pause(false);
  counts_[kind] += 1;
}

/// Rows whose commit is not on disk, called the moment they are seen: when all is quiet and
/// delivered, one row is committed without waiting for the disk, and the server is stopped as soon
/// as the receiver has been called for it.
void Faults::lie_in_wait() {
  parts_.producers.pause(true);
  wait_until([&] { return parts_.producers.quiet(); }, quiet_max);
  try {
    parts_.producers.end_all_prepared();
    wait_until_drained();
    parts_.receiver.hold(true);
    parts_.producers.slip_in_rows();
  } catch (const SqlFailed&) {  // a session was terminated: an ordinary restart then
    return;
  }
  wait_until([&] { return parts_.receiver.held_calls() > 0; }, ambush_max);
}

void Faults::wait_until_drained() {
  std::size_t calls = 0;
  wait_until(
      [&] {
        const auto before = std::exchange(calls, parts_.receiver.call_count());
        if (before == calls) return true;
        thaw_when_due();
        std::this_thread::sleep_for(250ms);
        return false;
      },
      drained_max);
}

// --- what happened ------------------------------------------------------------------------------

std::map<std::string, std::uint64_t> Faults::counts() const {
  return counts_;
}

std::string Faults::summary() const {
  std::string text;
  for (const auto& [kind, count] : counts_) {
    text += (text.empty() ? "" : ", ") + kind + ' ' + std::to_string(count);
  }
  return text.empty() ? "none" : text;
}

/// Each that ends or replaces a holder, or cuts its calls off.
std::size_t Faults::count_for(const std::string& process) const {
  std::size_t happened = 0;
  for (const auto& [kind, count] : counts_) {
    const bool of_one_session = kind.rfind("terminate_", 0) == 0;
    if (!of_one_session) happened += count;
  }
  const auto sessions = terminated_.find(process);
  if (sessions != terminated_.end()) happened += sessions->second;
  return happened;
}

}  // namespace seriatim::torture
