#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace seriatim::testing {

/// What the server says about every name it is asked for.
struct DnsAnswer {
  std::vector<std::string> addresses;  ///< IPv4 to those who ask for A, IPv6 for AAAA
  int code = 0;                        ///< 2: SERVFAIL, 3: NXDOMAIN
  bool silent = false;
};

/// A name server on port 53 of a loopback address of its own, and a way to run programs that ask it
/// alone: with a resolv.conf of their own, in a mount namespace. Both take root.
///
/// Threads: its own; every member may be called from any.
class DnsServer {
 public:
  DnsServer();
  ~DnsServer();
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;

  /// Why it cannot be had here; empty if it can. A program that uses one is skipped then.
  [[nodiscard]] static std::string why_not();

  void answer(DnsAnswer answer);
  [[nodiscard]] unsigned questions() const;
  /// What to put before a command so that it asks this server.
  [[nodiscard]] std::vector<std::string> prefix(const std::string& resolv_conf) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::testing
