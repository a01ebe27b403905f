#pragma once

#include <memory>
#include <string>

namespace seriatim::testing {

/// A proxy before PostgreSQL that can steal the answer to a COMMIT: the server commits, the client
/// sees its connection close instead of the answer. The one fault a kill cannot hit on purpose.
///
/// Threads: its own; every member may be called from any. Speaks plain connections
/// (sslmode=disable).
class CommitThief {
 public:
  CommitThief(const std::string& server_host, int server_port);
  ~CommitThief();
  CommitThief(const CommitThief&) = delete;
  CommitThief& operator=(const CommitThief&) = delete;

  [[nodiscard]] int port() const;
  /// The answer to the next COMMIT on any connection is lost.
  void steal_next();
  [[nodiscard]] unsigned stolen() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::testing
