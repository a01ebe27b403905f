#include "lab/demo/demo.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <random>

#include "embedded/embedded_server.hpp"
#include "lab/demo/bookings.hpp"
#include "lab/demo/sms_provider.hpp"
#include "lab/process/free_port.hpp"
#include "lab/process/process.hpp"
#include "lab/process/temporary_folder.hpp"
#include "postgres/admin/admin.hpp"
#include "seriatim/postgres.hpp"

namespace seriatim::lab {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

using Say = std::function<void(const std::string&)>;

void sleep_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any changed;
  changed.wait_for(lock, stop, time, [] { return false; });
}

/// `seriatim` as a program of its own, which ends when this one does. A signal of the terminal is
/// for this one, which then stops the other.
std::vector<std::string> seriatim(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), fs::read_symlink("/proc/self/exe").string());
  return arguments;
}

Process::Options into(const std::string& log) {
  Process::Options options;
  options.out_file = log;
  options.err_with_out = true;
  options.group = Process::Group::own;
  options.death_signal = SIGTERM;
  return options;
}

/// Others on this machine could reach the console: 18 digits are beyond guessing.
std::string random_digits() {
  std::random_device chance;
  std::string digits;
  for (int i = 0; i < 18; ++i)
    digits += std::to_string(std::uniform_int_distribution(0, 9)(chance));
  return digits;
}

constexpr const char* configuration = R"toml([database]
url = "{database}"

[console]
listen = "127.0.0.1:{console}"
token  = "{token}"

[[process]]
name = "booking_sms"

[process.source]
table    = "public.bookings"
order_by = "created_at"
key      = "customer_id"
payload  = "to_jsonb(t)"
where    = "t.status = 'booked'"

[process.handler]
kind          = "sms"
url           = "{provider}"
username      = "demo"
password      = "demo"
from          = "+4560000000"
to            = "{{{{payload.phone}}}}"
body          = "Booking {{{{id}}}}: see you at {{{{payload.starts_at}}}}"
allow_private = true              # the provider of this demo is on loopback
)toml";

class Demo {
 public:
  Demo(const DemoOptions& options, const std::stop_token& stop, const Say& say)
      : options_(options),
        stop_(stop),
        say_(say),
        server_({folder_.path() / "postgres", {}, {}, stop_}),
        config_(folder_.path() / "seriatim.toml"),
        log_(folder_.path() / "relay.log") {
    folder_.keep(options_.keep);  // there is something to keep from now on
  }

  int run() {
    prepare();
    Process relay(seriatim({"run", "--config", config_.string()}), into(log_));
    bookings_->start();
    const auto began = Clock::now();
    watch_until(began + options_.length * 3 / 10, relay);
    const auto bad = poison(relay);
    watch_until(began + options_.length * 6 / 10, relay);
    fix(bad);
    watch_until(began + options_.length * 9 / 10, relay);
    bookings_->stop();
    say_("\nNobody books any more; the relay delivers what is left.");
    const bool drained = wait_until([&] { return status().lag_records == 0; }, relay);
    if (options_.keep) {
      const int judged = verdict(drained, 0);
      leave_to_person(relay);
      const int ended = relay.stop(demo_stop_max).code;
      say_(fmt::format("Kept: {0} (start its PostgreSQL with pg_ctl -D {0}/postgres/data start)",
                       folder_.path().string()));
      return std::max(judged, ended);
    }
    return verdict(drained, relay.stop(demo_stop_max).code);
  }

 private:
  void prepare() {
    say_("The console of this demo: " + console_url());
    say_("It answers once the relay runs, in some seconds. To act there, log in with the token " +
         token_ + '\n');
    say_("A private PostgreSQL is running in " + (folder_.path() / "postgres").string());
    install_schema(server_.url());
    bookings_.emplace(server_.url());
    std::ofstream(config_) << fmt::format(
        configuration, fmt::arg("database", server_.url()), fmt::arg("provider", provider_.url()),
        fmt::arg("console", console_port_), fmt::arg("token", token_));
    say_("An SMS provider listens on " + provider_.url());
    say_("Its outbox is table bookings, the configuration " + config_.string());
    say_("");
    show({"check"});
    say_("Four writers book in concurrent transactions; `seriatim run` sends one SMS a booking.");
    say_("While it runs, it serves " + console_url() +
         ", and below it /metrics, /statusz, probes.\n");
  }

  [[nodiscard]] std::string console_url() const {
    return "http://127.0.0.1:" + std::to_string(console_port_) + '/';
  }

  void show(std::vector<std::string> arguments) {
    std::string line = "$ seriatim";
    for (const auto& argument : arguments) line += ' ' + argument;
    say_(line);
    arguments.insert(arguments.end(), {"--config", config_.string()});
    say_(lab::run(seriatim(arguments), into("")).out);
  }

  static postgres::Target target() {
    ProcessConfig process;
    process.name = "booking_sms";
    SourceConfig source;
    source.table = "public.bookings";
    source.where = "t.status = 'booked'";
    return {process, source};
  }

  postgres::LaneReport status() { return postgres::Admin(server_.url()).status(target()).at(0); }

  void watch_until(Clock::time_point end, Process& relay) {
    while (Clock::now() < end) {
      demand_alive(relay);
      const auto lane = status();
      const auto sent = provider_.accepted();
      say_(fmt::format(
          "{:>5} sent  last \"{}\" to {}  waiting {:>3} rows, oldest {} s  lane {}", sent.size(),
          sent.empty() ? "" : sent.back().body.substr(0, 14), sent.empty() ? "-" : sent.back().to,
          lane.lag_records ? std::to_string(*lane.lag_records) : "?",
          lane.lag_age ? fmt::format("{:.1f}", static_cast<double>(lane.lag_age->count()) / 1000)
                       : "?",
          to_string(lane.lane.state)));
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
      sleep_unless_stopped(std::min<std::chrono::milliseconds>(left, 1s), stop_);
    }
  }

  std::string poison(Process& relay) {
    auto id = bookings_->book(std::string(SmsProvider::unknown_numbers) + "00000");
    say_("\nBooking " + id + " has a number that does not exist. Its turn comes:");
    if (!wait_until([&] { return status().lane.state == LaneState::halted; }, relay)) {
      throw Error("the lane did not halt at booking " + id + "; see " + log_.string());
    }
    say_("The lane halts rather than skip it. What an operator sees:\n");
    show({"status"});
    show({"peek", "booking_sms", "--rows", "3"});
    return id;
  }

  void fix(const std::string& id) {
    const std::string number = "+4530123456";
    say_("\nThe number is corrected in the table, and the row tried again:\n");
    say_("# bookings." + id + ": phone is now " + number);
    bookings_->correct_phone(id, number);
    if (status().lane.state == LaneState::halted) {
      show({"retry", "booking_sms"});
    } else {
      say_("The lane goes on already: somebody has acted on the console.\n");
    }
  }

  /// The lane halts once more, for a person to try the console. A booking a second, until a stop.
  void leave_to_person(Process& relay) {
    const auto id = bookings_->book(std::string(SmsProvider::unknown_numbers) + "00001");
    wait_until([&] { return status().lane.state == LaneState::halted; }, relay);
    bookings_->correct_phone(id, "+4530123457");
    say_("\nNow it is your turn. Booking " + id +
         " has halted the lane, and its number was then corrected.");
    say_("Open " + console_url() + " and log in with the token " + token_);
    say_("Retry delivers the booking, Set aside skips it for good. Ctrl-C ends the demo.");
    while (!stop_.stop_requested()) {
      demand_alive(relay);
      bookings_->book("+4530123458");
      sleep_unless_stopped(1s, stop_);
    }
  }

  /// Rows that a person has set aside on the console: nobody gets them.
  std::vector<std::string> skipped_ids() {
    std::vector<std::string> ids;
    for (const auto& entry :
         postgres::Admin(server_.url()).journal(target(), std::nullopt, 1'000)) {
      if (entry.act == "skip" && entry.row_id) ids.push_back(*entry.row_id);
    }
    return ids;
  }

  /// False when it is not so after a while.
  bool wait_until(const std::function<bool()>& fact, Process& relay) {
    const auto deadline = Clock::now() + 30s;
    while (!fact()) {
      demand_alive(relay);
      if (Clock::now() > deadline) return false;
      sleep_unless_stopped(50ms, stop_);
    }
    return true;
  }

  void demand_alive(Process& relay) {
    if (stop_.stop_requested()) {
      throw Error("stopped by a signal before the verdict" +
                  (options_.keep ? "; kept: " + folder_.path().string() : ""));
    }
    if (relay.runs()) return;
    std::ifstream log(log_);
    throw Error("the relay ended by itself; its log says:\n" +
                std::string(std::istreambuf_iterator<char>(log), {}));
  }

  /// Judged at the receiver: the ids it accepted against the ids that are committed.
  int verdict(bool drained, int relay_status) {
    std::vector<std::string> received;
    for (const auto& message : provider_.accepted()) {
      received.push_back(message.idempotency_key.substr(message.idempotency_key.find(':') + 1));
    }
    auto committed = bookings_->committed_ids();
    for (const auto& id : skipped_ids()) std::erase(committed, id);
    const bool same = drained && received == committed;
    say_(
        fmt::format("\nCommitted {} bookings ({} more rolled back), {} refused once and corrected.",
                    committed.size(), bookings_->rolled_back(), provider_.refused()));
    say_(fmt::format("The provider accepted {}: {}.", received.size(),
                     same ? "all of them, in order, none twice" : "NOT the same, or not in order"));
    if (relay_status != 0) say_(fmt::format("The relay ended with status {}.", relay_status));
    const bool good = same && relay_status == 0 && !committed.empty();
    say_(good ? "VERDICT: delivered seriatim." : "VERDICT: FAILED.");
    return good ? 0 : 1;
  }

  DemoOptions options_;
  std::stop_token stop_;
  const Say& say_;
  TemporaryFolder folder_{"demo"};
  embedded::EmbeddedServer server_;
  fs::path config_;
  int console_port_ = lab::free_port();
  std::string token_ = "demo-" + random_digits();
  fs::path log_;
  SmsProvider provider_;
  std::optional<Bookings> bookings_;
};

}  // namespace

int run_demo(const DemoOptions& options, const std::stop_token& stop, const Say& say) {
  return Demo(options, stop, say).run();
}

}  // namespace seriatim::lab
