#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "app/json_parts.hpp"
#include "app/reports.hpp"
#include "app/row_story.hpp"
#include "app/stall.hpp"
#include "app/text.hpp"

namespace seriatim::app {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

std::string line(const object& report) {
  return boost::json::serialize(report) + '\n';
}

value text_or_null(const std::optional<std::string>& text) {
  return text ? value(valid_utf8(*text)) : value(nullptr);
}

object to_json(const Blocker& blocker) {
  return {{"pid", blocker.pid},
          {"gid", valid_utf8(blocker.gid)},
          {"application", valid_utf8(blocker.application)},
          {"user", valid_utf8(blocker.user)},
          {"state", blocker.state},
          {"age_ms", blocker.age.count()},
          {"statement_age_ms", blocker.statement_age.count()},
          {"ours", blocker.ours}};
}

array to_json(const std::vector<Blocker>& blockers) {
  array result;
  for (const auto& blocker : blockers) result.push_back(to_json(blocker));
  return result;
}

array to_json(const std::vector<std::string>& texts) {
  array result;
  for (const auto& text : texts) result.emplace_back(valid_utf8(text));
  return result;
}

value to_json(const std::optional<postgres::LaneWait>& wait) {
  if (!wait) return nullptr;
  return object{{"cause", to_string(wait->cause)},
                {"lasted_ms", wait->lasted.count()},
                {"text", valid_utf8(wait->text)},
                {"remedy", valid_utf8(wait->remedy)},
                {"blockers", to_json(wait->blockers)}};
}

object to_json(const LaneStatus& lane) {
  object result{{"process", lane.process},
                {"lane", lane.lane},
                {"state", to_string(lane.state)},
                {"position", nullptr},
                {"sequence", lane.sequence},
                {"epoch", lane.epoch},
                {"attempts", lane.attempts},
                {"reason", lane.reason ? value(to_string(*lane.reason)) : value(nullptr)},
                {"row", text_or_null(lane.row_id)},
                {"detail", valid_utf8(lane.detail)},
                {"retry_in_ms", lane.retry_in.count()},
                {"fenced_for_ms", lane.fenced_for.count()}};
  if (lane.position) {
    result["position"] = object{{"id", valid_utf8(lane.position->id)},
                                {"created_at", rfc3339(lane.position->created_at_us)}};
  }
  result["blockers"] = to_json(lane.blockers);
  return result;
}

value to_json(const std::optional<postgres::LaneReport::Barrier>& barrier) {
  if (!barrier) return nullptr;
  const auto known = [](const std::string& text) {
    return text.empty() ? value(nullptr) : value(valid_utf8(text));
  };
  return object{{"row", valid_utf8(barrier->position.id)},
                {"reached", barrier->reached},
                {"since", known(barrier->since)},
                {"who", known(barrier->who)}};
}

object to_json(const postgres::ParkedCount& count) {
  return {{"rows", count.rows},
          {"heads", count.heads},
          {"redriven", count.redriven},
          {"since", count.since.empty() ? value(nullptr) : value(count.since)},
          {"held_keys", count.held_keys},
          {"held_rows", count.held_rows},
          {"held_since", count.held_since.empty() ? value(nullptr) : value(count.held_since)}};
}

template <class Number>
value number_or_null(const std::optional<Number>& number) {
  return number ? value(*number) : value(nullptr);
}

value to_json(const std::optional<postgres::UnreadRow>& unread, const LaneStatus* lane) {
  if (!unread) return nullptr;
  return object{{"row", text_or_null(unread->id)},
                {"text", valid_utf8(unread->error)},
                {"reason", to_string(unread->reason)},
                {"rows_before", number_or_null(unread->rows_before)},
                {"answer", valid_utf8(unread_text(*unread, lane))}};
}

object to_json(const postgres::LaneReport& report) {
  auto lane = to_json(report.lane);
  lane["lag_records"] = number_or_null(report.lag_records);
  lane["lag_more"] = report.lag_more;
  lane["in_flight"] = report.lane.in_flight;
  lane["done_ahead"] = report.done_ahead;
  lane["late_records"] = number_or_null(report.late_records);
  lane["lag_ms"] = report.lag_age ? value(report.lag_age->count()) : value(nullptr);
  lane["error"] = to_json(report.unread, &report.lane);
  lane["not_read"] = report.not_read.empty() ? value(nullptr) : value(valid_utf8(report.not_read));
  lane["wait"] = to_json(report.wait);
  lane["next"] = text_or_null(report.next_id);
  const auto stall = stall_of(report);
  lane["stall"] = stall ? value(to_string(*stall)) : value(nullptr);
  lane["called_for_ms"] = report.called_for ? value(report.called_for->count()) : value(nullptr);
  lane["holder"] = report.holder.empty() ? value(nullptr) : value(valid_utf8(report.holder));
  lane["holder_alive"] = report.holder_alive;
  lane["barrier"] = to_json(report.barrier);
  lane["parked"] = to_json(report.parked);
  lane["updated_at"] = report.updated_at;
  lane["long_transaction"] =
      report.long_transaction ? value(to_json(*report.long_transaction)) : value(nullptr);
  lane["notes"] = to_json(notes_of(report));
  lane["audit_age_ms"] = report.audit_age ? value(report.audit_age->count()) : value(nullptr);
  return lane;
}

object to_json(const postgres::LaneReport& report, const postgres::InstanceReport& instance) {
  return {{"process", report.lane.process},
          {"holder", valid_utf8(instance.holder)},
          {"lanes", instance.lanes},
          {"held", instance.held},
          {"seen_ms", instance.seen.count()}};
}

const char* to_string(postgres::Finding::Severity severity) {
  switch (severity) {
    case postgres::Finding::Severity::ok: return "ok";
    case postgres::Finding::Severity::warning: return "warning";
    case postgres::Finding::Severity::refusal: return "refusal";
  }
  return "?";
}

}  // namespace

std::string plan_json(const std::vector<postgres::PlannedChange>& plan) {
  array changes;
  for (const auto& change : plan) {
    changes.push_back(object{
        {"process", valid_utf8(change.process)},
        {"change", to_string(change.kind)},
        {"what", valid_utf8(change.what)},
        {"command", change.command.empty() ? value(nullptr) : value(valid_utf8(change.command))}});
  }
  return line({{"plan", std::move(changes)}});
}

std::string lane_json(const postgres::LaneReport& lane) {
  return boost::json::serialize(to_json(lane));
}

object lanes_object(const LaneReports& lanes) {
  array list, instances;
  bool hidden = false;
  for (const auto& report : lanes) {
    list.push_back(to_json(report));
    hidden = hidden || report.instances_hidden;
    if (report.lane.lane > 0) continue;
    for (const auto& one : report.instances) instances.push_back(to_json(report, one));
  }
  return {{"lanes", std::move(list)},
          {"instances", hidden ? value(nullptr) : value(std::move(instances))}};
}

std::string lanes_json(const LaneReports& lanes) {
  return line(lanes_object(lanes));
}

object parked_object(const postgres::ParkedCount& count) {
  return to_json(count);
}

std::string lanes_json(const std::vector<LaneStatus>& lanes) {
  array list;
  for (const auto& lane : lanes) list.push_back(to_json(lane));
  return line({{"lanes", std::move(list)}});
}

std::string findings_json(const std::vector<std::pair<std::string, Findings>>& all) {
  array processes;
  for (const auto& [process, findings] : all) {
    array list;
    for (const auto& finding : findings) {
      list.push_back(object{{"severity", to_string(finding.severity)},
                            {"what", valid_utf8(finding.what)},
                            {"remedy", valid_utf8(finding.remedy)},
                            {"mend", valid_utf8(finding.remedy)}});
    }
    processes.push_back(object{{"process", process}, {"findings", std::move(list)}});
  }
  return line({{"processes", std::move(processes)}});
}

std::string rows_json(const postgres::Peeked& peeked, bool payload, const PayloadMask& mask) {
  array list;
  for (const auto& [record, settled, queues] : peeked.rows) {
    object row{{"id", valid_utf8(record.id())},
               {"created_at", rfc3339(record.position.created_at_us)},
               {"settled", settled},
               {"late", record.late},
               {"queues", queues},
               {"key", text_or_null(record.key)},
               {"type", text_or_null(record.event_type)},
               {"payload_bytes", record.payload ? value(record.payload->size()) : value(nullptr)}};
    if (payload) row["payload"] = text_or_null(record.payload);
    if (mask) {
      row["payload_masked"] = record.payload ? text_or_null(mask(*record.payload)) : value(nullptr);
    }
    list.push_back(std::move(row));
  }
  return line({{"rows", std::move(list)}, {"error", to_json(peeked.unread, nullptr)}});
}

namespace {

value to_json(const std::optional<Rendering>& request) {
  if (!request) return nullptr;
  object envelope;
  for (const auto& [name, text] : request->envelope) envelope[name] = valid_utf8(text);
  array headers;
  for (const auto& [name, text] : request->headers) {
    headers.push_back(object{{"name", valid_utf8(name)}, {"value", valid_utf8(text)}});
  }
  return object{{"envelope", std::move(envelope)},
                {"headers", std::move(headers)},
                {"body", text_or_null(request->body)}};
}

}  // namespace

std::string preview_json(const Preview& preview) {
  array list;
  for (const auto& previewed : preview.rows) {
    const auto& [record, settled, queues] = previewed.row;
    object row{{"id", valid_utf8(record.id())},
               {"created_at", rfc3339(record.position.created_at_us)},
               {"settled", settled},
               {"late", record.late},
               {"queues", queues},
               {"request", to_json(previewed.request)},
               {"problem", nullptr}};
    if (!previewed.problem.empty()) {
      row["problem"] = valid_utf8(unrendered_text(previewed, preview.on_poison));
    }
    if (!queues) {
      row["sequence"] = record.sequence;
      row["epoch"] = record.epoch;
      row["attempt"] = record.attempt;
    }
    list.push_back(std::move(row));
  }
  return line({{"rows", std::move(list)}, {"error", to_json(preview.unread, nullptr)}});
}

std::string row_json(const RowReport& row, const std::optional<std::string>* masked) {
  const auto story = story_of(row);
  object result{{"process", row.process},
                {"id", valid_utf8(row.id)},
                {"state", to_string(row.state)},
                {"answer", valid_utf8(story.answer)},
                {"next_steps", to_json(story.next_steps)},
                {"in_table", row.in_table},
                {"created_at", row.created_at_us ? value(rfc3339(*row.created_at_us)) : nullptr},
                {"key", text_or_null(row.key)},
                {"rows_before", number_or_null(row.rows_before)},
                {"sequence", row.sequence ? value(*row.sequence) : nullptr},
                {"lane", row.lane ? value(to_json(*row.lane)) : nullptr}};
  object evidence;
  for (const auto& [name, fact] : story.evidence) evidence[name] = valid_utf8(fact);
  result["evidence"] = std::move(evidence);
  array writers;
  for (const auto& writer : row.writers) writers.push_back(to_json(writer));
  result["writers"] = std::move(writers);
  if (masked) result["payload_masked"] = text_or_null(*masked);
  return line(result);
}

std::string init_json(const std::vector<std::string>& applied, int version,
                      const std::vector<std::string>& partitions) {
  object report{{"applied", to_json(applied)}, {"schema_version", version}};
  if (!partitions.empty()) report["partitions"] = to_json(partitions);
  return line(report);
}

std::string act_json(const std::string& process, const postgres::ActResult& done) {
  return line({{"process", process}, {"done", to_json(done)}});
}

std::string parked_json(const std::string& process, const std::vector<postgres::ParkedRow>& rows,
                        const postgres::ParkedCount& count,
                        const std::optional<std::string>& next) {
  array list;
  for (const auto& row : rows) {
    list.push_back(
        object{{"id", valid_utf8(row.position.id)},
               {"key", text_or_null(row.key)},
               {"created_at", rfc3339(row.position.created_at_us)},
               {"holds_key", row.holds_key},
               {"head", row.head},
               {"attempts", row.attempts},
               {"detail", valid_utf8(row.detail)},
               {"parked_at", row.parked_at},
               {"redriven", row.redriven},
               {"retry_at", row.retry_at.empty() ? value(nullptr) : value(row.retry_at)}});
  }
  return line({{"process", process},
               {"parked", to_json(count)},
               {"rows", std::move(list)},
               {"next", text_or_null(next)}});
}

std::string parked_plan_json(const std::string& process, std::uint64_t rows,
                             const std::string& plan) {
  return line({{"process", process}, {"count", rows}, {"plan", plan}});
}

array steps_json(const std::vector<postgres::RewindStep>& steps) {
  const auto row = [](const std::optional<Position>& position) {
    return position ? value(valid_utf8(position->id)) : value(nullptr);
  };
  array lanes;
  for (const auto& step : steps) {
    lanes.push_back(object{{"lane", step.lane},
                           {"from", row(step.from)},
                           {"to", row(step.to)},
                           {"forward", step.forward},
                           {"rows", step.rows},
                           {"pruned", step.pruned},
                           {"newer", step.newer},
                           {"sequence_from", step.sequence_from},
                           {"sequence_to", step.sequence_to}});
  }
  return lanes;
}

std::string rewind_json(const std::string& process, const std::vector<postgres::RewindStep>& steps,
                        bool done, const std::string& plan) {
  object report{{"process", process}, {"done", done}, {"lanes", steps_json(steps)}};
  if (!done) report["plan"] = plan;
  return line(report);
}

std::string append_json(const std::string& id) {
  return line({{"id", id}});
}

std::string version_json(const std::string& version) {
  return line({{"version", version}});
}

}  // namespace seriatim::app
