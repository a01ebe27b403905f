#pragma once

#include "postgres/admin/admin.hpp"

namespace seriatim::postgres {

/// Where one row of a process is, with the facts that say so: the answer of `seriatim why`.
struct RowReport {
  enum class State {
    absent,     ///< not to be seen: not committed, deleted before its turn, or never inserted
    filtered,   ///< `where` leaves it out, or `ignore`
    unplaced,   ///< its created_at is NULL or infinite: it has no place in the order
    delivered,  ///< and perhaps deleted since: `in_table`
    parked,     ///< by on_poison, or behind a row of its key that was: `parked`
    set_aside,  ///< by an operator, by name or among others: `act` says who, when and why
    passed,     ///< behind the cursor, before the ledger began or where it was sealed
    late,       ///< behind the cursor, and neither delivered nor set aside
    next,       ///< its lane is at it: `lane` says why it does not move
    unknown,    ///< its table could not be read in time: `not_read`, and what the lanes wait for
    waiting,    ///< behind `rows_before` others; `lane` says why the first of them does not move
  };
  /// An entry of seriatim.journal.
  struct Act {
    std::string number;
    std::string kind;  ///< "skip", "rewind", …
    std::string at;    ///< ISO 8601 UTC
    std::string who;
    std::string why;
  };

  /// Where seriatim.ledger notes it.
  struct Noted {
    unsigned lane = 0;
    std::string bucket;     ///< the lane's sequence when it was closed; empty: still open
    std::string closed_at;  ///< ISO 8601 UTC
  };

  std::string process;
  std::string id;  ///< as the table writes it
  State state = State::absent;

  std::string not_read;           ///< unknown: why
  std::vector<LaneReport> lanes;  ///< unknown: of the process, without what its table says
  bool in_table = false;
  std::optional<std::int64_t> created_at_us;
  std::uint64_t same_id = 1;           ///< rows that share the id; this is about the latest
  std::optional<std::string> key;      ///< cut to 200 characters
  std::string where;                   ///< filtered: the expression
  std::optional<bool> matches;         ///< … and what it says of the row; absent: NULL
  std::optional<std::string> ignored;  ///< filtered: its event type, where `ignore` names it
  std::string unreadable;              ///< why the lane will halt once it reaches the row
  std::optional<LaneReport> lane;      ///< the row's; absent where that cannot be known
  /// Waiting: counted up to LaneReport::lag_records_max. Absent: unknown, as an earlier row cannot
  /// be read (`lane->unread`).
  std::optional<std::uint64_t> rows_before = 0;
  std::optional<std::uint64_t> sequence;   ///< delivered: its number in the lane, when known
  std::chrono::milliseconds ripens_in{0};  ///< next: until it is older than insert_latency
  bool journal_hidden = false;             ///< this role may not read seriatim.journal
  std::optional<Noted> noted;
  std::optional<ParkedRow> parked;
  bool passed_over = false;  ///< set aside: nobody named it, an act passed over all rows there
  std::optional<Act> act;    ///< that set the row aside; else the pause or halt of its lane

  // Absent: what can be said of a row that cannot be seen.
  bool behind_cursor = false;             ///< order by id: all lanes have passed this id
  std::optional<std::string> last_drawn;  ///< the sequence's last id, where it may be read
  bool never_drawn = false;               ///< … and it is below this one
  std::vector<Blocker> writers;           ///< transactions that may still commit it
};

}  // namespace seriatim::postgres
