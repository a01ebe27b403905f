#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace seriatim::embedded {

/// The account a program of PostgreSQL runs as.
struct Account {
  uid_t uid;
  gid_t gid;
};

/// Account `postgres` when we are root (PostgreSQL refuses to run as root), else nothing to change.
[[nodiscard]] std::optional<Account> server_account();

/// Starts a program in a session of its own, output to the end of `log`. It gets SIGINT when the
/// thread that started it ends, even by kill -9.
[[nodiscard]] pid_t spawn(const std::vector<std::string>& command,
                          const std::optional<Account>& account, const std::filesystem::path& log);

/// Waits for the program's end: its wait status, or nothing when the time was over first.
[[nodiscard]] std::optional<int> wait_for(pid_t pid, std::chrono::milliseconds at_most);

}  // namespace seriatim::embedded
