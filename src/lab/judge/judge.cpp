#include "lab/judge/judge.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "lab/judge/rules.hpp"

namespace seriatim::lab {

namespace {

constexpr std::size_t shown_max = 10;

struct Rank {
  std::size_t place = 0;
  std::uint64_t body = 0;
  const std::optional<std::string>* key = nullptr;
};
using Ranks = std::unordered_map<std::int64_t, Rank>;

Ranks ranks_of(const std::vector<Row>& committed) {
  Ranks ranks;
  ranks.reserve(committed.size());
  for (std::size_t i = 0; i < committed.size(); ++i) {
    ranks.emplace(committed[i].id, Rank{i, committed[i].body, &committed[i].key});
  }
  return ranks;
}

std::string at_sequence(const Call& call) {
  return std::to_string(call.id) + " (sequence " + std::to_string(call.sequence) + ", epoch " +
         std::to_string(call.epoch) + ", attempt " + std::to_string(call.attempt) + ')';
}

using Calls = std::vector<Call>;

/// One lane's calls against the promises.
class LaneJudge {
 public:
  LaneJudge(const Evidence& evidence, const Ranks& ranks, unsigned lane, const Calls& calls,
            Verdict& verdict)
      : evidence_(evidence), ranks_(ranks), verdict_(verdict), lane_(lane), calls_(calls) {
    for (const auto& call : calls) calls_of_[call.id].push_back(&call);
    const auto claims = evidence.claims.find(lane);
    if (claims != evidence.claims.end()) claims_ = claims->second;
  }

  void judge() {
    judge_holders();
    judge_overlaps(
        calls_, [this](const Call& other, const Call& call) { return may_overlap(other, call); },
        [this](const Call& other, const Call& call) {
          verdict_.overlapping.push_back(at_sequence(call) + " during " + at_sequence(other));
        });
    for (const auto& call : calls_) {
      judge_overtaking(call);
      if (call.accepted) accept(call);
    }
    judge_bound();
    judge_ledger();
    judge_cursor();
  }

 private:
  void judge_holders() {
    for (const auto& call : calls_) {
      if (std::none_of(claims_.begin(), claims_.end(),
                       [&](const Claim& claim) { return claim.epoch == call.epoch; })) {
        verdict_.unclaimed_epochs.push_back(at_sequence(call));
      }
    }
    judge_claims(claims_, [this](const Claim& claim, const Claim& before) {
      verdict_.unclaimed_epochs.push_back(of_lane() + "epoch " + std::to_string(claim.epoch) +
                                          " given out after " + std::to_string(before.epoch));
    });
    judge_epochs(
        calls_, claims_, [this](const Call& call) { return may_come_late(call); },
        [this](const Call& call) { verdict_.stale_epochs.push_back(at_sequence(call)); });
  }

  /// A holder that was replaced may have one call in flight, which comes late.
  bool may_come_late(const Call& call) {
    const bool may = late_epochs_.insert(call.epoch).second && evidence_.zombies_allowed;
    verdict_.late_calls += may;
    return may;
  }

  /// A holder has one call in flight. It may give the call up and try the same row again.
  bool may_overlap(const Call& other, const Call& call) const {
    if (other.epoch != call.epoch && evidence_.zombies_allowed) return true;
    if (evidence_.strays_allowed && is_stray(call)) return true;
    const auto& tries = calls_of_.at(other.id);
    return std::any_of(tries.begin(), tries.end(), [&](const Call* again) {
      return again > &other && again <= &call && again->epoch == other.epoch &&
             again->attempt > other.attempt;
    });
  }

  bool is_stray(const Call& call) const {
    const auto& tries = calls_of_.at(call.id);
    return std::any_of(tries.begin(), tries.end(),
                       [&](const Call* before) { return before < &call && before->accepted; });
  }

  void judge_overtaking(const Call& call) {
    if (open_ && call.id != open_->id) {
      const auto mine = ranks_.find(call.id);
      const auto other = ranks_.find(open_->id);
      if (mine != ranks_.end() && other != ranks_.end() &&
          (mine->second.place > other->second.place || call.late)) {
        verdict_.overtaken.push_back(std::to_string(open_->id) + " by " + at_sequence(call));
      }
    }
    if (call.accepted) {
      if (open_ && open_->id == call.id) open_.reset();
    } else if (!first_.contains(call.id)) {
      open_ = call;
    }
  }

  void accept(const Call& call) {
    const auto [seen, is_first] = first_.try_emplace(call.id, call);
    if (!is_first) {
      repeated_ += 1;
      verdict_.repeated += 1;
      const bool same = seen->second.sequence == call.sequence && seen->second.body == call.body &&
                        seen->second.previous_id == call.previous_id;
      if (!same) verdict_.inconsistent.push_back(at_sequence(call));
      return;
    }
    verdict_.delivered += 1;
    judge_first(call);
    sequence_ = call.sequence;
    if (!call.late) at_ = call.id;
  }

  void judge_bound() {
    if (repeated_ <= evidence_.repeats_allowed) return;
    verdict_.repeated_beyond_bound.push_back(of_lane() + std::to_string(repeated_) +
                                             ", faults allow " +
                                             std::to_string(evidence_.repeats_allowed));
  }

  void judge_cursor() {
    const auto found = evidence_.cursors.find(lane_);
    const bool is_there = found != evidence_.cursors.end();
    const auto cursor = is_there ? found->second : FinalCursor{};
    if (!is_there || cursor.sequence != sequence_ || cursor.position_id != at_) {
      verdict_.cursor_wrong.push_back(of_lane() + "last delivered " + std::to_string(at_) +
                                      " as sequence " + std::to_string(sequence_) +
                                      ", the cursor names " + std::to_string(cursor.position_id) +
                                      " as " + std::to_string(cursor.sequence));
    }
    if (cursor.state == "halted") {
      verdict_.cursor_wrong.push_back(of_lane() + "halted: " + cursor.detail);
    }
  }

  void judge_ledger() {
    if (evidence_.ledger.empty()) return;
    std::set<std::int64_t> noted;
    const auto ids = evidence_.ledger.find(lane_);
    if (ids != evidence_.ledger.end()) {
      for (const auto id : ids->second) {
        const bool once = noted.insert(id).second;
        if (once && first_.contains(id)) continue;
        verdict_.ledger_wrong.push_back(std::to_string(id) +
                                        (once ? " noted, not delivered" : " noted twice"));
      }
    }
    for (const auto& [id, call] : first_) {
      if (!noted.contains(id)) verdict_.ledger_wrong.push_back(at_sequence(call) + " not noted");
    }
  }

  void judge_first(const Call& call) {
    const bool chained = call.previous_id == (at_ == 0 ? -1 : at_);
    if (call.sequence != sequence_ + 1 || !chained) {
      verdict_.sequence_holes.push_back(at_sequence(call) + " after " + std::to_string(sequence_));
    }
    const auto rank = ranks_.find(call.id);
    if (rank == ranks_.end()) {
      verdict_.phantoms.push_back(at_sequence(call));
      return;
    }
    if (rank->second.body != call.body) verdict_.altered.push_back(at_sequence(call));
    judge_place(call, rank->second.place);
  }

  /// A late row goes out as soon as it is found, wherever that is; but its place must be passed.
  void judge_place(const Call& call, std::size_t place) {
    if ((place < next_place_) != call.late) verdict_.reordered.push_back(at_sequence(call));
    if (!call.late) next_place_ = std::max(next_place_, place + 1);
  }

  std::string of_lane() const { return "lane " + std::to_string(lane_) + ": "; }

  const Evidence& evidence_;
  const Ranks& ranks_;
  Verdict& verdict_;
  const unsigned lane_;
  const Calls& calls_;
  std::unordered_map<std::int64_t, std::vector<const Call*>> calls_of_;
  std::vector<Claim> claims_;
  std::set<std::uint64_t> late_epochs_;
  std::unordered_map<std::int64_t, Call> first_;
  std::optional<Call> open_;  ///< called, not yet accepted
  std::uint64_t sequence_ = 0;
  std::int64_t at_ = 0;  ///< the last row that was not late: what the cursor names
  std::size_t next_place_ = 0;
  std::size_t repeated_ = 0;
};

/// A row belongs to one lane, and so do all rows of its key.
void judge_lanes(const Evidence& evidence, const Ranks& ranks, Verdict& verdict) {
  std::unordered_map<std::int64_t, unsigned> lane_of_row;
  std::map<std::optional<std::string>, unsigned> lane_of_key;
  for (const auto& call : evidence.calls) {
    const auto row = lane_of_row.emplace(call.id, call.lane).first;
    bool same = row->second == call.lane;
    const auto rank = ranks.find(call.id);
    if (evidence.one_lane_a_key && rank != ranks.end()) {
      same = same && lane_of_key.emplace(*rank->second.key, call.lane).first->second == call.lane;
    }
    if (!same) {
      verdict.inconsistent.push_back(at_sequence(call) + " in lane " + std::to_string(call.lane));
    }
  }
}

void judge_rest(const Evidence& evidence, Verdict& verdict) {
  std::set<std::int64_t> accepted;
  for (const auto& call : evidence.calls) {
    if (call.accepted) accepted.insert(call.id);
  }
  for (const auto& row : evidence.committed) {
    if (!accepted.contains(row.id)) verdict.lost.push_back(std::to_string(row.id));
  }
  for (const auto& [back, what] : evidence.odd_moves) {
    (back ? verdict.cursor_back : verdict.cursor_stolen).push_back(what);
  }
}

}  // namespace

Verdict judge(const Evidence& evidence) {
  Verdict verdict;
  verdict.committed = evidence.committed.size();
  const auto ranks = ranks_of(evidence.committed);
  std::map<unsigned, Calls> lanes;
  for (const auto& [lane, cursor] : evidence.cursors) lanes[lane];
  for (const auto& [lane, claims] : evidence.claims) lanes[lane];
  for (const auto& call : evidence.calls) lanes[call.lane].push_back(call);
  for (const auto& [lane, calls] : lanes) {
    LaneJudge(evidence, ranks, lane, calls, verdict).judge();
  }
  judge_lanes(evidence, ranks, verdict);
  judge_rest(evidence, verdict);
  return verdict;
}

std::vector<std::pair<std::string, const std::vector<std::string>*>> Verdict::kinds() const {
  return {{"lost", &lost},
          {"phantoms", &phantoms},
          {"altered", &altered},
          {"reordered", &reordered},
          {"inconsistent", &inconsistent},
          {"repeated_beyond_bound", &repeated_beyond_bound},
          {"overtaken", &overtaken},
          {"sequence_holes", &sequence_holes},
          {"overlapping", &overlapping},
          {"stale_epochs", &stale_epochs},
          {"unclaimed_epochs", &unclaimed_epochs},
          {"cursor_back", &cursor_back},
          {"cursor_stolen", &cursor_stolen},
          {"cursor_wrong", &cursor_wrong},
          {"ledger_wrong", &ledger_wrong}};
}

bool Verdict::clean() const {
  const auto all = kinds();
  return std::all_of(all.begin(), all.end(), [](const auto& kind) { return kind.second->empty(); });
}

std::string Verdict::violations() const {
  std::string text;
  for (const auto& [name, found] : kinds()) {
    if (found->empty()) continue;
    text += name + ' ' + std::to_string(found->size());
    for (std::size_t i = 0; i < found->size() && i < shown_max; ++i) {
      text += (i == 0 ? ": " : ", ") + (*found)[i];
    }
    text += found->size() > shown_max ? ", …\n" : "\n";
  }
  return text;
}

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  return hash;
}

}  // namespace seriatim::lab
