#include "redis/flight.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "redis/scripts.hpp"
#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

std::size_t bytes_of(const Record& record, const MessageBody& body) {
  auto bytes = record.id().size() + body.bytes().value_or("").size();
  for (const auto& [name, value] : record.headers) bytes += name.size() + value.size();
  return bytes;
}

/// The XADDs of one flight. Views into the records, and texts made here, which stay where they are.
class Appends {
 public:
  Appends(RedisCommands& commands, const Flight& flight, const MessageForm& form)
      : commands_(commands),
        flight_(flight),
        form_(form),
        epoch_(std::to_string(flight.rows.front().epoch)) {}

  /// `trim`: MAXLEN and its words, so that a row which is refused trims nothing.
  void add(std::size_t row, const std::vector<std::string_view>& trim = {}) {
    commands_.add(words(row, trim));
  }

  /// The words of one XADD: as long as the next is not asked for.
  const std::vector<std::string_view>& words(std::size_t row,
                                             const std::vector<std::string_view>& trim = {}) {
    const auto& record = flight_.rows[row];
    made_.clear();
    entry_ = entry_of(record);
    words_.assign({"XADD", flight_.stream});
    words_.insert(words_.end(), trim.begin(), trim.end());
    words_.emplace_back(entry_);
    field("id", record.id());
    field("seriatim-process", record.process);
    field("seriatim-sequence", std::string_view(entry_).substr(0, entry_.size() - 2));
    field("seriatim-epoch", epoch_);
    if (record.late) field("seriatim-late", "true");
    if (record.event_type) field("event-type", *record.event_type);
    if (record.key) field("key", *record.key);
    if (form_.sends_content_type()) field("content-type", form_.content_type());
    for (auto& [name, value] : form_.attributes_of(record)) {
      field(made("ce_" + name), made(std::move(value)));
    }
    if (const auto bytes = flight_.bodies[row].bytes()) field("payload", *bytes);
    for (const auto& [name, value] : record.headers) field(made("header:" + name), value);
    return words_;
  }

 private:
  void field(std::string_view name, std::string_view value) {
    words_.push_back(name);
    words_.push_back(value);
  }
  std::string_view made(std::string word) { return made_.emplace_back(std::move(word)); }

  RedisCommands& commands_;
  const Flight& flight_;
  const MessageForm& form_;
  const std::string epoch_;
  std::string entry_;
  std::vector<std::string_view> words_;
  std::deque<std::string> made_;
};

}  // namespace

std::string entry_of(const Record& record) {
  return std::to_string(record.sequence) + "-0";
}

Flights::Flights(RedisHandlerConfig config)
    : config_(std::move(config)), stream_(config_.stream, Escaping::none), form_(config_.form) {}

std::string Flights::stream_of(const Record& record) const {
  TemplateValues values(record);
  auto stream = stream_.render(values);
  if (stream.empty()) throw CannotRender("the name of the stream is empty for this record");
  return stream;
}

Flight Flights::begin(const Record& first) const {
  Flight flight;
  flight.stream = stream_of(first);
  return flight;
}

bool Flights::add(Flight& flight, const Record& record) const {
  const bool first = flight.bodies.empty();
  if (flight.bodies.size() == rows_max) return false;
  if (!first && config_.stream_by_record && stream_of(record) != flight.stream) return false;
  auto body = form_.body_of(record);
  flight.bytes += bytes_of(record, body);
  if (!first && flight.bytes > bytes_max) return false;
  flight.bodies.push_back(std::move(body));
  return true;
}

void Flights::add_append(RedisCommands& commands, const Flight& flight) const {
  const auto& first = flight.rows.front();
  const auto& last = flight.rows.back();
  const auto maxlen = std::to_string(config_.maxlen);
  std::vector<std::string_view> trim;
  if (config_.maxlen > 0) trim = {"MAXLEN", maxlen};
  if (config_.maxlen > 0 && !config_.trim_exactly) trim.insert(trim.begin() + 1, "~");
  Appends appends(commands, flight, form_);
  if (flight.rows.size() == 1) return appends.add(0, trim);
  commands.add({"MULTI"});
  appends.add(0);
  commands.add({"EVAL", guard_script, "1", flight.stream, entry_of(first),
                std::to_string(last.sequence), first.id(), first.process,
                std::to_string(first.epoch)});
  for (std::size_t row = 1; row + 1 < flight.rows.size(); ++row) appends.add(row);
  appends.add(flight.rows.size() - 1, trim);
  commands.add({"EVAL", release_script, "1", flight.stream, entry_of(last)});
  commands.add({"EXEC"});
}

Rendering Flights::render(const Record& record) const {
  auto flight = begin(record);
  (void)add(flight, record);
  flight.rows = {&record, 1};
  RedisCommands none;
  Appends appends(none, flight, form_);
  const auto& words = appends.words(0);
  Rendering rendering{{{"stream", flight.stream}, {"entry", std::string(words[2])}}, {}, {}};
  for (std::size_t i = 3; i + 1 < words.size(); i += 2) {
    if (words[i] == "payload") {
      rendering.body = words[i + 1];
    } else {
      rendering.headers.emplace_back(words[i], words[i + 1]);
    }
  }
  return rendering;
}

void Flights::add_check(RedisCommands& commands, const Flight& flight) const {
  std::deque<std::string> numbers;
  std::vector<std::string_view> words{"EVAL", check_script, "1", flight.stream,
                                      flight.rows.front().process};
  for (const auto& record : flight.rows) {
    words.emplace_back(numbers.emplace_back(std::to_string(record.sequence)));
    words.emplace_back(record.id());
  }
  commands.add(words);
}

// Queued: MULTI, the first row, the guard, the other rows, the release. Done: the same but MULTI.
// An error names the row it was about, for the server answers in order.
Landing Flights::landing_of(const Flight& flight, std::span<const RedisReply> replies) {
  using Kind = RedisReply::Kind;
  const auto rows = flight.rows.size();
  const auto row_of = [&](std::size_t place) {
    return place < 3 ? 0 : std::min(place - 2, rows - 1);
  };
  Landing landing;
  const auto refused = [&](const RedisReply& reply, std::size_t row) {
    landing.refusal = reply.text;
    landing.refused_row = row;
    landing.known = true;
    return landing;
  };
  const auto queued = replies.first(std::min(replies.size(), rows == 1 ? 1 : rows + 3));
  for (std::size_t i = 0; i < queued.size(); ++i) {
    if (queued[i].kind == Kind::error) return refused(queued[i], row_of(i));
  }
  if (rows == 1) {
    landing.known = !queued.empty() && queued[0].kind == Kind::text;
    landing.appended = landing.known ? 1 : 0;
    return landing;
  }
  if (replies.size() < rows + 4) return landing;
  const auto& exec = replies[rows + 3];
  if (exec.kind == Kind::error) return refused(exec, 0);
  if (exec.kind != Kind::list || exec.items.size() != rows + 2) return landing;
  landing.guarded = exec.items[1].kind != Kind::error && exec.items.back().kind != Kind::error;
  for (std::size_t i = 0; i < rows; ++i, ++landing.appended) {
    const auto& reply = exec.items[i == 0 ? 0 : i + 1];
    if (reply.kind == Kind::error) return refused(reply, i);
  }
  landing.known = true;
  return landing;
}

}  // namespace seriatim::handlers
