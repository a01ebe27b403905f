#include "postgres/store/rows_ahead.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>

#include "postgres/store/noted_ids.hpp"
#include "seriatim/error.hpp"

namespace seriatim::postgres {

namespace {

namespace json = boost::json;

/// "id", or [first, last]
json::array done_of(const std::vector<std::string>& ids) {
  json::array done;
  std::optional<std::int64_t> next;  // after the run that `done` ends with
  for (const auto& id : ids) {
    const auto number = integer_of(id);
    if (number && number == next) {
      done.back().as_array()[1] = *number;
    } else if (number) {
      done.push_back(json::array{*number, *number});
    } else {
      done.emplace_back(id);
    }
    next = number ? std::optional(*number + 1) : std::nullopt;
  }
  return done;
}

/// [number, attempts, "id"], or [number, attempts, first id, how many]
json::array open_of(const std::vector<RowsAhead::Open>& rows) {
  json::array open;
  std::optional<std::int64_t> next;
  const RowsAhead::Open* before = nullptr;
  for (const auto& row : rows) {
    const auto number = integer_of(row.id);
    const bool runs_on = number && number == next && before->attempts == row.attempts &&
                         before->number + 1 == row.number;
    if (runs_on) {
      auto& count = open.back().as_array()[3];
      count = count.to_number<std::int64_t>() + 1;
    } else if (number) {
      open.push_back(json::array{row.number, row.attempts, *number, 1});
    } else {
      open.push_back(json::array{row.number, row.attempts, row.id});
    }
    next = number ? std::optional(*number + 1) : std::nullopt;
    before = &row;
  }
  return open;
}

void add_done(const json::value& entry, std::vector<std::string>& done) {
  if (entry.is_string()) {
    done.emplace_back(entry.as_string());
    return;
  }
  const auto& run = entry.as_array();
  const auto last = run.at(1).to_number<std::int64_t>();
  for (auto id = run.at(0).to_number<std::int64_t>(); id <= last; ++id) {
    done.push_back(std::to_string(id));
  }
}

void add_open(const json::array& run, std::vector<RowsAhead::Open>& open) {
  const auto number = run.at(0).to_number<std::uint64_t>();
  const auto attempts = run.at(1).to_number<unsigned>();
  if (run.at(2).is_string()) {
    open.push_back({number, std::string(run.at(2).as_string()), attempts});
    return;
  }
  const auto first = run.at(2).to_number<std::int64_t>();
  const auto count = run.at(3).to_number<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    open.push_back({number + static_cast<std::uint64_t>(i), std::to_string(first + i), attempts});
  }
}

}  // namespace

std::size_t announced(const RowsAhead& ahead) {
  const auto count = [](const std::vector<RowsAhead::Open>& rows) {
    return std::count_if(rows.begin(), rows.end(), [](const RowsAhead::Open& row) {
      return row.attempts > 0 && row.number > 0;
    });
  };
  return static_cast<std::size_t>(count(ahead.open) + count(ahead.aside));
}

std::optional<std::string> json_of(const RowsAhead& ahead) {
  if (ahead == RowsAhead{}) return std::nullopt;
  json::object kept{{"numbered_to", ahead.numbered_to},
                    {"done", done_of(ahead.done)},
                    {"open", open_of(ahead.open)}};
  if (!ahead.set_aside.empty()) kept["set_aside"] = done_of(ahead.set_aside);
  if (!ahead.aside.empty()) kept["aside"] = open_of(ahead.aside);
  if (ahead.to) kept["to"] = json::array{ahead.to->created_at_us, ahead.to->id};
  return json::serialize(kept);
}

RowsAhead rows_ahead_from(std::string_view text) try {
  RowsAhead ahead;
  const auto kept = json::parse(text).as_object();
  ahead.numbered_to = kept.at("numbered_to").to_number<std::uint64_t>();
  for (const auto& entry : kept.at("done").as_array()) add_done(entry, ahead.done);
  if (const auto* set_aside = kept.if_contains("set_aside")) {
    for (const auto& entry : set_aside->as_array()) add_done(entry, ahead.set_aside);
  }
  for (const auto& run : kept.at("open").as_array()) add_open(run.as_array(), ahead.open);
  if (const auto* aside = kept.if_contains("aside")) {
    for (const auto& run : aside->as_array()) add_open(run.as_array(), ahead.aside);
  }
  if (const auto* to = kept.if_contains("to")) {
    ahead.to = {to->at(0).to_number<std::int64_t>(), std::string(to->at(1).as_string())};
  }
  return ahead;
} catch (const std::exception& unreadable) {
  throw SourceBroken(HaltReason::source_changed,
                     std::string("column ahead of seriatim.cursor cannot be read, so nobody knows "
                                 "which rows after the cursor were delivered: ") +
                         unreadable.what());
}

}  // namespace seriatim::postgres
