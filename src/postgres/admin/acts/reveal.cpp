#include "postgres/admin/acts/reveal.hpp"

#include "postgres/store/act.hpp"
#include "postgres/table/table.hpp"
#include "sql/acts.hpp"
#include "sql/reports.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

/// As the table writes it: the journal names one row by one id.
std::string written_id(Connection& connection, const Table& table, const std::string& id) {
  try {
    return connection.run(statement_for(sql::reports::canonical_id, table, {}), {id})[0][0]
        .as<std::string>();
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;
    throw Error("\"" + id + "\" is no id of table " + table.name + ": its ids are of type " +
                table.id_type + "; nothing was shown");
  }
}

struct Found {
  bool row = false;
  bool too_large = false;
  std::optional<std::string> payload{};
};

Found find_payload(Connection& connection, const Table& table, const Target& target,
                   const std::string& id) {
  const auto found = connection.run(statement_for(sql::acts::reveal_payload, table, {}),
                                    {id, std::to_string(target.source.payload_max)});
  if (found.empty()) return {};
  if (found[0]["payload"].is_null()) return {true, found[0]["too_large"].as<bool>()};
  return {true, false, found[0]["payload"].as<std::string>()};
}

}  // namespace

std::optional<std::string> payload_of(Connection& connection, const Target& target,
                                      const std::string& id) {
  const auto table = resolve_table(connection, target.source);
  return find_payload(connection, table, target, written_id(connection, table, id)).payload;
}

Revealed reveal_payload(Connection& connection, const Target& target, const std::string& id,
                        const Actor& actor) {
  const auto table = resolve_table(connection, target.source);
  Revealed shown{written_id(connection, table, id), std::nullopt, {}};
  connection.begin(sql::wire::clock);
  shown.entry = connection
                    .run(sql::acts::note_reveal, {target.process.name, stored_who(actor),
                                                  stored_reason(actor), shown.id})[0][0]
                    .as<std::string>();
  auto found = find_payload(connection, table, target, shown.id);
  if (!found.row) {
    connection.rollback();
    throw Error("table " + table.name + " has no row " + shown.id + " that process \"" +
                target.process.name + "\" delivers; nothing was shown");
  }
  if (found.too_large) {
    connection.rollback();
    throw Error("the payload of row " + shown.id + " is larger than payload_max (" +
                std::to_string(target.source.payload_max) + " bytes); nothing was shown");
  }
  shown.payload = std::move(found.payload);
  connection.commit();
  return shown;
}

}  // namespace seriatim::postgres
