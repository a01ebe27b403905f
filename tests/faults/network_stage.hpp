#pragma once

#include <fstream>
#include <sstream>

#include "faults/crash_stage.hpp"
#include "lab/proxy/fault_proxy.hpp"

namespace seriatim::testing {

/// A relay whose ways to the database and to the receiver lead through a fault proxy each.
struct NetworkStage : CrashStage {
  /// Dead connections are given up within two or three seconds, by either end.
  static constexpr const char* quick_bounds =
      "&connect_timeout=2&keepalives_idle=1&keepalives_interval=1&keepalives_count=1"
      "&tcp_user_timeout=1000";

  explicit NetworkStage(int rows) : CrashStage(rows) {}

  void start_through(const std::string& deadline, const std::string& bounds = quick_bounds) {
    relay = std::make_unique<RelayProgram>(
        folder, "relay",
        database_section(database.url() + "?host=127.0.0.1&sslmode=disable&port=" +
                         std::to_string(to_database.port()) + bounds) +
            http_process("p", "public.t", "created_at",
                         "http://127.0.0.1:" + std::to_string(to_receiver.port()) + "/",
                         "handler_deadline = \"" + deadline + "\"\n" + settings));
  }
  /// Another one, its ways clear.
  std::unique_ptr<RelayProgram> start_another(const std::string& deadline) {
    return std::make_unique<RelayProgram>(
        folder, "another",
        database_section(database.url()) +
            http_process("p", "public.t", "created_at", receiver.url(),
                         "handler_deadline = \"" + deadline + "\"\n" + settings));
  }

  /// How often rows were repeated; -1 where one was skipped or overtaken.
  [[nodiscard]] int repeats() const {
    std::istringstream numbers_called(calls());
    int repeated = 0;
    int last = 0;
    for (int number = 0; numbers_called >> number; last = number) {
      if (number == last) ++repeated;
      if (number < last || number > last + 1) return -1;
    }
    return repeated;
  }

  [[nodiscard]] long memory_kib() const {
    std::ifstream in("/proc/" + std::to_string(relay->pid()) + "/status");
    for (std::string word; in >> word;) {
      long kib = 0;
      if (word == "VmRSS:" && in >> kib) return kib;
    }
    return -1;
  }
  /// Processor time of the relay, user and system.
  [[nodiscard]] double cpu_seconds() const {
    std::ifstream in("/proc/" + std::to_string(relay->pid()) + "/stat");
    std::string stat{std::istreambuf_iterator<char>(in), {}};
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    long user = 0;
    long system = 0;
    fields >> user >> system;
    return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

  torture::FaultProxy to_database{"127.0.0.1", static_cast<unsigned short>(shared_server().port()),
                                  25};
  torture::FaultProxy to_receiver{"127.0.0.1", receiver.port(), 25};
  std::unique_ptr<RelayProgram> relay;

 private:
  static constexpr const char* settings =
      "lease = \"3s\"\nstandby_interval = \"50ms\"\npoll_interval_max = \"100ms\"\n"
      "backoff = { first = \"10ms\", max = \"100ms\" }\n";
};

}  // namespace seriatim::testing
