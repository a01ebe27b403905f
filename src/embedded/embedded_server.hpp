#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace seriatim::embedded {

/// A private PostgreSQL in a folder of its own, on a free loopback port: `url = "embedded"`, the
/// demo and the tests. Started by the constructor, stopped (fast) by the destructor.
///
/// PostgreSQL refuses to run as root: as root everything runs as account `postgres`, which must
/// then own the folder (it is created so) and be able to enter the folders above it.
/// Lifetime: the server also stops when the thread that made it ends, so that nothing is left
/// running after kill -9. A constructor that throws leaves nothing running.
/// Errors: std::runtime_error naming the missing package, or with the end of the server's log.
class EmbeddedServer {
 public:
  struct Options {
    std::filesystem::path folder;       ///< created if absent; data/ and server.log live in it
    std::vector<std::string> settings;  ///< "max_prepared_transactions=64"
    std::filesystem::path binaries;     ///< folder of initdb and postgres; empty: the one
                                        ///< $SERIATIM_POSTGRES_BIN names, else the newest found
    std::stop_token stop = {};          ///< the constructor then ends with an Error, in seconds
    /// Of a server whose data it copies if it has none, and then follows as a hot standby.
    std::string primary_url = {};
  };
  explicit EmbeddedServer(Options options);
  ~EmbeddedServer();
  EmbeddedServer(const EmbeddedServer&) = delete;
  EmbeddedServer& operator=(const EmbeddedServer&) = delete;

  [[nodiscard]] std::string url(const std::string& database = "postgres") const;
  [[nodiscard]] int port() const;
  [[nodiscard]] std::filesystem::path log_file() const;
  /// There is a pg_basebackup next to this server's programs, for `primary_url`.
  [[nodiscard]] bool can_be_copied() const;

  enum class Stop { fast, immediate };
  void stop(Stop how);
  void start();          ///< again, on the same port
  void start(int port);  ///< again, on this one, in the place of a server that is stopped

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::embedded
