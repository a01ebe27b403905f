#include "lab/bench/relay_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "seriatim/error.hpp"

namespace seriatim::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes silence_max{20};
constexpr int look_interval_ms = 100;

/// Only what is safe between fork and exec.
[[noreturn]] void become(const char* program, int in, int out) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execl(program, program, "bench-relay", static_cast<char*>(nullptr));
  ::_exit(127);
}

boost::json::object object_from(const std::string& line) {
  return boost::json::parse(line).as_object();
}

}  // namespace

RelayChild::RelayChild(const std::filesystem::path& program, const RelaySpec& spec,
                       std::stop_token stop)
    : stop_(std::move(stop)) {
  start(program);
  const auto line = to_line(spec) + '\n';
  if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw Error("the relay under test ended at once");
  }
}

RelayChild::~RelayChild() {
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void RelayChild::start(const std::filesystem::path& program) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
    throw Error("pipe: no file descriptors left");
  }
  pid_ = ::fork();
  if (pid_ == 0) become(program.c_str(), in[0], out[1]);
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (pid_ < 0) throw Error(std::string("cannot start a relay: ") + std::strerror(errno));
}

std::string RelayChild::next_line() {
  const auto deadline = Clock::now() + silence_max;
  for (;;) {
    if (const auto end = heard_.find('\n'); end != std::string::npos) {
      auto line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return line;
    }
    if (stop_.stop_requested()) throw Interrupted{};
    if (Clock::now() > deadline) throw Error("the relay under test said nothing for 20 minutes");
    pollfd ready{from_, POLLIN, 0};
    if (::poll(&ready, 1, look_interval_ms) <= 0) continue;
    std::array<char, 65'536> chunk{};
    const auto count = ::read(from_, chunk.data(), chunk.size());
    if (count <= 0) throw Error("the relay under test ended by itself");
    heard_.append(chunk.data(), static_cast<std::size_t>(count));
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
  ::close(to_);
  to_ = -1;
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
