#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "embedded/embedded_server.hpp"

namespace seriatim::torture {

/// A private server, if asked with a synchronous standby that can take its place. A COMMIT is then
/// answered once the standby has it.
///
/// Threads: one, which must outlive it. Errors: as EmbeddedServer; SqlFailed.
class ReplicatedServer {
 public:
  explicit ReplicatedServer(embedded::EmbeddedServer::Options options);

  [[nodiscard]] std::string url() const { return server_->url(); }
  void crash_and_restart();
  [[nodiscard]] bool can_have_standby() const { return server_->can_be_copied(); }
  /// From now on there is a standby.
  void add_standby();
  /// The server is lost: it crashes, and its standby takes over at the same address. That one has
  /// no standby, and nobody waits for one, until it is given one.
  void promote();
  /// Where the server is now.
  [[nodiscard]] std::filesystem::path folder() const { return server_->log_file().parent_path(); }

 private:
  embedded::EmbeddedServer::Options options_;
  unsigned copies_ = 0;
  std::filesystem::path lost_;  ///< the folder of the last that was lost: evidence until the next
  std::unique_ptr<embedded::EmbeddedServer> server_;
  std::unique_ptr<embedded::EmbeddedServer> standby_;
};

}  // namespace seriatim::torture
