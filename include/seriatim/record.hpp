#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "seriatim/position.hpp"

namespace seriatim {

using Header = std::pair<std::string, std::string>;

/// One committed row on its way to a handler. Everything up to `headers` is what the database
/// stored; the rest is given by the lane at first delivery and is the same at every redelivery,
/// except `attempt` (and `epoch`, after a change of holder).
///
/// A late row (late_rows = "deliver") was inserted behind the cursor and is delivered in between:
/// its `previous_id` is the row at the cursor, and so is that of the next row that is not late.
struct Record {
  Position position;
  std::optional<std::string> key;         ///< ordering key, absent when the source names none
  std::optional<std::string> event_type;  ///< absent when the source names none
  std::optional<std::string> payload;     ///< the bytes as stored; absent for SQL NULL
  std::vector<Header> headers;

  std::string process;
  unsigned lane = 0;
  std::uint64_t sequence = 0;              ///< 1, 2, 3 … per lane, no holes; see `order_by_key`
  bool order_by_key = false;               ///< numbers grow within a key only (`in_flight` above 1)
  std::uint64_t epoch = 0;                 ///< fencing token: grows with every change of holder
  unsigned attempt = 1;                    ///< 1 at the first call for this row
  std::uint64_t set_aside = 0;             ///< how many lower numbers went to rows set aside: a
                                           ///< receiver need not wait for those
  bool late = false;                       ///< delivered after rows that come later in order
  std::optional<std::string> previous_id;  ///< id of the row before this one in the lane

  [[nodiscard]] const std::string& id() const { return position.id; }

  /// `<process>:<id>`, the same at every attempt: what a receiver de-duplicates by.
  [[nodiscard]] std::string idempotency_key() const { return process + ':' + position.id; }
};

}  // namespace seriatim
