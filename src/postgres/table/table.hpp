#pragma once

#include <string>
#include <string_view>

#include "postgres/wire/connection.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// A configured table as the database knows it: names quoted, expressions and types
/// resolved.
struct Table {
  std::string oid;
  std::string name;             ///< "public"."bookings", quoted where needed
  std::string id_name;          ///< as in the catalogue
  std::string id;               ///< the same, quoted
  std::string id_type;          ///< int2, int4, int8, uuid, text or varchar
  std::string created_at_name;  ///< as in the catalogue
  std::string created_at;       ///< column, quoted
  std::string created_at_utc;   ///< expression of type timestamptz
  std::string key = "NULL";     ///< expressions over alias t from here on
  std::string event_type = "NULL";
  std::string payload;
  std::string headers = "NULL";
  std::string where = "true";
  std::string delivered_at;        ///< column, quoted; empty: none
  bool payload_is_binary = false;  ///< bytea: read as hex digits
  bool hinted = false;             ///< inserts notify channel `seriatim`
  bool by_id = false;              ///< the order is that of the id alone
  bool policed = false;            ///< row-level security is active, and shows us every row
  bool filtered = false;           ///< `where` leaves rows out
  bool partitioned = false;

  [[nodiscard]] bool integer_id() const;
  /// Every row is this lane's.
  [[nodiscard]] bool is_whole_for(const LaneId& lane) const { return !filtered && lane.lanes == 1; }
};

/// Throws SourceBroken where the table, a column or an expression is not as configured.
[[nodiscard]] Table resolve_table(Connection& connection, const SourceConfig& config);

/// An SQL condition on a row t: it is of this lane.
[[nodiscard]] std::string lane_filter(const Table& table, const LaneId& lane);

/// Puts the table's names, one lane's filter and `more` into a statement of sql/.
///
/// One text serves both orders. `{place}` is the place of row t in the order: `t.created_at, t.id`,
/// or `t.id`. `{place:AT,ID}` is a place made of two columns or parameters, with their casts.
/// `{lead}` and `{lead:AT,ID}` are the first column of a place, which an index is entered by;
/// `{lead_type}` is its type, `{lead_min}` its least value. `{by_id}` is true or false.
[[nodiscard]] std::string statement_for(std::string_view sql, const Table& table,
                                        const LaneId& lane, const Placeholders& more = {});

}  // namespace seriatim::postgres
