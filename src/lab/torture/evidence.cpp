#include "lab/torture/evidence.hpp"

#include <algorithm>
#include <fstream>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "sql/torture.hpp"

namespace seriatim::torture {

namespace {

/// Clocks drift apart in a long run, and a claim counts only once it is committed.
constexpr std::int64_t clock_margin_ns = 500'000'000;

std::int64_t number_of(const std::optional<std::string>& text) {
  return text && !text->empty() ? std::stoll(*text) : 0;
}

std::vector<lab::Row> committed_rows(Session& session, const Stage& stage, const Stream& stream) {
  std::vector<lab::Row> rows;
  const auto statement = stage.on(sql::torture::committed_rows, stream.table);
  for (std::int64_t after = -1;;) {
    const auto page = session.run(statement, {stream.table, std::to_string(after)});
    if (page.empty()) break;
    for (const auto& row : page) {
      rows.push_back(
          {number_of(row.at(0)), number_of(row.at(1)), hash_of(row.at(3).value_or("")), row.at(2)});
    }
    after = rows.back().id;
  }
  if (stream.order_by == OrderBy::created_at) {
    std::sort(rows.begin(), rows.end(), [](const lab::Row& a, const lab::Row& b) {
      return std::tie(a.created_at_us, a.id) < std::tie(b.created_at_us, b.id);
    });
  }
  return rows;
}

void add_cursors(Session& session, const Stage& stage, Evidence& evidence) {
  for (const auto& row : session.run(sql::torture::cursors, {stage.prefix()})) {
    if (row.at(0) != evidence.stream) continue;
    evidence.cursors[static_cast<unsigned>(number_of(row.at(1)))] = {
        number_of(row.at(2)), static_cast<std::uint64_t>(number_of(row.at(3))),
        static_cast<std::uint64_t>(number_of(row.at(4))), row.at(5).value_or(""),
        row.at(6).value_or("") + ' ' + row.at(7).value_or("")};
  }
}

/// The journal's times are the server's wall clock, the receiver's are ours and monotonic.
void add_claims(Session& session, const Stage& stage, Evidence& evidence) {
  const auto server_now = session.number(sql::torture::clock) * 1'000;
  const auto offset = monotonic_now() - server_now;
  for (const auto& row : session.run(sql::torture::claims, {stage.prefix()})) {
    if (row.at(0) != evidence.stream) continue;
    evidence.claims[static_cast<unsigned>(number_of(row.at(1)))].push_back(
        {static_cast<std::uint64_t>(number_of(row.at(2))),
         number_of(row.at(3)) * 1'000 + offset + clock_margin_ns});
  }
}

void add_odd_steps(Session& session, const Stage& stage, Evidence& evidence) {
  if (!stage.facts().watches_cursors) return;
  for (const auto& row : session.run(stage.on(sql::torture::odd_steps, "plain"))) {
    if (row.at(0) != evidence.stream) continue;
    evidence.odd_moves.push_back(
        {row.at(2) == "t", "lane " + row.at(1).value_or("") + ": " + row.at(3).value_or("")});
  }
}

void add_ledger(Session& session, const Stage& stage, Evidence& evidence) {
  if (!stage.facts().ledger) return;
  for (const auto& row : session.run(sql::torture::ledger, {stage.prefix()})) {
    if (row.at(0) != evidence.stream) continue;
    evidence.ledger[static_cast<unsigned>(number_of(row.at(1)))].push_back(number_of(row.at(2)));
  }
}

void add_keys_held(Session& session, const Stage& stage, Evidence& evidence) {
  for (const auto& row : session.run(sql::torture::keys_held, {stage.prefix()})) {
    if (row.at(0) == evidence.stream) {
      evidence.keys_held = static_cast<std::size_t>(number_of(row.at(1)));
    }
  }
}

double at_share(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

Evidence gather_evidence(const Settings& settings, const Stage& stage, const Receiver& receiver,
                         const Faults& faults, unsigned number) {
  const auto& stream = stage.streams()[number];
  Session session(stage.url(), stage.prefix() + "checker");
  Evidence evidence;
  evidence.stream = stream.process;
  evidence.committed = committed_rows(session, stage, stream);
  evidence.calls = receiver.calls(number);
  add_cursors(session, stage, evidence);
  add_claims(session, stage, evidence);
  add_odd_steps(session, stage, evidence);
  add_ledger(session, stage, evidence);
  add_keys_held(session, stage, evidence);
  evidence.one_lane_a_key = settings.lanes > 1;
  evidence.by_key = settings.by_key();
  evidence.in_flight = settings.in_flight;
  evidence.commit_every = settings.commit_every();
  evidence.holds_keys = settings.hold_key;
  evidence.zombies_allowed = settings.any_fault();
  evidence.strays_allowed = settings.net;
  evidence.repeats_allowed = faults.count_for(stream.process) * evidence.repeats_a_fault();
  for (const auto& [lane, lost] : receiver.answers_lost(number)) evidence.repeats_allowed += lost;
  return evidence;
}

void write_calls(const Evidence& evidence, const std::filesystem::path& folder) {
  std::ofstream file(folder / ("calls-" + evidence.stream + ".csv"));
  file << "begun_ns,ended_ns,lane,epoch,sequence,attempt,id,previous_id,accepted,late,body_hash\n";
  for (const auto& call : evidence.calls) {
    file << call.begun << ',' << call.ended << ',' << call.lane << ',' << call.epoch << ','
         << call.sequence << ',' << call.attempt << ',' << call.id << ',' << call.previous_id << ','
         << call.accepted << ',' << call.late << ',' << call.body << '\n';
  }
}

Latency measure_latency(const Stage& stage, const Receiver& receiver, const CommitTimes& commits) {
  std::vector<double> all;
  for (unsigned i = 0; i < stage.streams().size(); ++i) {
    const auto times = commits.find(stage.streams()[i].table);
    if (times == commits.end()) continue;
    std::unordered_map<std::int64_t, std::int64_t> committed(times->second.begin(),
                                                             times->second.end());
    std::unordered_set<std::int64_t> seen;
    for (const auto& call : receiver.calls(i)) {
      const auto commit = committed.find(call.id);
      if (!call.accepted || commit == committed.end() || !seen.insert(call.id).second) continue;
      all.push_back(static_cast<double>(std::max<std::int64_t>(call.begun - commit->second, 0)) /
                    1e6);
    }
  }
  std::sort(all.begin(), all.end());
  return {all.size(), at_share(all, 0.5), at_share(all, 0.9), at_share(all, 0.99),
          at_share(all, 1.0)};
}

}  // namespace seriatim::torture
