#include "lab/torture/torture.hpp"

#include <algorithm>
#include <optional>
#include <thread>

#include "lab/torture/evidence.hpp"
#include "seriatim/error.hpp"
#include "sql/torture.hpp"

namespace seriatim::torture {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto tick_interval = 5ms;
constexpr auto drain_interval = 50ms;
constexpr auto progress_interval = 5s;
/// Rows waiting at which producers pause: what is to be judged is order, not endurance.
constexpr std::uint64_t backlog_max = 300;
constexpr auto drain_max = 10min;
/// Longer than a lost connection stays unnoticed (keepalives: 25 s), a lease and a back-off.
constexpr auto stall_max = 30s;
constexpr auto stall_halted_max = 3s;  ///< a lane that halted does not go on by itself
constexpr std::size_t revivals_max = 20;
/// More keys than calls, so that the limit of calls is met, and not the number of keys.
constexpr unsigned keys_a_call = 4;

milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
}

class Run {
 public:
  Run(const Settings& settings, const std::function<void(const std::string&)>& progress,
      const std::stop_token& stop)
      : settings_(settings),
        progress_(progress),
        stop_(stop),
        stage_(settings.url, settings.seed, settings.orders) {}

  Report carry_out() {
    stage_.build();
    Receiver receiver({.seed = settings_.seed,
                       .streams = static_cast<unsigned>(stage_.streams().size()),
                       .loses_answers = settings_.any_fault(),
                       .takes_time = settings_.in_flight > 1,
                       .refuses_keys = settings_.hold_key});
    Producers producers(stage_, {.seed = settings_.seed,
                                 .writers = settings_.producers,
                                 .two_phase = stage_.facts().two_phase,
                                 .keys = keys_a_call * settings_.in_flight});
    std::optional<Network> network;
    if (settings_.net) network.emplace(settings_.url, receiver.port(), settings_.seed);
    Relays relays(settings_, stage_,
                  {network ? network->database_url() : settings_.url,
                   network ? network->receiver_port() : receiver.port()});
    relays.start();
    Faults faults({settings_, stage_, relays, producers, receiver, network ? &*network : nullptr});
    producers.start();
    storm(relays, producers, receiver, faults);
    faults.end();
    progress_("producers stop, " + std::to_string(backlog(producers, receiver)) +
              " rows are left to deliver");
    producers.stop();
    drain(relays, producers, receiver, faults);
    add(relays.stop());
    judge_all(receiver, producers, faults);
    if (!settings_.keep && report_.clean()) stage_.tear_down();
    return std::move(report_);
  }

 private:
  void storm(Relays& relays, Producers& producers, const Receiver& receiver, Faults& faults) {
    while (since(began_) < settings_.length && !stop_.stop_requested()) {
      faults.tick();
      add(relays.revive());
      producers.throttle(backlog(producers, receiver) > backlog_max);
      report_progress(producers, receiver, faults);
      std::this_thread::sleep_for(tick_interval);
    }
    report_.interrupted = stop_.stop_requested();
  }

  /// Until every row is delivered, or nothing has moved for long.
  void drain(Relays& relays, const Producers& producers, const Receiver& receiver,
             const Faults& faults) {
    const auto start = Clock::now();
    auto moved = start;
    std::size_t calls = 0;
    const auto committed = count_committed();
    for (auto left = Left::moving; left != Left::nothing && since(start) < drain_max;) {
      add(relays.revive());
      const auto now = receiver.call_count();
      if (now != std::exchange(calls, now)) moved = Clock::now();
      left = settings_.by_key() ? what_is_left_aside(committed) : what_is_left(committed);
      const bool halted = left == Left::halted;
      if (Clock::now() - moved > (halted ? stall_halted_max : stall_max)) return;
      report_progress(producers, receiver, faults);
      std::this_thread::sleep_for(drain_interval);
    }
  }

  std::map<std::string, std::size_t> count_committed() {
    Session session(settings_.url, stage_.prefix() + "checker");
    std::map<std::string, std::size_t> counts;
    for (const char* table : {"plain", "parts"}) {
      counts[table] = static_cast<std::size_t>(
          session.number(stage_.on(sql::torture::count_committed, table), {table}));
    }
    return counts;
  }

  enum class Left { nothing, moving, halted };

  /// By the cursors: a call may be accepted and its lane not have heard of it yet.
  Left what_is_left(const std::map<std::string, std::size_t>& committed) {
    Session session(settings_.url, stage_.prefix() + "checker");
    std::map<std::string, std::size_t> sequences;
    bool halted = false;
    for (const auto& row : session.run(sql::torture::cursors, {stage_.prefix()})) {
      sequences[row.at(0).value_or("")] += std::stoull(row.at(3).value_or("0"));
      halted = halted || row.at(5) == "halted";
    }
    const auto& streams = stage_.streams();
    const bool all = std::all_of(streams.begin(), streams.end(), [&](const Stream& stream) {
      return sequences[stream.process] >= committed.at(stream.table);
    });
    return all ? Left::nothing : halted ? Left::halted : Left::moving;
  }

  /// Numbers do not tell if keys are held: a row may use up several. Nor do cursors, which pass the
  /// rows that are set aside.
  Left what_is_left_aside(const std::map<std::string, std::size_t>& committed) {
    Session session(settings_.url, stage_.prefix() + "checker");
    std::map<std::string, std::size_t> delivered;
    for (const auto& row : session.run(sql::torture::handled, {stage_.prefix()})) {
      delivered[row.at(0).value_or("")] =
          std::stoull(row.at(1).value_or("0")) - std::stoull(row.at(2).value_or("0"));
    }
    const auto& streams = stage_.streams();
    const bool all = std::all_of(streams.begin(), streams.end(), [&](const Stream& stream) {
      return delivered[stream.process] >= committed.at(stream.table);
    });
    return all                                       ? Left::nothing
           : what_is_left(committed) == Left::halted ? Left::halted
                                                     : Left::moving;
  }

  std::uint64_t backlog(const Producers& producers, const Receiver& receiver) const {
    std::uint64_t most = 0;
    for (unsigned i = 0; i < stage_.streams().size(); ++i) {
      const auto rows = producers.rows(stage_.streams()[i].table);
      const auto delivered = receiver.delivered(i);
      if (rows > delivered) most = std::max<std::uint64_t>(most, rows - delivered);
    }
    return most;
  }

  void report_progress(const Producers& producers, const Receiver& receiver, const Faults& faults) {
    if (Clock::now() < next_progress_) return;
    next_progress_ = Clock::now() + progress_interval;
    std::uint64_t delivered = 0;
    for (unsigned i = 0; i < stage_.streams().size(); ++i) delivered += receiver.delivered(i);
    progress_(std::to_string(since(began_).count() / 1'000) + " s: committed about " +
              std::to_string(producers.rows("plain") + producers.rows("parts")) +
              " rows, delivered " + std::to_string(delivered) + " in " +
              std::to_string(stage_.streams().size()) + " streams, longest backlog " +
              std::to_string(backlog(producers, receiver)) + "; faults: " + faults.summary());
  }

  void add(const std::vector<std::string>& problems) {
    for (const auto& problem : problems) report_.problems.push_back(problem);
    if (report_.problems.size() > revivals_max) {
      throw Error("relays end again and again; the first: " + report_.problems.front() +
                  "; logs in " + settings_.folder.string());
    }
  }

  void judge_all(const Receiver& receiver, const Producers& producers, const Faults& faults) {
    for (unsigned i = 0; i < stage_.streams().size(); ++i) {
      const auto evidence = gather_evidence(settings_, stage_, receiver, faults, i);
      report_.streams.push_back({evidence.stream, judge(evidence)});
      if (settings_.keep || !report_.streams.back().verdict.clean()) {
        write_calls(evidence, settings_.folder);
      }
    }
    report_.latency = measure_latency(stage_, receiver, producers.commit_times());
    report_.server = stage_.facts().version;
    report_.shapes = producers.shapes();
    report_.faults = faults.counts();
    report_.left_out = faults.left_out();
    if (!stage_.facts().two_phase) {
      report_.left_out.emplace_back("two_phase: max_prepared_transactions is 0 on this server");
    }
    if (!stage_.facts().watches_cursors) {
      report_.left_out.emplace_back("watching cursors: no TRIGGER right on seriatim.cursor");
    }
    report_.took = since(began_);
  }

  const Settings& settings_;
  const std::function<void(const std::string&)>& progress_;
  const std::stop_token stop_;
  Stage stage_;
  Report report_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point next_progress_ = Clock::now() + progress_interval;
};

}  // namespace

Report torture(const Settings& settings, const std::function<void(const std::string&)>& progress,
               const std::stop_token& stop) {
  return Run(settings, progress, stop).carry_out();
}

bool Report::clean() const {
  return problems.empty() && std::all_of(streams.begin(), streams.end(), [](const Stream& stream) {
           return stream.verdict.clean();
         });
}

std::size_t Report::most(std::size_t Verdict::*count) const {
  std::size_t most = 0;
  for (const auto& stream : streams) most = std::max(most, stream.verdict.*count);
  return most;
}

std::size_t Report::sum(std::size_t Verdict::*count) const {
  std::size_t total = 0;
  for (const auto& stream : streams) total += stream.verdict.*count;
  return total;
}

}  // namespace seriatim::torture
