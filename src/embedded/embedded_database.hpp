#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace seriatim::embedded {

/// The private PostgreSQL behind `url = "embedded"`: one a folder, shared by every command that
/// runs at the same time, gone with the last of them.
///
/// Neither the first command nor any other may take the server away from the rest, so it belongs
/// to a keeper: a child process in a session of its own that stops the server once no command
/// holds the shared lock on `users.lock`. The lock vanishes with its process, kill -9 included;
/// the server vanishes with the keeper. A second command waits for `start.lock` and reads `url`.
///
/// Threads: construct before other threads are started (it forks).
/// Errors: Error naming the folder, or what EmbeddedServer says.
class EmbeddedDatabase {
 public:
  explicit EmbeddedDatabase(const std::filesystem::path& folder);
  ~EmbeddedDatabase();
  EmbeddedDatabase(const EmbeddedDatabase&) = delete;
  EmbeddedDatabase& operator=(const EmbeddedDatabase&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  class FileLock;

  [[nodiscard]] std::string start_keeper(FileLock& starting);
  [[noreturn]] void keep(int answer) const;

  std::filesystem::path folder_;
  std::unique_ptr<FileLock> use_;
  std::string url_;
};

}  // namespace seriatim::embedded
