// The exec handler beside bare pipes to the same program, which does nothing but answer; the lines
// are made beforehand: bench/run --only handlers. Figures: handlers/exec/README.md.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <thread>

#include "handler_rate.hpp"
#include "support/record_line.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace seriatim {
void register_exec(HandlerRegistry& registry);
}

namespace {

// A C program answers faster; Python is what many will write.
const std::vector<std::string> program{
    "python3", "-c",
    "import json, sys\n"
    "for line in sys.stdin.buffer:\n"
    "    print(json.dumps({'id': json.loads(line)['id'], 'outcome': 'done'}), flush=True)\n"};

class ProgramUnderTest final : public BrokerUnderTest {
 public:
  explicit ProgramUnderTest(std::string mode) : mode_(std::move(mode)) {}
  const char* kind() const override { return "exec"; }
  HandlerOptions options() const override { return {{"command", program}, {"mode", mode_}}; }
  void start() override {}
  void stop() override {}
  void kill() override {}
  void freeze() override {}
  void thaw() override {}
  std::string refused_payload() const override { return {}; }
  std::vector<BrokerMessage> messages() override { return {}; }
  bool drops_repeats() const override { return false; }

 private:
  std::string mode_;
};

class BarePipes {
 public:
  BarePipes() {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    REQUIRE((::pipe(in.data()) == 0 && ::pipe(out.data()) == 0));
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      for (const int fd : {in[0], in[1], out[0], out[1]}) ::close(fd);
      ::execlp("python3", "python3", program[1].c_str(), program[2].c_str(), nullptr);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    answers_ = ::fdopen(out[0], "r");
  }
  ~BarePipes() {
    ::close(in_);
    std::fclose(answers_);
    ::waitpid(pid_, nullptr, 0);
  }
  BarePipes(const BarePipes&) = delete;
  BarePipes& operator=(const BarePipes&) = delete;

  /// `at_once`: all lines, and then all answers; a thread writes, so that neither side waits.
  void send(const std::vector<std::string>& lines, bool at_once) {
    if (at_once) {
      std::string all;
      for (const auto& line : lines) all += line;
      const std::jthread writer([&] { write(all); });
      for (std::size_t i = 0; i < lines.size(); ++i) read();
    } else {
      for (const auto& line : lines) write(line), read();
    }
  }

 private:
  void write(const std::string& text) const {
    for (std::size_t at = 0; at < text.size();) {
      const auto n = ::write(in_, text.data() + at, text.size() - at);
      if (n <= 0) return;
      at += static_cast<std::size_t>(n);
    }
  }
  void read() {
    std::array<char, 256> line{};
    REQUIRE(std::fgets(line.data(), line.size(), answers_) != nullptr);
  }

  pid_t pid_ = 0;
  int in_ = -1;
  FILE* answers_ = nullptr;
};

}  // namespace

TEST_CASE("exec") {
  for (const char* mode : {"single", "batch"}) {
    for (const std::size_t payload_bytes : {200UL, 2'000UL}) {
      const auto handler = make_handler(register_exec, ProgramUnderTest(mode));
      BarePipes raw;
      const auto line = handlers::record_line(make_rows(1)[0], handlers::PayloadForm::none);
      const auto send = [&](std::span<const Record> batch) {
        const auto deadline = std::chrono::steady_clock::now() + 10s;
        REQUIRE(handler->handle(batch, {deadline, deadline, {}}).done == batch.size());
      };
      const auto send_raw = [&](std::span<const Record> batch) {
        auto text = line;
        text.text("payload_text", std::string(payload_bytes, 'x'));
        const std::vector<std::string> lines(batch.size(), text.take() + '\n');
        raw.send(lines, std::string(mode) == "batch");
      };
      compare((std::string("exec, ") + mode).c_str(), send, send_raw, payload_bytes, 100, 3);
    }
  }
}
