#include "lab/bench/relay_child.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <csignal>

#include "seriatim/error.hpp"

namespace seriatim::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes silence_max{20};
constexpr std::chrono::milliseconds check_interval{100};

lab::Process::Options own_process() {
  lab::Process::Options options;
  options.input_open = true;
  options.err_inherited = true;
  options.group = lab::Process::Group::own;
  options.death_signal = SIGKILL;
  return options;
}

boost::json::object object_from(const std::string& line) {
  return boost::json::parse(line).as_object();
}

}  // namespace

RelayChild::RelayChild(const std::filesystem::path& program, const RelaySpec& spec,
                       std::stop_token stop)
    : stop_(std::move(stop)), process_({program.string(), "bench-relay"}, own_process()) {
  process_.write(to_line(spec) + '\n');
}

std::string RelayChild::next_line() {
  const auto deadline = Clock::now() + silence_max;
  for (;;) {
    if (stop_.stop_requested()) throw Interrupted{};
    if (auto line = process_.next_line(check_interval)) return *line;
    if (!process_.runs()) throw Error("the relay under test ended by itself");
    if (Clock::now() > deadline) throw Error("the relay under test said nothing for 20 minutes");
  }
}

std::string RelayChild::line_with(const std::string& key) {
  for (;;) {
    auto line = next_line();
    const auto said = object_from(line);
    if (const auto* wrong = said.if_contains("error")) {
      throw Error("the relay under test: " + std::string(wrong->as_string()));
    }
    if (said.contains(key)) return line;
  }
}

void RelayChild::await_idle() {
  (void)line_with("idle");
}

RelayChild::Delivered RelayChild::await_delivered() {
  const auto said = object_from(line_with("delivered"));
  return {said.at("delivered").to_number<std::uint64_t>(),
          said.at("counted").to_number<std::uint64_t>(),
          said.at("took_ns").to_number<std::int64_t>()};
}

std::map<std::int64_t, std::int64_t> RelayChild::finish() {
  process_.end_input();
  std::map<std::int64_t, std::int64_t> arrivals;
  const auto said = object_from(line_with("arrivals"));
  for (const auto& one : said.at("arrivals").as_array()) {
    const auto& pair = one.as_array();
    arrivals.emplace(std::stoll(std::string(pair.at(0).as_string())),
                     pair.at(1).to_number<std::int64_t>());
  }
  return arrivals;
}

}  // namespace seriatim::bench
