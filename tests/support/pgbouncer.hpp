#pragma once

#include <string>

#include "lab/process/server_process.hpp"

namespace seriatim::testing {

/// A real PgBouncer before a server; started by the constructor.
class PgBouncer final : public lab::ServerProcess {
 public:
  struct Options {
    std::string pool_mode = "transaction";
    int pool_size = 10;    ///< backends a database and user
    std::string settings;  ///< further lines of section [pgbouncer]
  };
  PgBouncer(int server_port, Options options);
  explicit PgBouncer(int server_port) : PgBouncer(server_port, Options()) {}

  [[nodiscard]] std::string url(const std::string& database) const;
  /// Soon every new transaction goes to this server.
  void lead_to(int server_port);

 private:
  void configure(int server_port) const;
  [[nodiscard]] std::vector<std::string> command() const override;
  bool answers() override;

  Options wanted_;
};

}  // namespace seriatim::testing
