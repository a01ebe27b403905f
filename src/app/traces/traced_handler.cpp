#include "app/traces/traced_handler.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "app/text.hpp"
#include "support/header_text.hpp"

namespace seriatim::app {

namespace {

using std::chrono::duration;
using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr std::size_t links_max = 128;
constexpr std::size_t id_shown_max = 256;

bool is_broker(const std::string& kind) {
  constexpr std::array<std::string_view, 4> brokers{"kafka", "nats", "rabbitmq", "redis"};
  return std::find(brokers.begin(), brokers.end(), kind) != brokers.end();
}

SpanKind kind_of(const TracedProcess& process) {
  if (is_broker(process.handler_kind)) return SpanKind::producer;
  return process.handler_kind == "log" ? SpanKind::internal : SpanKind::client;
}

/// The header's place; `end` if there is none. Two of them are invalid.
template <class Headers>
auto find_traceparent(Headers& headers) {
  const auto is_it = [](const Header& header) {
    return handlers::same_header(header.first, "traceparent");
  };
  const auto found = std::find_if(headers.begin(), headers.end(), is_it);
  const bool twice =
      found != headers.end() && std::find_if(found + 1, headers.end(), is_it) != headers.end();
  return twice ? headers.end() : found;
}

std::optional<TraceParent> sampled_parent(const Record& record) {
  const auto header = find_traceparent(record.headers);
  if (header == record.headers.end()) return std::nullopt;
  auto parent = parse_traceparent(header->second);
  return parent && parent->sampled() ? parent : std::nullopt;
}

Record with_parent(const Record& record, std::string traceparent) {
  auto changed = record;
  find_traceparent(changed.headers)->second = std::move(traceparent);
  return changed;
}

/// The sampled traces of some rows. Rows of one transaction often share theirs.
void add_links(std::span<const Record> rows, CallSpan& span) {
  std::set<TraceParent> seen;
  for (const auto& row : rows) {
    const auto parent = sampled_parent(row);
    if (!parent || !seen.insert(*parent).second) continue;
    if (span.links.size() < links_max) {
      span.links.push_back(*parent);
    } else {
      ++span.links_dropped;
    }
  }
}

void describe(std::span<const Record> rows, const TracedProcess& process, CallSpan& span) {
  const auto& first = rows.front();
  const auto add = [&](std::string_view name, auto value) {
    span.attributes.push_back({name, std::move(value)});
  };
  const auto number = [](auto value) { return static_cast<std::int64_t>(value); };
  span.name = "deliver " + process.name;
  span.kind = kind_of(process);
  if (is_broker(process.handler_kind)) {
    add("messaging.system", process.handler_kind);
    add("messaging.operation.name", std::string("deliver"));
    add("messaging.operation.type", std::string("send"));
    if (rows.size() > 1) add("messaging.batch.message_count", number(rows.size()));
  }
  add("seriatim.process", process.name);
  add("seriatim.lane", number(first.lane));
  add("seriatim.row.id", printable(first.id(), id_shown_max));
  add("seriatim.sequence", number(first.sequence));
  add("seriatim.attempt", number(first.attempt));
  add("seriatim.epoch", number(first.epoch));
  if (rows.size() > 1) add("seriatim.rows", number(rows.size()));
  if (first.position.created_at_us == 0) return;  // in id order a source may name no time
  const auto created = std::chrono::microseconds(first.position.created_at_us);
  const duration<double> waited = span.start.time_since_epoch() - created;
  add("seriatim.waited_seconds", std::max(waited.count(), 0.0));
}

/// A call that is traced.
struct OpenSpan {
  CallSpan span;
  steady_clock::time_point began;
  std::optional<Record> record;  ///< what the handler gets instead of the call's only row
};

/// Absent if no row of the call belongs to a sampled trace.
std::optional<OpenSpan> open_span(std::span<const Record> rows, const TracedProcess& process) {
  const bool single = rows.size() == 1;
  const auto parent = single ? sampled_parent(rows.front()) : std::nullopt;
  OpenSpan open;
  if (single && !parent) return std::nullopt;
  if (!single || process.relation == SpanRelation::link) add_links(rows, open.span);
  if (!single && open.span.links.empty()) return std::nullopt;
  const bool child = single && process.relation == SpanRelation::child;
  open.span.self = {child ? parent->trace : random_trace_id(), random_span_id(),
                    TraceParent::sampled_flag};
  if (child) open.span.parent = parent->span;
  open.span.start = system_clock::now();
  describe(rows, process, open.span);
  if (single) open.record = with_parent(rows.front(), open.span.self.text());
  open.began = steady_clock::now();
  return open;
}

/// "yielded": rows are left that were not tried.
std::string outcome_of(const BatchOutcome& answer, std::size_t rows) {
  if (answer.next) return to_string(answer.next->kind);
  return answer.done < rows ? "yielded" : to_string(Outcome::Kind::done);
}

void close_span(OpenSpan open, const BatchOutcome& answer, std::size_t rows,
                SpanExporter& exporter) {
  auto& span = open.span;
  span.duration = steady_clock::now() - open.began;
  const auto outcome = outcome_of(answer, rows);
  span.attributes.push_back({"seriatim.outcome", outcome});
  if (rows > 1) {
    span.attributes.push_back({"seriatim.rows_done", static_cast<std::int64_t>(answer.done)});
  }
  span.failed = answer.next.has_value();
  if (span.failed) span.attributes.push_back({"error.type", outcome});
  exporter.offer(std::move(span));
}

class TracedHandler final : public Handler {
 public:
  TracedHandler(std::unique_ptr<Handler> handler, const TracedProcess& process,
                SpanExporter& exporter)
      : handler_(std::move(handler)),
        takes_single_rows_(dynamic_cast<const RecordHandler*>(handler_.get()) != nullptr),
        process_(process),
        exporter_(exporter) {}

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override {
    if (!takes_single_rows_) return call(batch, context);
    for (std::size_t i = 0; i < batch.size(); ++i) {  // as RecordHandler does
      if (i > 0 && context.should_yield()) return {i, std::nullopt};
      auto answer = call(batch.subspan(i, 1), context);
      if (answer.done == 0) return {i, std::move(answer.next)};
    }
    return {batch.size(), std::nullopt};
  }

  std::unique_ptr<CallThread> make_call_thread() override { return handler_->make_call_thread(); }

 private:
  BatchOutcome call(std::span<const Record> rows, const CallContext& context) {
    auto open = begin(rows);
    if (!open) return handler_->handle(rows, context);
    const auto given = open->record ? std::span<const Record>(&*open->record, 1) : rows;
    try {
      auto answer = handler_->handle(given, context);
      end(std::move(*open), answer, rows.size());
      return answer;
    } catch (...) {  // counts as retry_later
      end(std::move(*open), {0, Outcome::retry_later({})}, rows.size());
      throw;
    }
  }

  /// Tracing is never a reason not to deliver.
  std::optional<OpenSpan> begin(std::span<const Record> rows) noexcept try {
    return open_span(rows, process_);
  } catch (const std::exception&) {
    return std::nullopt;
  }

  void end(OpenSpan open, const BatchOutcome& answer, std::size_t rows) noexcept try {
    close_span(std::move(open), answer, rows, exporter_);
  } catch (const std::exception&) {  // out of memory: a span less
  }

  std::unique_ptr<Handler> handler_;
  bool takes_single_rows_;
  TracedProcess process_;
  SpanExporter& exporter_;
};

}  // namespace

HandlerFactory traced(HandlerFactory factory, TracedProcess process, SpanExporter& exporter) {
  return [factory = std::move(factory), process = std::move(process),
          &exporter](unsigned lane) -> std::unique_ptr<Handler> {
    return std::make_unique<TracedHandler>(factory(lane), process, exporter);
  };
}

Record shown_as_traced(const Record& record, SpanRelation relation) {
  const auto parent = sampled_parent(record);
  if (!parent) return record;
  const auto trace = relation == SpanRelation::child
                         ? "trace " + parent->text().substr(3, 2 * parent->trace.size())
                         : std::string("a trace of its own");
  return with_parent(record, "<the span of the call, in " + trace + ">");
}

}  // namespace seriatim::app
