#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "seriatim/error.hpp"
#include "seriatim/postgres.hpp"

namespace seriatim {

/// For consumers that write to PostgreSQL: an event's effect and the note that it was taken are
/// committed together, so an event that comes again, by whatever way, takes effect once.
/// docs/receivers.md says when to use this and when `Receiver`.
///
/// Threads: one. Two consumers of the same name may be at the same event: one waits for the other,
/// for 5 s at most, and is refused then (InboxRefusal 55P03).
/// Errors: after SessionLost it is not known whether the effect was committed. Do not acknowledge
/// the event; when it comes again, `once` finds out. After any other error nothing was committed,
/// and the event may be tried again. A server may need up to 60 s to notice a lost session. Until
/// then it refuses the event as if another consumer were at it.
class Inbox {
 public:
  /// What an effect writes with. A refusal is thrown (InboxRefusal), for it ends the transaction;
  /// an effect must not call `savepoint` and `rollback_to_savepoint` (std::logic_error).
  using Effect = std::function<void(Transaction& transaction)>;

  /// The database at `url` must have schema `seriatim` (`seriatim init`). Nothing is connected
  /// here, and a session that was lost is opened anew at the next call. `consumer` (1 to 63 bytes)
  /// is what events are noted under.
  Inbox(std::string url, std::string consumer);
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// True: `effect` ran and is committed. False: the event was taken before, and nothing ran.
  /// `event_id` (1 to 1000 bytes) must be the same whenever the event comes, and no other's:
  /// `Idempotency-Key`, or process and id.
  bool once(const std::string& event_id, const Effect& effect);

  /// Forgets events older than this, in small transactions; answers how many.
  std::size_t prune(std::chrono::hours older_than);

 private:
  DatabaseSession& session();
  void commit();
  void abandon() noexcept;

  std::string url_;
  std::string consumer_;
  std::unique_ptr<DatabaseSession> session_;
};

/// The database refused a statement, or the commit; nothing of the event was committed.
class InboxRefusal : public Error {
 public:
  InboxRefusal(const std::string& what, std::string sqlstate)
      : Error(what), sqlstate_(std::move(sqlstate)) {}
  [[nodiscard]] const std::string& sqlstate() const { return sqlstate_; }

 private:
  std::string sqlstate_;
};

}  // namespace seriatim
