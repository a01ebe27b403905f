#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "seriatim/error.hpp"

namespace seriatim::console {

/// What a person asks of a process. The texts are those of the request.
struct Order {
  /// What the person saw. If it is so no longer, the order is refused (Conflict). Absent: not
  /// compared.
  struct Seen {
    std::optional<unsigned> lane;
    std::optional<std::uint64_t> epoch;
    std::optional<std::string> state;
    std::optional<std::string> row;
    std::optional<unsigned> attempts;
    std::optional<std::uint64_t> count;  ///< redrive, discard: so many rows
    std::optional<std::string> plan;     ///< redrive, discard, rewind: what the preview gave
  };

  std::string process;
  std::string act;                 ///< retry pause resume skip redrive discard rewind
  std::optional<unsigned> lane;    ///< retry, pause, resume: only this lane
  std::optional<std::string> row;  ///< skip; redrive, discard: the row …
  std::optional<std::string> key;  ///< … or the key …
  bool all = false;                ///< … or all
  std::string place;               ///< rewind: as `rewind --to` takes it
  Seen seen;
  std::string reason;
  bool preview = false;  ///< change nothing
  std::string who;       ///< "alice (console 10.0.0.7)"
};

/// Nothing of this name is here: 404.
struct NotFound : Error {
  using Error::Error;
};

/// It is no longer as the person saw it: 409.
struct Conflict : Error {
  explicit Conflict(const std::string& what, std::string now = "null")
      : Error(what), status(std::move(now)) {}
  std::string status;  ///< the lane as it is now, in JSON, or "null"
};

/// The request is wrong, or does not apply: 422.
struct Refused : Error {
  explicit Refused(const std::string& what, std::string what_to_do = {})
      : Error(what), remedy(std::move(what_to_do)) {}
  std::string remedy;  ///< what to do instead
};

/// What the console asks of the program. Answers are JSON texts. Any other Error than those above
/// means that the database cannot be asked now: 503. Any other exception is a fault of ours: 500.
///
/// Threads: any; several at a time.
class Desk {
 public:
  using Progress = std::function<void(std::uint64_t rows)>;
  using MaybeText = std::optional<std::string>;

  virtual ~Desk() = default;
  /// Of a read that all who ask share.
  struct Snapshot {
    std::string status;   ///< all of it
    std::string times;    ///< its members that say when it was read
    std::string content;  ///< for comparisons: without times, and ages that grow on an idle lane
  };
  virtual Snapshot snapshot() = 0;
  /// Whether the configuration has a process of this name; asks nobody.
  [[nodiscard]] virtual bool knows(const std::string& process) const = 0;
  virtual std::string rows(const std::string& process, unsigned lane, unsigned limit) = 0;
  virtual std::string row(const std::string& process, const std::string& id) = 0;
  virtual std::string parked(const std::string& process, const MaybeText& key,
                             const std::string& after, unsigned limit) = 0;
  virtual std::string history(const std::string& process, unsigned minutes) = 0;
  virtual std::string audits(const std::string& process) = 0;
  /// Newest first. `before`: an entry's number; empty: from the newest.
  virtual std::string journal(const MaybeText& process, const std::string& before,
                              unsigned limit) = 0;
  /// Oldest first; same form. `number`: of the last entry that is known.
  virtual std::string journal_after(const std::string& number, unsigned limit) = 0;
  virtual std::string checks() = 0;
  virtual std::string alerts(const std::string& before, unsigned limit) = 0;
  virtual std::string relays() = 0;
  virtual std::string act(const Order& order) = 0;
  /// The payload of one row; the journal records who saw it, and the reason if one is given.
  virtual std::string reveal(const std::string& process, const std::string& id,
                             const std::string& who, const std::string& reason) = 0;
  /// Takes long. Answers {"rows", "sound", "finding"}; ends early if `stop` asks for it.
  virtual std::string recount(const std::string& process, const std::string& who,
                              const Progress& progress, std::stop_token stop) = 0;
};

}  // namespace seriatim::console
