// The exec handler next to bare pipes to the same program, which does nothing but answer; the lines
// are made beforehand: bench/run --only handlers. Figures: handlers/exec/README.md.
#include <doctest/doctest.h>

#include "handler_rate.hpp"
#include "lab/process/process.hpp"
#include "seriatim/handlers.hpp"
#include "support/record_line.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

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
  /// `at_once`: all lines, and then all answers.
  void send(const std::vector<std::string>& lines, bool at_once) {
    std::string all;
    for (const auto& line : lines) {
      if (at_once) {
        all += line;
        continue;
      }
      process_.write(line);
      read();
    }
    if (!at_once) return;
    process_.write(all);
    for (std::size_t i = 0; i < lines.size(); ++i) read();
  }

 private:
  void read() { REQUIRE(process_.next_line()); }

  lab::Process process_{program, {.input_open = true, .err_inherited = true}};
};

}  // namespace

TEST_CASE("exec") {
  for (const char* mode : {"single", "batch"}) {
    for (const std::size_t payload_bytes : {200UL, 2'000UL}) {
      const auto handler = make_handler(handlers::register_exec, ProgramUnderTest(mode));
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
