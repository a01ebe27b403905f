#include "postgres/admin/reports/audit_report.hpp"

#include <algorithm>
#include <utility>

#include "postgres/reader/row_search.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/store/recount.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/reports.hpp"

namespace seriatim::postgres {

namespace {

constexpr unsigned buckets_at_once = 256;

Bound bound(const Position& position) {
  return {position.created_at_us, position.id};
}

/// Buckets shown together: sealed ones of a day, others of an hour.
bool shown_together(const BucketAudit& a, const BucketAudit& b) {
  constexpr std::int64_t hour_us = 3'600'000'000;
  const auto span = a.sealed ? 24 * hour_us : hour_us;
  return a.sealed == b.sealed && !b.open && a.to.created_at_us / span == b.to.created_at_us / span;
}

class LaneAuditor {
 public:
  LaneAuditor(Connection& connection, const Table& table, const LaneRow& lane, bool former)
      : connection_(connection),
        table_(table),
        lane_(lane.id),
        recount_(connection, table, lane.id) {
    audit_.lane = lane.id.lane;
    audit_.former = former;
    audit_.position = lane.cursor.position;
    audit_.sequence = lane.cursor.sequence;
  }

  LaneAudit run(bool every_bucket, const std::function<void(std::uint64_t)>& progress) try {
    read_beginning();
    std::int64_t last = -1;
    for (;;) {
      const auto page = recount_.buckets(last, buckets_at_once);
      for (const auto& counted : page) {
        last = counted.number;
        take(counted, every_bucket);
      }
      progress(audit_.rows);
      if (std::cmp_less(page.size(), buckets_at_once)) break;
    }
    if (!audit_.former) compare_with_cursor();
    return std::move(audit_);
  } catch (const SourceBroken& broken) {
    prove_nothing(broken);
  }

 private:
  /// A row that cannot be judged is not known to be the lane's, or to be no one's.
  [[noreturn]] void prove_nothing(const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw SourceBroken(broken);
    RowSearch search(connection_, table_, lane_);
    const auto unread = search.survey(end_of_last_).unread;
    throw Error(
        "lane " + std::to_string(lane_.lane) + ": " +
        (unread ? "row " + unread->id.value_or("?") : "a row") +
        " cannot be judged by `where` or `key`: " + (unread ? unread->error : broken.what()) +
        ", so nothing is proved: correct the row or the expression, then audit again");
  }

  Params params(std::initializer_list<std::optional<std::string>> more) const {
    Params all{lane_.process, std::to_string(lane_.lane)};
    all.insert(all.end(), more);
    return all;
  }

  void read_beginning() {
    if (audit_.former) {
      audit_.set_aside = 0;  // shown with the lanes there are
      return;
    }
    const auto row = connection_.run(sql::reports::audit_lane, params({}))[0];
    audit_.ledger_start = row["ledger_start"].as<std::uint64_t>();
    audit_.parked = row["parked"].as<std::uint64_t>();
    audit_.due = row["due"].as<std::uint64_t>();
    audit_.passed_over = row["passed_over"].as<std::uint64_t>();
    redriven_ = row["redriven"].as<std::uint64_t>();
    audit_.pruned = row["pruned"].as<std::uint64_t>();
    audit_.horizon = position_from(row, "horizon_us", "horizon_id");
    add_late(recount_.below_horizon(late_reported_max));
    audit_.ledger_from = end_of_last_ = position_from(row, "from_us", "from_id");
    if (!row["may_read_journal"].as<bool>()) return;
    audit_.set_aside =
        connection_.run(sql::reports::audit_set_aside, params({}))[0][0].as<std::uint64_t>();
  }

  void take(const BucketCount& counted, bool every_bucket) {
    BucketAudit bucket{counted};
    if (counted.refilled > 0) {
      mismatch(bucket,
               "has " + std::to_string(counted.refilled) +
                   " rows that were created after the newest one delivered there, the first "
                   "is row " +
                   counted.first_refilled +
                   ": its ids began again, and these rows were not delivered");
    } else if (!counted.fits()) {
      judge(bucket);
    }
    if (bucket.from != end_of_last_ && !begins_anew(bucket)) {
      mismatch(bucket, "does not begin where the one before it ends");
    }
    end_of_last_ = bucket.to;
    if (audit_.former) {
      audit_.position = bucket.to;
      audit_.sequence = static_cast<std::uint64_t>(bucket.number);
    }
    add(bucket, every_bucket);
  }

  [[nodiscard]] bool was_before_ledger_start(const BucketAudit& bucket) const {
    return !bucket.open && bucket.number <= static_cast<std::int64_t>(audit_.ledger_start);
  }

  /// The first of a lane that is gone, or after a time in which other lanes had its rows.
  [[nodiscard]] bool begins_anew(const BucketAudit& bucket) const {
    if (end_of_last_ == std::nullopt && audit_.former && audit_.bucket_count == 0) return true;
    if (!bucket.from) return false;
    return connection_
        .run(sql::reports::was_barrier,
             {lane_.process, std::to_string(bucket.lanes),
              timestamp_text(bucket.from->created_at_us), bucket.from->id})[0][0]
        .as<bool>();
  }

  void judge(BucketAudit& bucket) {
    if (bucket.sealed) return judge_sealed(bucket);
    NotedRange range;
    if (bucket.from) range.after = bound(*bucket.from);
    range.up_to = bound(bucket.to);
    range.first = range.last = bucket.open ? 0 : bucket.number;
    range.rows = bucket.rows;
    Recount of_its_lanes(connection_, table_, {lane_.process, lane_.lane, bucket.lanes});
    const auto [late, aside] = of_its_lanes.not_delivered(range, late_reported_max);
    const auto expected = bucket.rows + late.size() + aside;
    bucket.late = late.size();
    bucket.gone = expected - std::min(expected, bucket.rows_there);
    bucket.verdict = bucket.late > 0 ? BucketAudit::Verdict::late : BucketAudit::Verdict::complete;
    add_late(late);
  }

  void add_late(const std::vector<Position>& late) {
    audit_.late_rows += late.size();
    for (const auto& row : late) {
      if (audit_.late.size() < LaneAudit::named_max) audit_.late.push_back(row);
    }
  }

  /// Without ids fewer rows may be deleted ones, or deleted ones and late ones.
  void judge_sealed(BucketAudit& bucket) {
    if (bucket.rows_there < bucket.rows) {
      bucket.gone = bucket.rows - bucket.rows_there;
      bucket.verdict = BucketAudit::Verdict::thinned;
      audit_.thinned += 1;
      return;
    }
    mismatch(bucket, bucket.rows_there > bucket.rows
                         ? "has " + std::to_string(bucket.rows_there) +
                               " rows in the table now: more than were delivered and not pruned"
                         : std::string("has as many rows in the table now, but not the same"));
  }

  void mismatch(BucketAudit& bucket, const std::string& what) {
    bucket.verdict = BucketAudit::Verdict::mismatch;
    audit_.mismatches += 1;
    if (audit_.mismatch_texts.size() >= LaneAudit::named_max) return;
    audit_.mismatch_texts.push_back("the bucket of " + std::to_string(bucket.rows) +
                                    " rows up to " + timestamp_text(bucket.to.created_at_us) +
                                    " (row " + bucket.to.id + ") " + what);
  }

  void add(const BucketAudit& bucket, bool every_bucket) {
    audit_.rows += bucket.rows;
    (was_before_ledger_start(bucket) ? rows_before_ : rows_since_) += bucket.rows;
    audit_.bucket_count += 1;
    audit_.gone += bucket.gone;
    audit_.hash ^= bucket.hash;
    auto& shown = audit_.buckets;
    if (every_bucket || shown.empty() || !shown_together(shown.back(), bucket)) {
      shown.push_back(bucket);
      return;
    }
    auto& last = shown.back();
    last.number = bucket.number;
    last.to = bucket.to;
    last.rows += bucket.rows;
    last.rows_there += bucket.rows_there;
    last.late += bucket.late;
    last.gone += bucket.gone;
    last.hash ^= bucket.hash;
    last.buckets += 1;
    last.verdict = std::max(last.verdict, bucket.verdict);
  }

  void compare_with_cursor() {
    // Parked rows were counted when they were set aside, and have a second number since.
    const auto delivered = audit_.sequence - audit_.ledger_start - redriven_ - audit_.pruned;
    if (rows_before_ > 0) audit_.ledger_start = 0;  // the lane was there before, with a ledger
    if (rows_since_ == delivered) return;
    audit_.mismatches += 1;
    audit_.mismatch_texts.push_back("the cursor counts " + std::to_string(delivered) +
                                    " rows since the ledger began, the ledger " +
                                    std::to_string(rows_since_));
  }

  Connection& connection_;
  const Table& table_;
  LaneId lane_;
  Recount recount_;
  std::uint64_t rows_before_ = 0;  ///< of an earlier life of the lane
  std::uint64_t rows_since_ = 0;
  std::uint64_t redriven_ = 0;
  std::optional<Position> end_of_last_;
  LaneAudit audit_;
};

}  // namespace

std::vector<LaneAudit> audit_lanes(Connection& connection, const Target& target, bool every_bucket,
                                   const std::function<void(std::uint64_t)>& progress) {
  connection.begin(sql::reports::begin_audit);
  const auto table = resolve_table(connection, target.source);
  const auto lanes = read_lanes(connection, target.process.name);
  if (lanes.empty()) {
    throw Error("process \"" + target.process.name +
                "\" has no cursor in this database, so it never ran and there is nothing to audit");
  }
  refuse_retired(lanes);
  std::vector<LaneAudit> audits;
  for (const auto& lane : lanes) {
    audits.push_back(LaneAuditor(connection, table, lane, false).run(every_bucket, progress));
  }
  for (const auto& row :
       connection.run(sql::reports::lanes_gone,
                      {target.process.name, std::to_string(lanes.front().id.lanes)})) {
    LaneRow gone;
    gone.id = {target.process.name, row["lane"].as<unsigned>(), 0};
    audits.push_back(LaneAuditor(connection, table, gone, true).run(every_bucket, progress));
  }
  connection.rollback();
  return audits;
}

void note_audit(Connection& connection, const std::string& process,
                const std::vector<LaneAudit>& lanes, const std::string& who,
                const std::string& detail) {
  bool sound = true;
  std::uint64_t rows = 0;
  std::int64_t hash = 0;
  std::optional<Position> through;
  for (const auto& lane : lanes) {
    sound = sound && lane.sound();
    rows += lane.rows;
    hash ^= lane.hash;
    if (lane.former || !lane.position) continue;
    if (!through || lane.position->created_at_us < through->created_at_us) through = lane.position;
  }
  const auto at = through ? std::optional(timestamp_text(through->created_at_us)) : std::nullopt;
  const auto id = through ? std::optional(through->id) : std::nullopt;
  connection.run(sql::reports::note_audit,
                 {process, who, sound ? "true" : "false", std::to_string(rows),
                  std::to_string(hash), at, id, detail});
}

}  // namespace seriatim::postgres
