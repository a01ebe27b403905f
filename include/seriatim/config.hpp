#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "seriatim/position.hpp"

namespace seriatim {

/// What a failed lane does about a poison record.
enum class OnPoison {
  halt,         ///< waits at the row until an operator acts
  park_key,     ///< sets it aside; later rows of its key queue behind it, other keys go on
  dead_letter,  ///< sets it aside alone; later rows of its key go on without it
};

/// What a lane does when a request was sent and its answer lost.
enum class OnUnknown {
  retry,  ///< same row, same idempotency key, attempt + 1
  halt,   ///< UNKNOWN_OUTCOME: an operator checks the receiver first
};

/// What becomes of a row that failed and may work later.
enum class OnRetry {
  wait,      ///< its lane waits
  hold_key,  ///< it is set aside with later rows of its key, and tried again by itself
};

/// Exponential back-off with full jitter: the n-th failure waits a random time in
/// [0, min(max, first · 2ⁿ⁻¹)]. (M. Brooker, "Exponential Backoff And Jitter", AWS, 2015.)
struct BackoffConfig {
  std::chrono::milliseconds first{500};
  std::chrono::milliseconds max{60'000};
  std::chrono::milliseconds retry_after_max{3'600'000};  ///< a longer Retry-After is cut to this
};

/// So many calls of rows in this time. 0 rows: no limit.
struct RateLimit {
  unsigned rows = 0;
  std::chrono::milliseconds per{1'000};
};

/// A named stream: one source, one handler, one cursor row per lane.
struct ProcessConfig {
  std::string name;    ///< the cursor's key; 1 to 63 bytes
  unsigned lanes = 1;  ///< rows of one key keep to one lane; 1 = global order
  OnPoison on_poison = OnPoison::halt;
  unsigned max_parked =
      1'000;  ///< failed rows set aside at a time; then poison halts; 0 = no limit
  OnRetry on_retry = OnRetry::wait;
  unsigned max_held_keys = 1'000;  ///< beyond it the lane waits once before it holds a further key
  OnUnknown on_unknown = OnUnknown::retry;
  unsigned max_attempts = 0;  ///< a row failing this often is poison; 0 = never
  unsigned max_crashes = 3;   ///< a row killing the process this often halts it (CRASHES)
  BackoffConfig backoff;

  /// Where not empty: a row of another event type (or of none) is poison, and never handed over.
  std::vector<std::string> event_types;

  /// Calls at once in a lane. With more than 1, order is kept per key: rows of one key go out one
  /// after another, rows of different keys at once. Rows without a key are rows of one key.
  unsigned in_flight = 1;
  /// In flight: so many rows after the cursor are kept in memory, waiting, called or done. Bounds
  /// what is kept next to the cursor, too.
  unsigned window_rows = 4'096;

  /// No more calls than this, also if rows wait; each row of a batch counts, and each attempt.
  /// Several lanes share it in equal parts. Up to a tenth of a second's rows may go out at once.
  RateLimit rate_limit;
  RateLimit key_rate_limit;  ///< … with rows of one key; with one call at a time the lane waits

  unsigned batch_rows = 100;  ///< rows fetched at once
  /// While a batch is delivered the next one is read, on a second connection; for handlers that
  /// take batches.
  bool read_ahead = false;
  unsigned commit_every =
      1;  ///< rows handed over per cursor commit; bounds the repeats after a fault
  std::chrono::milliseconds handler_deadline{30'000};  ///< one handler call may take this long
  std::chrono::milliseconds max_hold{1'000};  ///< a call of several rows is settled after this

  std::chrono::milliseconds poll_interval_min{1};    ///< after work
  std::chrono::milliseconds poll_interval_max{200};  ///< reached by doubling while idle
  std::chrono::milliseconds lease{
      10'000};  ///< a holder that vanished without a trace is replaced after this
  std::chrono::milliseconds standby_interval{
      300};  ///< how often a standby checks; bounds take-over after kill -9
};

/// What "settled" rests on.
enum class Guard {
  fence,    ///< waits for writers that may still insert (docs/fence.md): loses nothing
  latency,  ///< waits for `insert_latency` only, for servers without pg_locks: loses later commits
};

/// What becomes of a row that appears behind the cursor.
enum class OnLateRow {
  halt,     ///< LATE_ROW: the audit names it and the lane halts
  deliver,  ///< within `lookback` it is delivered, marked as late; further back the lane halts
};

/// A table (or partitioned table) of PostgreSQL read as an outbox. Names are as in SQL without
/// quotes ("public.bookings"; quote parts that need it). Expressions see the row as `t`.
struct SourceConfig {
  std::string table = "seriatim.outbox";
  OrderBy order_by = OrderBy::created_at;
  Guard guard = Guard::fence;
  std::string id = "id";
  std::string created_at = "created_at";
  std::string key;         ///< column or expression; empty: no key
  std::string event_type;  ///< column or expression; empty: column event_type if there is one
  std::string payload;     ///< column or expression; empty: column payload, else the whole row
  std::string headers;  ///< column or expression giving a JSON object; empty: column headers if any
  std::string where;    ///< only rows for which this is true; empty: all
  std::vector<std::string> ignore;  ///< event types passed over as if `where` left them out
  std::string
      delivered_at_column;  ///< stamped with the time in the cursor's transaction; empty: none
  std::chrono::milliseconds insert_latency{5};  ///< created_at order: margin for small clock steps
  std::size_t payload_max = 16 << 20;           ///< bytes; a larger payload halts with BAD_PAYLOAD
  std::size_t batch_bytes = 32 << 20;  ///< payload bytes fetched at once (at least one row)
  OnLateRow late_rows = OnLateRow::halt;
  std::chrono::milliseconds lookback{600'000};  ///< late_rows = deliver: how far behind the cursor
  /// The ledger keeps delivered ids for this long, to find rows that appear behind the cursor.
  /// After that it keeps only their count and hash.
  std::chrono::milliseconds audit_window{86'400'000};
  bool listen = true;  ///< use LISTEN hints where the table sends them
  /// Where a process without a cursor begins; it never moves a cursor that exists. "beginning": at
  /// the table's oldest row. "now": at rows committed from now on. Else a row's id, or an ISO 8601
  /// time, for the first row created then or later. Write "id:" or "time:" before it if it could be
  /// either.
  std::string start = "beginning";
};

}  // namespace seriatim
