#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "seriatim/async_handler.hpp"
#include "seriatim/config.hpp"
#include "seriatim/counts.hpp"
#include "seriatim/handler.hpp"
#include "seriatim/observer.hpp"

namespace seriatim {

class Source;  // source.hpp, for those who write one

/// Runs processes: one thread and one connection per lane.
///
///     seriatim::Relay relay;
///     relay.add({.name = "greeter"}, source, seriatim::handler_from(greet));
///     relay.run(stop_token);
///
/// Threads: `add` before `run`, from one thread. Ownership: shares sources and observers, owns
/// the handlers it makes.
class Relay {
 public:
  struct Options {
    /// Return once every lane has delivered all that was committed when it last read.
    bool drain = false;
  };

  Relay();
  explicit Relay(Options options);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay();

  /// Throws ConfigError, naming every problem of `process`.
  void add(const ProcessConfig& process, const std::shared_ptr<Source>& source,
           const HandlerFactory& handler);
  void add(const ProcessConfig& process, const std::shared_ptr<Source>& source,
           const AsyncHandlerFactory& handler);
  void observe(std::shared_ptr<Observer> observer);

  /// Delivers until a stop is requested (or, draining, until done), and finishes the call in flight
  /// first. Without a token it never stops by itself, unless it drains. Returns how each lane was
  /// left.
  std::vector<LaneStatus> run(std::stop_token stop = {});

  /// "host:pid:random": its name in the database, as holder of lanes.
  [[nodiscard]] const std::string& holder() const;

  /// What each lane has counted, and what its thread does now; by process and lane.
  /// Threads: any, also while `run` runs.
  [[nodiscard]] std::vector<LaneCounts> counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim
