#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>

#include "app/output.hpp"
#include "app/reports.hpp"
#include "app/text.hpp"

namespace seriatim::app {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using postgres::BucketAudit;
using postgres::LaneAudit;

const char* to_string(BucketAudit::Verdict verdict) {
  switch (verdict) {
    case BucketAudit::Verdict::complete: return "complete";
    case BucketAudit::Verdict::thinned: return "thinned";
    case BucketAudit::Verdict::late: return "late rows";
    case BucketAudit::Verdict::mismatch: return "mismatch";
  }
  return "?";
}

std::string hex(std::int64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string count(std::uint64_t n, const std::string& noun) {
  return std::to_string(n) + ' ' + noun + (n == 1 ? "" : "s");
}

std::string place(const Position& position) {
  return rfc3339(position.created_at_us) + " (row " + printable(position.id, id_bytes_max) + ')';
}

std::string ids(const std::vector<Position>& rows, std::uint64_t all) {
  std::string text;
  for (const auto& row : rows) {
    text += (text.empty() ? "" : ", ") + printable(row.id, id_bytes_max);
  }
  return all > rows.size() ? text + " …" : text;
}

/// The proof in a sentence, or what contradicts it.
std::string sentence(const LaneAudit& lane) {
  const auto name = "lane " + std::to_string(lane.lane) +
                    (lane.former ? ", until the lanes were cut anew: " : ": ");
  if (!lane.position) return name + "nothing was delivered yet\n";
  const auto where = rfc3339(lane.position->created_at_us) + " (row " +
                     printable(lane.position->id, id_bytes_max) + ", sequence " +
                     std::to_string(lane.sequence) + "): ";
  std::string text = name;
  text += lane.sound() ? "complete and in order up to " : "NOT complete up to ";
  text += where + count(lane.rows, "row") + " in " + count(lane.bucket_count, "bucket") +
          ", hash " + hex(lane.hash) + "; " + count(lane.gone, "row") + " deleted since";
  if (lane.pruned > 0) text += "; " + count(lane.pruned, "row") + " pruned";
  if (lane.set_aside.value_or(0) > 0) {
    text += "; " + std::to_string(*lane.set_aside) + " of them set aside by operators";
  }
  if (lane.passed_over > 0) {
    text += "; " + count(lane.passed_over, "row") + " passed over by acts, not delivered";
  }
  if (lane.parked > 0) text += "; " + count(lane.parked, "row") + " parked";
  if (lane.due > 0) text += "; " + count(lane.due, "row") + " still to go out late";
  return text + '\n';
}

std::string remarks(const LaneAudit& lane) {
  std::string text;
  const auto remark = [&](const std::string& what) { text += "  " + what + '\n'; };
  if (lane.late_rows > 0) {
    remark(count(lane.late_rows, "row") +
           " neither delivered nor set aside: " + ids(lane.late, lane.late_rows));
  }
  for (const auto& what : lane.mismatch_texts) remark("mismatch: " + printable(what));
  if (lane.mismatches > lane.mismatch_texts.size()) {
    remark("… " + std::to_string(lane.mismatches) + " mismatches in all");
  }
  if (lane.thinned > 0) {
    remark(count(lane.thinned, "sealed bucket") +
           " thinned: there are fewer rows than were delivered, which proves no more than that");
  }
  if (lane.horizon) {
    remark("begins after " + place(*lane.horizon) + ": up to there no row was left by prune");
  }
  if (lane.ledger_start > 0) {
    const auto upto =
        lane.ledger_from && !lane.horizon ? " (up to " + place(*lane.ledger_from) + ')' : "";
    remark(count(lane.ledger_start, "row") + upto + " delivered before there was a ledger");
  }
  if (!lane.set_aside)
    remark("rows set aside are not counted apart: this role may not read the journal");
  return text;
}

object to_json(const Position& position) {
  return {{"id", valid_utf8(position.id)}, {"created_at", rfc3339(position.created_at_us)}};
}

object to_json(const BucketAudit& bucket) {
  return {{"from", bucket.from ? value(to_json(*bucket.from)) : value(nullptr)},
          {"to", to_json(bucket.to)},
          {"buckets", bucket.buckets},
          {"sealed", bucket.sealed},
          {"open", bucket.open},
          {"rows", bucket.rows},
          {"rows_now", bucket.rows_there},
          {"deleted", bucket.gone},
          {"late", bucket.late},
          {"hash", hex(bucket.hash)},
          {"verdict", to_string(bucket.verdict)}};
}

object to_json(const LaneAudit& lane) {
  array buckets;
  for (const auto& bucket : lane.buckets) buckets.push_back(to_json(bucket));
  array late;
  for (const auto& row : lane.late) late.push_back(to_json(row));
  array mismatches;
  for (const auto& what : lane.mismatch_texts) mismatches.emplace_back(valid_utf8(what));
  return {{"lane", lane.lane},
          {"former", lane.former},
          {"sound", lane.sound()},
          {"up_to", lane.position ? value(to_json(*lane.position)) : value(nullptr)},
          {"sequence", lane.sequence},
          {"rows", lane.rows},
          {"bucket_count", lane.bucket_count},
          {"hash", hex(lane.hash)},
          {"pruned", lane.pruned},
          {"horizon", lane.horizon ? value(to_json(*lane.horizon)) : value(nullptr)},
          {"deleted", lane.gone},
          {"set_aside", lane.set_aside ? value(*lane.set_aside) : value(nullptr)},
          {"passed_over", lane.passed_over},
          {"parked", lane.parked},
          {"due", lane.due},
          {"rows_before_ledger", lane.ledger_start},
          {"thinned_buckets", lane.thinned},
          {"late_rows", lane.late_rows},
          {"late", std::move(late)},
          {"mismatch_count", lane.mismatches},
          {"mismatches", std::move(mismatches)},
          {"buckets", std::move(buckets)}};
}

}  // namespace

std::string audit_finding(const std::vector<LaneAudit>& lanes) {
  std::string text;
  for (const auto& lane : lanes) text += sentence(lane) + remarks(lane);
  return text;
}

std::string audit_text(const std::vector<LaneAudit>& lanes, bool terminal) {
  Table table({"LANE", "UP TO", "BUCKETS", "DELIVERED", "NOW", "DELETED", "HASH", "VERDICT"});
  bool any = false;
  for (const auto& lane : lanes) {
    for (const auto& bucket : lane.buckets) {
      any = true;
      table.row({std::to_string(lane.lane), place(bucket.to),
                 std::to_string(bucket.buckets) + (bucket.sealed ? " sealed"
                                                   : bucket.open ? " open"
                                                                 : ""),
                 std::to_string(bucket.rows), std::to_string(bucket.rows_there),
                 std::to_string(bucket.gone), hex(bucket.hash), to_string(bucket.verdict)});
    }
  }
  return (any ? table.text(terminal) : "") + audit_finding(lanes);
}

std::string audit_json(const std::string& process, const std::vector<LaneAudit>& lanes) {
  array list;
  bool sound = true;
  for (const auto& lane : lanes) {
    sound = sound && lane.sound();
    list.push_back(to_json(lane));
  }
  return boost::json::serialize(
             object{{"process", process}, {"sound", sound}, {"lanes", std::move(list)}}) +
         '\n';
}

}  // namespace seriatim::app
