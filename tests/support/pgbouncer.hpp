#pragma once

#include <memory>
#include <string>

namespace seriatim::testing {

/// A real PgBouncer before a server, on a free loopback port, in a folder of its own. Started by
/// the constructor, stopped by the destructor; its log is kept, and named, where it did not start.
///
/// Runs as account postgres where we are root, as servers do.
class PgBouncer {
 public:
  struct Options {
    std::string pool_mode = "transaction";
    int pool_size = 10;    ///< backends a database and user
    std::string settings;  ///< further lines of section [pgbouncer]
  };
  PgBouncer(int server_port, Options options);
  explicit PgBouncer(int server_port) : PgBouncer(server_port, Options()) {}
  ~PgBouncer();
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  [[nodiscard]] std::string url(const std::string& database) const;
  /// Soon every new transaction goes to this server.
  void lead_to(int server_port);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::testing
