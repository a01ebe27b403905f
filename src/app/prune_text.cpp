// What `seriatim prune` reports.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "app/reports.hpp"
#include "app/text.hpp"

namespace seriatim::app {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using postgres::PruneReport;

std::string rows(std::uint64_t n) {
  return std::to_string(n) + (n == 1 ? " row" : " rows");
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

std::string kept(const PruneReport& table) {
  std::string text;
  const auto line = [&](std::uint64_t n, const std::string& why) {
    if (n > 0) text += "  kept: " + rows(n) + ' ' + why + '\n';
  };
  line(table.set_aside, "parked, or in a batch that was started");
  line(table.filtered, "that no process delivers (where, ignore): --filtered deletes them");
  line(table.changed, "in use or changed meanwhile: the next prune checks them again");
  line(table.unproven, "in buckets that do not fit the table");
  line(table.late, "behind a cursor that were neither delivered nor set aside");
  if (table.late > 0) {
    text +=
        "        " + listed(table.late_ids) + (table.late > table.late_ids.size() ? " …\n" : "\n");
  }
  for (const auto& problem : table.problems) text += "  mismatch: " + printable(problem) + '\n';
  if (table.held_by) {
    text += "  held: older rows wait for " + printable(*table.held_by) + '\n';
  }
  for (const auto& note : table.notes) text += "  note: " + printable(note) + '\n';
  return text;
}

array strings(const std::vector<std::string>& all) {
  array list;
  for (const auto& one : all) list.emplace_back(valid_utf8(one));
  return list;
}

object to_json(const PruneReport& table) {
  return {{"table", valid_utf8(table.table)},
          {"processes", strings(table.readers)},
          {"older_than", rfc3339(table.older_than_us)},
          {"rows", table.rows},
          {"partitions", strings(table.partitions)},
          {"created", strings(table.created)},
          {"batches", table.batches},
          {"longest_batch_us", table.longest_us},
          {"kept", object{{"set_aside", table.set_aside},
                          {"filtered", table.filtered},
                          {"changed", table.changed},
                          {"unproven", table.unproven},
                          {"late", table.late}}},
          {"late", strings(table.late_ids)},
          {"problems", strings(table.problems)},
          {"held_by", table.held_by ? value(valid_utf8(*table.held_by)) : value(nullptr)},
          {"notes", strings(table.notes)},
          {"interrupted", table.interrupted},
          {"sound", table.sound()}};
}

}  // namespace

std::string prune_text(const std::vector<PruneReport>& tables, bool dry_run) {
  std::string text;
  for (const auto& table : tables) {
    text += table.table + ": " + rows(table.rows) + (dry_run ? " would be deleted" : " deleted") +
            ", of those created before " + rfc3339(table.older_than_us);
    if (table.batches > 0) {
      text += ", in " + std::to_string(table.batches) +
              (table.batches == 1 ? " batch" : " batches") + ", the longest of " +
              std::to_string((table.longest_us + 999) / 1'000) + " ms";
    }
    text += table.interrupted ? "; ended early\n" : "\n";
    if (!table.partitions.empty()) {
      text += "  of these, as whole partitions: " + listed(table.partitions) + '\n';
    }
    if (!table.created.empty()) text += "  created: " + listed(table.created) + '\n';
    text += kept(table);
  }
  return text;
}

std::string prune_json(const std::vector<PruneReport>& tables, bool dry_run) {
  array list;
  for (const auto& table : tables) list.push_back(to_json(table));
  return boost::json::serialize(object{{"dry_run", dry_run}, {"tables", std::move(list)}}) + '\n';
}

}  // namespace seriatim::app
