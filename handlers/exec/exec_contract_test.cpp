// The exec handler under the suite of all brokers, tests/contract: the child keeps a book.
#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "contract/broker_under_test.hpp"
#include "contract/handler_relay_stage.hpp"
#include "seriatim/handlers.hpp"
#include "support/encoding.hpp"
#include "support/json_value.hpp"
#include "support/process.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using handlers::JsonValue;

namespace {

std::optional<std::string> text_of(const JsonValue& line, const std::string& name) {
  const auto* member = line.find(name);
  return member == nullptr ? std::nullopt : std::optional(member->text);
}

std::optional<std::string> payload_of(const JsonValue& line) {
  if (auto text = text_of(line, "payload_text")) return text;
  const auto base64 = text_of(line, "payload_base64");
  return base64 ? handlers::base64_decode(*base64) : std::nullopt;
}

BrokerMessage message_of(const JsonValue& line) {
  BrokerMessage message{text_of(line, "id").value(),
                        text_of(line, "key"),
                        text_of(line, "event_type"),
                        payload_of(line),
                        {},
                        text_of(line, "process").value()};
  message.sequence = std::stoull(text_of(line, "sequence").value());
  message.epoch = std::stoull(text_of(line, "epoch").value());
  if (const auto* headers = line.find("headers")) {
    for (const auto& [name, value] : headers->members) {
      message.headers.emplace_back(name, value.text);
    }
  }
  return message;
}

class BookUnderTest : public BrokerUnderTest {
 public:
  explicit BookUnderTest(std::string mode) : mode_(std::move(mode)) {}

  const char* kind() const override { return "exec"; }
  HandlerOptions options() const override {
    return {{"command",
             std::vector<std::string>{"python3", EXEC_CONTRACT_CHILD, folder_.path().string()}},
            {"mode", mode_},
            {"payload", std::string("text")}};
  }
  void start() override { std::filesystem::remove(file("closed")); }
  void stop() override { std::ofstream(file("closed")) << "\n"; }
  void kill() override {
    stop();
    signal(SIGKILL);
  }
  void freeze() override { signal(SIGSTOP); }
  void thaw() override { signal(SIGCONT); }
  std::string refused_payload() const override { return std::string((1 << 20) + 1, 'x'); }
  std::vector<BrokerMessage> messages() override {
    std::vector<BrokerMessage> messages;
    std::ifstream book(file("book"));
    for (std::string line; std::getline(book, line);) {
      if (book.eof() || !handlers::json_problem(line).empty()) continue;  // cut short by a kill
      messages.push_back(message_of(handlers::parse_json(line)));
    }
    return messages;
  }
  /// Lines are only ever added.
  std::size_t count() override {
    std::ifstream book(file("book"));
    book.seekg(static_cast<std::streamoff>(counted_bytes_));
    for (std::string line; std::getline(book, line) && !book.eof();) {
      counted_bytes_ += line.size() + 1;
      if (handlers::json_problem(line).empty()) counted_lines_ += 1;
    }
    return counted_lines_;
  }
  bool drops_repeats() const override { return false; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  [[nodiscard]] pid_t child() const {
    pid_t pid = 0;
    std::ifstream(file("pid")) >> pid;
    return pid;
  }

 private:
  [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_.path() / name; }
  void signal(int number) const {
    if (const auto pid = child(); pid > 0) ::kill(pid, number);
  }

  TemporaryFolder folder_;
  std::string mode_;
  std::size_t counted_bytes_ = 0;
  std::size_t counted_lines_ = 0;
};

/// Takes a record, and does not see that nobody waits for its answer.
class SleeperUnderTest final : public BookUnderTest {
 public:
  SleeperUnderTest() : BookUnderTest("single") {}
  HandlerOptions options() const override {
    const auto script =  // $$$$ is $$ where it comes from a file
        "read -r line; echo $$$$ >" + (folder() / "pid").string() + "; exec sleep 1000";
    return {{"command", std::vector<std::string>{"/bin/sh", "-c", script}}};
  }
};

}  // namespace

TEST_CASE("a relay killed takes along a child that would not notice") {
  SleeperUnderTest sleeper;
  RelayStage relays(sleeper, 1);
  const auto relay = relays.start({});
  wait_until("the child has the record", [&] { return sleeper.child() > 0; });
  const auto child = sleeper.child();
  relay->kill();
  relay->wait();
  wait_until("the child is gone", [&] { return ::kill(child, 0) != 0; });
}

TEST_CASE("exec keeps the handler contract, in batches") {
  keep_handler_contract(handlers::register_exec,
                        [] { return std::make_unique<BookUnderTest>("batch"); });
}

TEST_CASE("exec keeps the handler contract, record by record") {
  keep_handler_contract(handlers::register_exec,
                        [] { return std::make_unique<BookUnderTest>("single"); });
}

TEST_CASE("record by record: a relay killed loses nothing, one stopped lets its child finish") {
  BookUnderTest book("single");
  RelayStage relays(book, 4'000);
  const auto relay = relays.start({});
  wait_until("the relay is in the midst of it", [&] { return book.count() >= 1'000; });
  wait_until("the log has the child's line", [&] {  // the log has a thread of its own
    return relay->log().find("p/0 handler: the book is open") != std::string::npos;
  });
  const auto child = book.child();
  relay->kill();
  relay->wait();
  wait_until("the child is gone", [&] { return ::kill(child, 0) != 0; });
  const auto next = relays.start({});
  REQUIRE(relays.all_delivered());
  const auto messages = book.messages();
  std::size_t expected = 0;
  for (const auto& message : messages) expected += message.sequence == expected + 1 ? 1 : 0;
  CHECK(expected == 4'000);
  CHECK(messages.size() <= 4'000 + RelayStage::batch_rows);
  CHECK(next->stop().code == 0);
  CHECK_MESSAGE(next->log().find("p/0 handler: the book is closed for today") != std::string::npos,
                next->log());
}
