// The log handler on real files, pipes and full devices.
#include "log/log_handler.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/handler_calls.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;
using Kind = Outcome::Kind;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "seriatim-log-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Puts another file in the place of standard output for a while.
class StandardOutput {
 public:
  explicit StandardOutput(int fd) : saved_(::dup(STDOUT_FILENO)) { ::dup2(fd, STDOUT_FILENO); }
  ~StandardOutput() {
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

 private:
  int saved_;
};

Outcome deliver(const LogHandlerConfig& config, const Record& record,
                std::chrono::milliseconds time = 10s) {
  LogHandler handler(config);
  return handler.handle_record(record, call_within(time));
}

}  // namespace

TEST_CASE("a record is one JSON line with everything a reader needs") {
  auto record = make_record("{\"a\":\n 12345678901234567890.10}");
  record.headers = {{"traceparent", "00-\"x\""}};
  CHECK(log_line(record, true) ==
        R"({"process":"bookings","lane":2,"sequence":42,"id":"4711","previous_id":"4710",)"
        R"("epoch":3,"attempt":1,"created_at":"2023-11-14T22:13:20.123456Z","key":"customer-7",)"
        R"("event_type":"booking.created","headers":{"traceparent":"00-\"x\""},)"
        R"("payload":{"a":  12345678901234567890.10}})");
  record.late = true;
  CHECK(log_line(record, true).find(R"("previous_id":"4710","late":true,)") != std::string::npos);
}

TEST_CASE("any payload gives one line of JSON") {
  CHECK(log_line(make_record("not\njson"), true).ends_with(R"("payload_text":"not\njson"})"));
  CHECK(log_line(make_record("\xff"), true).ends_with(R"("payload_base64":"/w=="})"));
  CHECK(
      log_line(make_record(std::string("a\0", 2)), true).ends_with(R"("payload_text":"a\u0000"})"));
  auto record = make_record("");
  CHECK(log_line(record, true).ends_with(R"("payload_text":""})"));
  record.payload.reset();
  CHECK(log_line(record, true).find("payload") == std::string::npos);
  CHECK(log_line(make_record("{}"), false).find("payload") == std::string::npos);
}

TEST_CASE("lines are appended, and the file may be moved away meanwhile") {
  const Folder folder;
  const auto file = folder.file("out.jsonl");
  LogHandler handler({.file = file, .payload = false, .sync = true});
  const auto line = log_line(make_record("{}"), false) + '\n';
  CHECK(handler.handle_record(make_record("{}"), call_within(5s)).is_done());
  CHECK(handler.handle_record(make_record("{}"), call_within(5s)).is_done());
  CHECK(text_of(file) == line + line);
  std::filesystem::rename(file, folder.file("old.jsonl"));
  CHECK(handler.handle_record(make_record("{}"), call_within(5s)).is_done());
  CHECK(text_of(file) == line);
}

TEST_CASE("a full disk and a missing folder mean retry, never lost") {
  const auto full = deliver({.file = "/dev/full"}, make_record("{}"));
  CHECK(full.kind == Kind::retry_later);
  CHECK(full.reason == "/dev/full: No space left on device");
  const Folder folder;
  CHECK(deliver({.file = folder.file("no/such/folder")}, make_record("{}")).kind ==
        Kind::retry_later);
}

TEST_CASE("a line cut short is ended before the next attempt writes it whole") {
  const Folder folder;
  const auto file = folder.file("out.jsonl");
  LogHandler handler({.file = file});
  const auto record = make_record(std::string(1000, 'x'));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto cut = handler.handle_record(record, call_within(5s));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old);
  CHECK(cut.kind == Kind::retry_later);
  CHECK(handler.handle_record(record, call_within(5s)).is_done());
  const auto line = log_line(record, true);
  CHECK(text_of(file) == line.substr(0, 100) + '\n' + line + '\n');
}

TEST_CASE("standard output that is closed or has lost its reader means retry") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  ::close(pipe[0]);
  Outcome lost_reader;
  Outcome closed;
  {
    const StandardOutput output(pipe[1]);
    lost_reader = deliver({}, make_record("{}"));
    ::close(STDOUT_FILENO);
    closed = deliver({}, make_record("{}"));
  }
  ::close(pipe[1]);
  CHECK(lost_reader.kind == Kind::retry_later);
  CHECK(lost_reader.reason == "standard output: Broken pipe");
  CHECK(closed.kind == Kind::retry_later);
}

TEST_CASE("a reader that does not read holds the lane to its deadline, no longer") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  Outcome outcome;
  const auto began = std::chrono::steady_clock::now();
  {
    const StandardOutput output(pipe[1]);
    outcome = deliver({}, make_record(std::string(200'000, 'x')), 200ms);
  }
  CHECK(std::chrono::steady_clock::now() - began < 2s);
  CHECK(outcome.kind == Kind::retry_later);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_CASE("the rendering of a row is its line, and writes nothing") {
  const Folder folder;
  LogHandlerConfig config;
  config.file = folder.file("rows");
  LogHandler handler(config);
  const auto record = make_record("{}");
  const auto shown = handler.render(record).value();
  CHECK_FALSE(std::filesystem::exists(config.file));
  REQUIRE(handler.handle_record(record, call_within(10s)).is_done());
  CHECK(*shown.body + '\n' == text_of(config.file));
  CHECK(shown.envelope == std::vector<Header>{{"file", config.file}});
}
