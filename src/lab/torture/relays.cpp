#include "lab/torture/relays.hpp"

#include <csignal>
#include <fstream>

#include "seriatim/error.hpp"
#include "sql/torture.hpp"

namespace seriatim::torture {

namespace {

/// Short times, so that lanes change hands often. A call given up while the receiver works on it is
/// a repeat: without faults nothing may be given up.
constexpr const char* pace = R"(max_crashes = 1000
backoff = { first = "10ms", max = "200ms" }
batch_rows = 20
lease = "1s"
standby_interval = "100ms"
poll_interval_max = "50ms"
)";
constexpr const char* deadline_with_faults = "2s";  // + the lane's slack of 5 s: Relays::tolerance
constexpr std::chrono::seconds stop_max{20};
constexpr std::chrono::seconds adopt_max{60};
constexpr const char* deadline_without = "30s";

std::string process_section(const Settings& settings, const Stage& stage, std::size_t number,
                            std::uint16_t port) {
  const auto& stream = stage.streams()[number];
  std::string text = "\n[[process]]\nname = \"" + stream.process +
                     "\"\nlanes = " + std::to_string(settings.lanes) + '\n' + pace +
                     "handler_deadline = \"" +
                     (settings.any_fault() ? deadline_with_faults : deadline_without) + "\"\n" +
                     "in_flight = " + std::to_string(settings.in_flight) +
                     "\ncommit_every = " + std::to_string(settings.commit_every()) + '\n';
  if (settings.hold_key) text += "on_retry = \"hold_key\"\non_poison = \"park_key\"\n";
  text += "[process.source]\ntable = \"" + stage.qualified(stream.table) + "\"\norder_by = \"" +
          (stream.order_by == OrderBy::id ? "id" : "created_at") + "\"\npayload = \"payload\"\n";
  if (settings.lanes > 1 || settings.by_key()) text += "key = \"key\"\n";
  return text +
         "[process.handler]\nkind = \"http\"\nallow_private = true\nurl = \"http://127.0.0.1:" +
         std::to_string(port) + '/' + std::to_string(number) +
         (settings.hold_key ? "/{{key}}" : "") + "\"\n";
}

/// In a process group of its own, so a Ctrl-C at the terminal is not for it.
lab::Process::Options apart() {
  lab::Process::Options options;
  options.group = lab::Process::Group::own;
  options.death_signal = SIGKILL;
  return options;
}

}  // namespace

Relays::Relays(const Settings& settings, const Stage& stage, const Ways& ways)
    : settings_(settings),
      stage_(stage),
      database_url_(ways.database_url),
      relays_(settings.relays) {
  std::ofstream(settings.folder / "relay.toml") << configuration(ways);
}

/// The URL comes by the environment: it may hold a password.
std::string Relays::configuration(const Ways& ways) const {
  std::string text = "[database]\nurl = \"${SERIATIM_TORTURE_DATABASE}\"\n";
  for (std::size_t i = 0; i < stage_.streams().size(); ++i) {
    text += process_section(settings_, stage_, i, ways.receiver_port);
  }
  return text;
}

void Relays::start() {
  for (std::size_t i = 0; i < relays_.size(); ++i) start(i);
}

void Relays::start(std::size_t number) {
  auto options = apart();
  options.environment = {{"SERIATIM_TORTURE_DATABASE", database_url_}};
  options.out_file = settings_.folder / ("relay-" + std::to_string(number) + ".log");
  options.err_with_out = true;
  relays_[number] = std::make_unique<lab::Process>(command({"run"}), options);
}

std::vector<std::string> Relays::command(std::vector<std::string> words) const {
  words.insert(words.begin(), settings_.relay_program);
  words.insert(words.end(), {"--config", settings_.folder / "relay.toml"});
  return words;
}

/// Past the proxy, if there is one. Relays may halt after the first attempt, and one that is
/// frozen, or cut off in a call, keeps its lane for a while.
void Relays::adopt() const {
  const auto deadline = std::chrono::steady_clock::now() + adopt_max;
  std::string said;
  for (;;) {
    Session session(settings_.url, stage_.prefix() + "operator");
    const auto changed = session.run(sql::torture::source_changed, {stage_.prefix()});
    if (changed.empty()) return;
    if (std::chrono::steady_clock::now() > deadline) {
      const auto process = changed.front().at(0).value_or("");
      throw Error("a minute after a promotion lanes of " + process +
                  " still wait for `seriatim adopt`, which last said: " + said);
    }
    for (const auto& row : changed) said = adopt(row.at(0).value_or(""));
  }
}

/// What it said, if it did not succeed. It ends by itself (handler_deadline + 1 s).
std::string Relays::adopt(const std::string& process) const {
  auto options = apart();
  options.environment = {{"SERIATIM_TORTURE_DATABASE", settings_.url}};
  lab::Process program(command({"adopt", process, "--reason", "a promotion"}), options);
  const auto ended = program.wait_at_most(adopt_max);
  return ended ? ended->err : "it does not end";
}

void Relays::kill(std::size_t number) {
  relays_[number]->kill();
  start(number);
}

void Relays::freeze(std::size_t number) {
  relays_[number]->signal(SIGSTOP);
}

void Relays::thaw(std::size_t number) {
  relays_[number]->signal(SIGCONT);
}

std::vector<std::string> Relays::revive() {
  std::vector<std::string> said;
  for (std::size_t i = 0; i < relays_.size(); ++i) {
    const auto ended = relays_[i]->wait_at_most({});
    if (!ended) continue;
    said.push_back("relay " + std::to_string(i) + " ended by itself with " +
                   std::to_string(ended->code) + "; see relay-" + std::to_string(i) + ".log");
    start(i);
  }
  return said;
}

std::vector<std::string> Relays::stop() {
  std::vector<std::string> said;
  for (std::size_t i = 0; i < relays_.size(); ++i) {
    const int status = relays_[i]->stop(stop_max).code;
    // A connection that a proxy keeps alive and hands nothing on of can outlast the relay's grace.
    const bool grace_over = settings_.net && status == 128 + SIGTERM;
    if (status == 0 || grace_over) continue;
    said.push_back("relay " + std::to_string(i) + " ended with " + std::to_string(status) +
                   " when asked to stop; see relay-" + std::to_string(i) + ".log");
  }
  return said;
}

std::size_t Relays::holder(std::uint64_t dice) const {
  const std::size_t any = dice % relays_.size();
  try {
    Session session(stage_.url(), stage_.prefix() + "witness");
    const auto holders = session.run(sql::torture::holders, {stage_.prefix()});
    if (holders.empty() || dice / 7 % 5 == 0) return any;
    const auto text = holders[dice / 64 % holders.size()].at(0).value_or("");
    for (std::size_t i = 0; i < relays_.size(); ++i) {
      if (text.find(':' + std::to_string(relays_[i]->pid()) + ':') != std::string::npos) return i;
    }
  } catch (const SqlFailed&) {  // the server is away: any will do
  }
  return any;
}

}  // namespace seriatim::torture
