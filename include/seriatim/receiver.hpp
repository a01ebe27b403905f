#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seriatim {

// The other end: what a receiver needs to take each record once and in order, whatever happens to
// relays, databases and networks on the way. docs/receivers.md says how to use it.

/// What came with a record: the headers `Seriatim-Process`, `-Lane`, `-Epoch`, `-Sequence`, and the
/// id that follows `<process>:` in `Idempotency-Key`.
struct Delivery {
  std::string process;
  unsigned lane = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  std::string id;
  std::uint64_t set_aside = 0;  ///< `Seriatim-Set-Aside`; 0 where the header is absent
};

/// What a receiver must keep of one lane, best in the transaction of the effect itself.
struct ReceivedLane {
  std::uint64_t epoch = 0;       ///< the highest seen
  std::uint64_t sequence = 0;    ///< of the last record taken or set aside
  std::vector<std::string> ids;  ///< of the last records up to `sequence`, oldest first; empty
                                 ///< for one set aside
  std::uint64_t set_aside = 0;   ///< numbers the sender had set aside by then

  friend bool operator==(const ReceivedLane&, const ReceivedLane&) = default;
};

/// To keep a lane in one column or file. `lane_from` returns nothing if `to_text` did not write it.
[[nodiscard]] std::string to_text(const ReceivedLane& lane);
[[nodiscard]] std::optional<ReceivedLane> lane_from(std::string_view text);

enum class Verdict {
  accept,    ///< the next one: take it, then call `taken`
  repeat,    ///< taken before: acknowledge, do nothing
  stale,     ///< from a holder that was replaced: refuse
  gap,       ///< records before it never came: refuse, a person must check
  conflict,  ///< another record had this number: refuse, a person must check
};

[[nodiscard]] const char* to_string(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::accept;
  std::string reason;  ///< for a person; empty where accepted
};

/// What to keep of each key if the sender keeps order by key (`Seriatim-Order: key`): of the last
/// record taken. As it is at first, nothing was taken.
struct ReceivedKey {
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  std::string id;

  friend bool operator==(const ReceivedKey&, const ReceivedKey&) = default;
};

/// `kept` is of the record's key. Never `gap`: a key has not all numbers.
[[nodiscard]] Judgement judge_by_key(const Delivery& delivery, const ReceivedKey& kept);
/// What to keep once the effect is there.
[[nodiscard]] ReceivedKey taken_of_key(const Delivery& delivery);

/// Judges what comes in and remembers what was taken, for each (process, lane). For order over a
/// whole lane: without `Seriatim-Order: key`.
///
/// Threads: one at a time. The calls of one lane never overlap, but for the last call of a holder
/// that was frozen and replaced: hold a lock, or the lane's row, from `judge` to `taken`.
class Receiver {
 public:
  /// `ids_kept` ids are kept for each lane. Keep at least the sender's `commit_every`, because that
  /// many records may be repeated.
  explicit Receiver(std::size_t ids_kept = 100) : ids_kept_(ids_kept) {}

  /// Remembers the epoch, and nothing else: a record whose effect failed is judged again.
  Judgement judge(const Delivery& delivery);

  /// The effect is there; answers what is to be kept. Throws std::logic_error where the delivery is
  /// not the next one.
  const ReceivedLane& taken(const Delivery& delivery);

  /// A person says that the next record will never come. This is needed only if the sender did not
  /// set the record aside: those are counted in `Seriatim-Set-Aside`. False if `sequence` is not
  /// the next.
  bool set_aside(const std::string& process, unsigned lane, std::uint64_t sequence, std::string id);

  /// What was kept, at start; or what a person decided.
  void restore(const std::string& process, unsigned lane, ReceivedLane kept);
  [[nodiscard]] const ReceivedLane& lane(const std::string& process, unsigned lane);

 private:
  void remember(ReceivedLane& lane, std::uint64_t sequence, std::string id) const;

  std::size_t ids_kept_;
  std::map<std::pair<std::string, unsigned>, ReceivedLane> lanes_;
};

}  // namespace seriatim
