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

/// Rows that are promised to come in order: those of a lane, or those of a key.
struct Series {
  std::optional<Call> open;  ///< called, not yet accepted
  std::uint64_t sequence = 0;
  std::size_t next_place = 0;
};

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
    if (evidence_.by_key) judge_at_once();
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

  /// A holder that was replaced may have calls in flight, which come late.
  bool may_come_late(const Call& call) {
    const bool may =
        ++late_calls_of_[call.epoch] <= evidence_.in_flight && evidence_.zombies_allowed;
    verdict_.late_calls += may;
    if (may) late_.insert(&call);
    return may;
  }

  /// A holder has one call in flight, or one of each key. It may give the call up and try the same
  /// row again.
  bool may_overlap(const Call& other, const Call& call) const {
    if (evidence_.by_key && key_of(other) != key_of(call)) return true;
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

  /// A call whose row is called again may have been given up, so it is not counted.
  void judge_at_once() {
    Calls surely;
    for (const auto& call : calls_) {
      if (call.accepted && calls_of_.at(call.id).back() == &call) surely.push_back(call);
    }
    const auto most = judge_calls_at_once(
        surely, evidence_.in_flight, [](const Call& call) { return call.epoch; },
        [this](const Call& call, std::size_t at_once) {
          verdict_.too_many_at_once.push_back(at_sequence(call) + " is one of " +
                                              std::to_string(at_once));
        });
    verdict_.at_once = std::max(verdict_.at_once, most);
  }

  void judge_overtaking(const Call& call) {
    auto& open = series_of(call).open;
    if (open && call.id != open->id) {
      const auto mine = ranks_.find(call.id);
      const auto other = ranks_.find(open->id);
      if (mine != ranks_.end() && other != ranks_.end() &&
          (mine->second.place > other->second.place || (call.late && !evidence_.by_key))) {
        verdict_.overtaken.push_back(std::to_string(open->id) + " by " + at_sequence(call));
      }
    }
    if (call.accepted) {
      if (open && open->id == call.id) open.reset();
    } else if (!first_.contains(call.id)) {
      open = call;
    }
  }

  void accept(const Call& call) {
    const auto [seen, is_first] = first_.try_emplace(call.id, call);
    auto& series = series_of(call);
    if (is_first) {
      verdict_.delivered += 1;
      judge_first(call, series);
      series.sequence = call.sequence;
      if (!call.late) at_ = call.id;
    } else {
      judge_repeat(seen->second, call);
      if (evidence_.by_key) series.sequence = std::max(series.sequence, call.sequence);
    }
    sequence_ = evidence_.by_key ? std::max(sequence_, call.sequence) : series.sequence;
    accepted_under_[call.id] = call.epoch;
  }

  void judge_repeat(const Call& first, const Call& call) {
    repeated_ += 1;
    verdict_.repeated += 1;
    const bool same = first.sequence == call.sequence &&
                      (evidence_.by_key || first.previous_id == call.previous_id);
    const bool held = !same && was_held_between(first, call);
    if (!(same || held) || first.body != call.body) {
      verdict_.inconsistent.push_back(at_sequence(call));
    }
    const bool of_another = accepted_under_[call.id] != call.epoch;
    if (of_another && !held && !late_.contains(&call)) repeated_by_[call.epoch] += 1;
  }

  /// The later of the two came out of the rows set aside: its answer had been lost.
  bool was_held_between(const Call& first, const Call& call) const {
    const auto& later = call.epoch < first.epoch ? first : call;
    return evidence_.holds_keys && later.late &&
           later.sequence == std::max(first.sequence, call.sequence);
  }

  /// All that faults explain; and with order by key, what one holder may not know of those before.
  void judge_bound() {
    const auto breach = [this](std::size_t repeated, const std::string& allowed) {
      verdict_.repeated_beyond_bound.push_back(of_lane() + std::to_string(repeated) + allowed);
    };
    if (repeated_ > evidence_.repeats_allowed) {
      breach(repeated_, ", faults allow " + std::to_string(evidence_.repeats_allowed));
    }
    if (!evidence_.by_key) return;
    const auto allowed = evidence_.repeats_a_fault();
    for (const auto& [epoch, repeated] : repeated_by_) {
      verdict_.repeated_by_one = std::max(verdict_.repeated_by_one, repeated);
      if (repeated <= allowed) continue;
      breach(repeated, " by the holder of epoch " + std::to_string(epoch) + ", allowed are " +
                           std::to_string(allowed));
    }
  }

  /// With order by key it is at the last row of the lane, whichever was delivered last. Numbers
  /// above the last that was taken may have been used up.
  bool is_at_the_end(const FinalCursor& cursor) const {
    if (!evidence_.by_key) return cursor.sequence == sequence_ && cursor.position_id == at_;
    return cursor.sequence >= sequence_ && cursor.position_id == furthest_;
  }

  void judge_cursor() {
    const auto found = evidence_.cursors.find(lane_);
    const bool is_there = found != evidence_.cursors.end();
    const auto cursor = is_there ? found->second : FinalCursor{};
    if (!is_there || !is_at_the_end(cursor)) {
      verdict_.cursor_wrong.push_back(
          of_lane() + "last delivered " + std::to_string(evidence_.by_key ? furthest_ : at_) +
          " as sequence " + std::to_string(sequence_) + ", the cursor names " +
          std::to_string(cursor.position_id) + " as " + std::to_string(cursor.sequence));
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

  void judge_first(const Call& call, Series& series) {
    const bool chained = call.previous_id == (at_ == 0 ? -1 : at_);
    const bool in_line = evidence_.by_key ? call.sequence > series.sequence
                                          : call.sequence == series.sequence + 1 && chained;
    if (!in_line) {
      verdict_.sequence_holes.push_back(at_sequence(call) + " after " +
                                        std::to_string(series.sequence));
    }
    const auto rank = ranks_.find(call.id);
    if (rank == ranks_.end()) {
      verdict_.phantoms.push_back(at_sequence(call));
      return;
    }
    if (rank->second.body != call.body) verdict_.altered.push_back(at_sequence(call));
    judge_place(call, series, rank->second.place);
  }

  /// A late row goes out as soon as it is found, wherever that is; but its place must be passed. A
  /// row that was held is late, too, and has its place within its key.
  void judge_place(const Call& call, Series& series, std::size_t place) {
    const bool behind = place < series.next_place;
    const bool in_place =
        evidence_.by_key ? !behind && (!call.late || evidence_.holds_keys) : behind == call.late;
    if (!in_place) verdict_.reordered.push_back(at_sequence(call));
    if (evidence_.by_key || !call.late) series.next_place = std::max(series.next_place, place + 1);
    if (place < places_) return;
    places_ = place + 1;
    furthest_ = call.id;
  }

  /// Rows without a key are of one key. A row that is not committed has an order of its own.
  std::string key_of(const Call& call) const {
    const auto rank = ranks_.find(call.id);
    if (rank == ranks_.end()) return "row " + std::to_string(call.id);
    return *rank->second.key ? "key " + **rank->second.key : "";
  }

  Series& series_of(const Call& call) { return all_series_[evidence_.by_key ? key_of(call) : ""]; }

  std::string of_lane() const { return "lane " + std::to_string(lane_) + ": "; }

  const Evidence& evidence_;
  const Ranks& ranks_;
  Verdict& verdict_;
  const unsigned lane_;
  const Calls& calls_;
  std::unordered_map<std::int64_t, std::vector<const Call*>> calls_of_;
  std::vector<Claim> claims_;
  std::map<std::uint64_t, std::size_t> late_calls_of_;  ///< by epoch
  std::set<const Call*> late_;                          ///< those that are excused
  std::unordered_map<std::int64_t, Call> first_;
  std::unordered_map<std::int64_t, std::uint64_t> accepted_under_;  ///< the last epoch
  std::map<std::uint64_t, std::size_t> repeated_by_;                ///< by epoch
  std::unordered_map<std::string, Series> all_series_;
  std::uint64_t sequence_ = 0;
  std::int64_t at_ = 0;        ///< the last row that was not late: what the cursor names
  std::int64_t furthest_ = 0;  ///< the last row in the declared order
  std::size_t places_ = 0;     ///< up to that one
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

/// What a run never came to, it did not try.
void judge_trial(const Evidence& evidence, Verdict& verdict) {
  verdict.keys_held = evidence.keys_held;
  if (evidence.holds_keys && evidence.keys_held == 0) {
    verdict.untried.emplace_back("no key was ever held");
  }
  if (evidence.in_flight > 1 && verdict.at_once <= 1) {
    verdict.untried.emplace_back("never more than one call was in flight");
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
  judge_trial(evidence, verdict);
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
          {"too_many_at_once", &too_many_at_once},
          {"stale_epochs", &stale_epochs},
          {"unclaimed_epochs", &unclaimed_epochs},
          {"cursor_back", &cursor_back},
          {"cursor_stolen", &cursor_stolen},
          {"cursor_wrong", &cursor_wrong},
          {"ledger_wrong", &ledger_wrong},
          {"untried", &untried}};
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
