#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "support/process.hpp"

namespace seriatim::testing {

/// `seriatim run` with this configuration, as users run it: a program of its own, its log in a
/// file. Killed by the destructor.
class RelayProgram {
 public:
  /// Variables that break, kill or freeze `seriatim_hooked` (hooks.cpp).
  using Hooks = std::map<std::string, std::string>;

  /// `toml` is the whole configuration; the log goes to `folder`/`name`.log. With hooks it is
  /// `seriatim_hooked` that runs.
  RelayProgram(const TemporaryFolder& folder, const std::string& name, const std::string& toml,
               const Hooks& hooks = {});

  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  void kill() { process_->signal(9); }
  void signal(int number) { process_->signal(number); }
  /// SIGTERM and its end.
  Ended stop();
  Ended wait() { return process_->wait(); }
  /// False while it runs.
  [[nodiscard]] bool has_ended();
  [[nodiscard]] std::string log() const;

 private:
  std::filesystem::path log_;
  std::unique_ptr<Process> process_;
};

/// `[[process]]` of one http handler reading `table`; `more` and `more_source` are further lines of
/// it and of its source.
std::string http_process(const std::string& name, const std::string& table,
                         const std::string& order_by, const std::string& url,
                         const std::string& more = {}, const std::string& more_source = {});
std::string database_section(const std::string& url);

}  // namespace seriatim::testing
