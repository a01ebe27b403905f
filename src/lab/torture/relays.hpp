#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lab/process/process.hpp"
#include "lab/torture/stage.hpp"
#include "lab/torture/torture.hpp"

namespace seriatim::torture {

/// The relays under test: programs of their own with one configuration, all running all streams.
///
/// Threads: one, and it must live as long as they run.
class Relays {
 public:
  struct Ways {
    std::string database_url;  ///< perhaps through a proxy
    std::uint16_t receiver_port = 0;
  };
  Relays(const Settings& settings, const Stage& stage, const Ways& ways);

  void start();
  [[nodiscard]] std::size_t count() const { return relays_.size(); }
  void kill(std::size_t number);  ///< and starts it again
  void freeze(std::size_t number);
  void thaw(std::size_t number);
  /// As an operator does after a failover: the server is another one now, and that is right.
  void adopt() const;
  /// Starts those again that ended by themselves, and says so.
  std::vector<std::string> revive();
  /// Lets all end in peace; what did not is said.
  std::vector<std::string> stop();
  /// One that holds a lane now, if that can be seen.
  [[nodiscard]] std::size_t holder(std::uint64_t dice) const;

  /// Above the longest time a live holder's lock is left to it: freeze longer, and it is replaced.
  static constexpr std::chrono::milliseconds tolerance{7'000};
  static constexpr std::chrono::milliseconds lease{1'000};

 private:
  void start(std::size_t number);
  [[nodiscard]] std::string configuration(const Ways& ways) const;
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> words) const;
  [[nodiscard]] std::string adopt(const std::string& process) const;

  const Settings& settings_;
  const Stage& stage_;
  std::string database_url_;
  std::vector<std::unique_ptr<lab::Process>> relays_;
};

}  // namespace seriatim::torture
