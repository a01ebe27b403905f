#include "seriatim/receiver.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace seriatim {

namespace {

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

Judgement stale(const Delivery& delivery, std::uint64_t epoch) {
  return {Verdict::stale, "epoch " + number(delivery.epoch) + " was replaced by epoch " +
                              number(epoch) + ": this sender no longer holds the lane"};
}

Judgement conflict(const Delivery& delivery, const std::string& taken) {
  return {Verdict::conflict, "record " + number(delivery.sequence) + " was row " + taken +
                                 " when it was taken and is row " + delivery.id + " now"};
}

Judgement gap(const Delivery& delivery, const ReceivedLane& lane) {
  const auto first = lane.sequence + 1;
  const auto last = delivery.sequence - 1;
  const auto missing = first == last ? "record " + number(first)
                                     : "records " + number(first) + " to " + number(last);
  return {Verdict::gap, missing + " never came before record " + number(delivery.sequence) +
                            "; if set aside or not wanted, say so to this receiver"};
}

/// At or before the last record taken. A row known by its id may bear another number now: one
/// before it was deleted and never committed. Beyond the ids kept only an operator's rewind can
/// lead.
Judgement seen_before(const Delivery& delivery, const ReceivedLane& lane) {
  const auto& ids = lane.ids;
  const auto back = lane.sequence - delivery.sequence;
  const bool known = std::find(ids.begin(), ids.end(), delivery.id) != ids.end();
  if (known || back >= ids.size()) return {Verdict::repeat, "taken before"};
  return conflict(delivery, ids[ids.size() - 1 - back]);
}

/// The last number that may come next: those between were set aside by the sender.
std::uint64_t next_at_most(const Delivery& delivery, const ReceivedLane& lane) {
  const auto known = std::max(delivery.set_aside, lane.set_aside);
  return lane.sequence + 1 + (known - lane.set_aside);
}

bool read_number(std::string_view& text, std::uint64_t& into, char end) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  const auto length = static_cast<std::size_t>(rest - text.data());
  if (error != std::errc{} || length == text.size() || *rest != end) return false;
  text.remove_prefix(length + 1);
  return true;
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::accept: return "accept";
    case Verdict::repeat: return "repeat";
    case Verdict::stale: return "stale";
    case Verdict::gap: return "gap";
    case Verdict::conflict: return "conflict";
  }
  return "?";
}

Judgement Receiver::judge(const Delivery& delivery) {
  auto& lane = lanes_[{delivery.process, delivery.lane}];
  if (delivery.epoch < lane.epoch) return stale(delivery, lane.epoch);
  lane.epoch = delivery.epoch;
  if (delivery.sequence <= lane.sequence) return seen_before(delivery, lane);
  if (delivery.sequence > next_at_most(delivery, lane)) return gap(delivery, lane);
  return {};
}

const ReceivedLane& Receiver::taken(const Delivery& delivery) {
  auto& lane = lanes_[{delivery.process, delivery.lane}];
  const bool next =
      delivery.sequence > lane.sequence && delivery.sequence <= next_at_most(delivery, lane);
  if (!next) {
    throw std::logic_error("record " + number(delivery.sequence) + " taken after record " +
                           number(lane.sequence) + ": only an accepted record can be taken");
  }
  const auto kept = std::min<std::uint64_t>(delivery.sequence - lane.sequence - 1, ids_kept_);
  for (std::uint64_t i = 0; i < kept; ++i) remember(lane, lane.sequence, {});
  lane.set_aside = std::max(lane.set_aside, delivery.set_aside);
  remember(lane, delivery.sequence, delivery.id);
  return lane;
}

bool Receiver::set_aside(const std::string& process, unsigned lane, std::uint64_t sequence,
                         std::string id) {
  auto& kept = lanes_[{process, lane}];
  if (sequence != kept.sequence + 1) return false;
  remember(kept, sequence, std::move(id));
  kept.set_aside += 1;
  return true;
}

void Receiver::remember(ReceivedLane& lane, std::uint64_t sequence, std::string id) const {
  lane.sequence = sequence;
  lane.ids.push_back(std::move(id));
  while (lane.ids.size() > ids_kept_) lane.ids.erase(lane.ids.begin());
}

void Receiver::restore(const std::string& process, unsigned lane, ReceivedLane kept) {
  lanes_[{process, lane}] = std::move(kept);
}

const ReceivedLane& Receiver::lane(const std::string& process, unsigned lane) {
  return lanes_[{process, lane}];
}

// --- order by key -------------------------------------------------------------------------------

Judgement judge_by_key(const Delivery& delivery, const ReceivedKey& kept) {
  if (delivery.epoch < kept.epoch) return stale(delivery, kept.epoch);
  // A row whose answer was lost may come again under a later number, as the next of its key.
  const bool again = delivery.id == kept.id;
  if (again || delivery.sequence < kept.sequence) return {Verdict::repeat, "taken before"};
  if (delivery.sequence == kept.sequence) return conflict(delivery, kept.id);
  return {};
}

ReceivedKey taken_of_key(const Delivery& delivery) {
  return {delivery.epoch, delivery.sequence, delivery.id};
}

// "7 42 s3 2:ab 1:c ": epoch, sequence, numbers set aside (where there are), and each id behind its
// length.

std::string to_text(const ReceivedLane& lane) {
  std::string text = number(lane.epoch) + ' ' + number(lane.sequence) + ' ';
  if (lane.set_aside > 0) text += 's' + number(lane.set_aside) + ' ';
  for (const auto& id : lane.ids) text += number(id.size()) + ':' + id + ' ';
  return text;
}

std::optional<ReceivedLane> lane_from(std::string_view text) {
  ReceivedLane lane;
  if (!read_number(text, lane.epoch, ' ') || !read_number(text, lane.sequence, ' ')) return {};
  if (text.starts_with('s')) {
    text.remove_prefix(1);
    if (!read_number(text, lane.set_aside, ' ')) return {};
  }
  while (!text.empty()) {
    std::uint64_t length = 0;
    if (!read_number(text, length, ':') || length >= text.size() || text[length] != ' ') return {};
    lane.ids.emplace_back(text.substr(0, length));
    text.remove_prefix(length + 1);
  }
  if (lane.ids.size() > lane.sequence) return {};
  return lane;
}

}  // namespace seriatim
