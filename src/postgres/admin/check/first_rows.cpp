#include "postgres/admin/admin.hpp"
#include "postgres/admin/check/check.hpp"
#include "postgres/store/start_place.hpp"
#include "postgres/table/waiting_rows.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

constexpr milliseconds count_max{2'000};

std::string begins(const std::string& start) {
  const auto place = start_place_from(start);
  switch (place.kind) {
    case RewindPlace::Kind::start: return "begins with the oldest row";
    case RewindPlace::Kind::end: return "begins with rows committed from now on";
    case RewindPlace::Kind::row: return "begins with row " + place.text;
    case RewindPlace::Kind::time: break;
  }
  return "begins with the first row created at or after " + place.text;
}

std::string rows_text(std::uint64_t rows) {
  constexpr auto most = LaneReport::lag_records_max;
  return (rows > most ? "at least " : "") + std::to_string(std::min(rows, most)) +
         (rows == 1 ? " row goes out first" : " rows go out first");
}

}  // namespace

std::string first_rows_text(const std::string& url, const Target& target) {
  const auto& process = target.process.name;
  const auto& source = target.source;
  Connection connection(url, {.application = "seriatim/check", .statement_timeout = count_max});
  if (!connection.run(sql::store::check_cursors, {process}).empty()) return {};
  auto text = begins(source.start) + " (start = \"" + source.start + "\")";
  if (start_place_from(source.start).kind == RewindPlace::Kind::end) return text;
  const auto table = resolve_table(connection, source);
  StartFinder finder(source);
  try {
    const auto places = finder.find(connection, table, process, 1);
    WaitingRows waiting(connection, table, {process, 0, 1});
    text += "; " + rows_text(waiting.count(places->front(), LaneReport::lag_records_max + 1));
  } catch (const SessionLost& lost) {
    if (lost.sqlstate() != "57014") throw;  // query_canceled
    text += "; how many rows go out first could not be counted in " +
            std::to_string(count_max.count() / 1000) + " s";
  } catch (const SourceBroken& broken) {  // one of them cannot be read
    text += "; how many rows go out first is unknown: " + std::string(broken.what());
  }
  return text;
}

}  // namespace seriatim::postgres
