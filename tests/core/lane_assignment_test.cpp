// Which lanes an instance is to hold, from a read of who runs the process.
#include "core/lane_assignment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

using namespace seriatim;
using namespace seriatim::core;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr Time start{std::chrono::hours(1)};

/// "aabb.": lanes 0 and 1 are a's, 2 and 3 b's, 4 is nobody's. In `free` a '!' marks a lane whose
/// holder is named and has lost it.
Membership membership(const std::vector<std::string>& instances, const std::string& holders,
                      const std::string& lost = {}) {
  Membership membership;
  membership.instances = instances;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    const bool nobody = holders[i] == '.';
    const bool gone = i < lost.size() && lost[i] == '!';
    membership.lanes.push_back({nobody ? "" : std::string(1, holders[i]), nobody || gone});
  }
  return membership;
}

/// "x" where a lane is wanted.
std::string text(const std::vector<bool>& wanted) {
  std::string text;
  for (const bool one : wanted) text += one ? 'x' : '.';
  return text;
}

std::string decided(const std::string& instance, const Membership& seen) {
  LaneAssignment share(instance, static_cast<unsigned>(seen.lanes.size()));
  return text(share.decide(seen, start));
}

/// Instances that read one after another, each seeing what those before it did.
class Meeting {
 public:
  Meeting(unsigned instances, std::string holders) : holders_(std::move(holders)) {
    for (unsigned i = 0; i < instances; ++i) join(std::string(1, static_cast<char>('a' + i)));
  }
  void join(const std::string& name) {
    shares_.emplace(name, LaneAssignment(name, static_cast<unsigned>(holders_.size())));
  }
  void dies(char name) {
    shares_.erase(std::string(1, name));
    std::replace(holders_.begin(), holders_.end(), name, '.');
  }
  /// How many lanes changed hands.
  unsigned round() {
    unsigned moves = 0;
    std::vector<std::string> names;
    for (const auto& [name, share] : shares_) names.push_back(name);
    for (auto& [name, share] : shares_) {
      const auto& wanted = share.decide(membership(names, holders_), start);
      for (std::size_t lane = 0; lane < holders_.size(); ++lane) {
        auto& holder = holders_[lane];
        const char before = holder;
        if (wanted[lane] && holder == '.') holder = name[0];
        if (!wanted[lane] && holder == name[0]) holder = '.';
        moves += holder != before && holder != '.';
      }
    }
    return moves;
  }
  [[nodiscard]] bool even() const {
    std::map<char, int> held;
    for (const auto& [name, share] : shares_) held[name[0]] = 0;
    for (const char holder : holders_) held[holder] += 1;
    if (held.contains('.')) return false;
    const auto [least, most] = std::minmax_element(
        held.begin(), held.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most->second - least->second <= 1;
  }
  [[nodiscard]] const std::string& holders() const { return holders_; }

 private:
  std::map<std::string, LaneAssignment> shares_;
  std::string holders_;
};

}  // namespace

TEST_SUITE("lane share") {
  TEST_CASE("as many as the others or one more; who holds most keeps the odd ones") {
    CHECK(fair_shares(8, {8, 0, 0}) == std::vector<unsigned>{3, 3, 2});
    CHECK(fair_shares(8, {0, 4, 4}) == std::vector<unsigned>{2, 3, 3});
    CHECK(fair_shares(4, {2, 2, 0}) == std::vector<unsigned>{2, 1, 1});
    CHECK(fair_shares(2, {0, 1, 0, 1}) == std::vector<unsigned>{0, 1, 0, 1});
    CHECK(fair_shares(1, {}) == std::vector<unsigned>{});
  }

  TEST_CASE("an instance alone wants every lane") {
    CHECK(decided("a", membership({}, "....")) == "xxxx");
    CHECK(decided("a", membership({"a"}, "a.a.")) == "xxxx");
  }

  TEST_CASE(
      "an instance that joins is given lanes by those who have most, and takes only free ones") {
    CHECK(decided("a", membership({"a", "b"}, "aaaa")) == "xx..");
    CHECK(decided("b", membership({"a", "b"}, "aaaa")) == "....");
    CHECK(decided("b", membership({"a", "b"}, "aa..")) == "..xx");
  }

  TEST_CASE("lanes evenly held stay where they are, whoever holds the odd ones") {
    for (const auto* holders : {"aaabbbcc", "aabbbccc", "abcabcab"}) {
      for (const auto* name : {"a", "b", "c"}) {
        const auto wanted = decided(name, membership({"a", "b", "c"}, holders));
        for (std::size_t lane = 0; lane < 8; ++lane) {
          CHECK((wanted[lane] == 'x') == (holders[lane] == name[0]));
        }
      }
    }
  }

  TEST_CASE("what a dead instance held is taken in shares, at the first read") {
    CHECK(decided("a", membership({"a", "b"}, "aaabbbcc", "      !!")) == "xxx...x.");
    CHECK(decided("b", membership({"a", "b"}, "aaabbbcc", "      !!")) == "...xxx.x");
  }

  TEST_CASE("a lane that an instance which runs has lost is left to it, unless it has its share") {
    CHECK(decided("b", membership({"a", "b"}, "abbb", "!   ")) == ".xx.");
    CHECK(decided("b", membership({"a", "b"}, "aaab", "!   ")) == "x..x");
  }

  TEST_CASE("a holder that does not share is nobody to wait for, nor to take from") {
    CHECK(decided("a", membership({"a"}, "zzz.")) == "...x");
  }

  TEST_CASE(
      "a lane that nobody takes is anyone's, who keeps it a while though it is above the share") {
    LaneAssignment share("a", 4);
    const auto seen = membership({"a", "b"}, "aa..");
    CHECK(text(share.decide(seen, start)) == "xx..");
    CHECK(text(share.decide(seen, start + 4900ms)) == "xx..");
    CHECK(text(share.decide(seen, start + 5s)) == "xxxx");
    const auto taken = membership({"a", "b"}, "aaaa");
    CHECK(text(share.decide(taken, start + 64s)) == "xxxx");
    CHECK(text(share.decide(taken, start + 65s)) == "xx..");
  }

  TEST_CASE("cursors cut into another number of lanes: every lane is claimed, and says so") {
    LaneAssignment share("a", 3);
    Membership seen;
    seen.lanes.resize(3);
    seen.cut_otherwise = true;
    CHECK(text(share.decide(seen, start)) == "xxx");
  }

  TEST_CASE("a lane gone for is gone for at the next read too, though others have come meanwhile") {
    LaneAssignment share("b", 6);
    CHECK(text(share.decide(membership({"a", "b"}, "......"), start)) == "...xxx");
    CHECK(text(share.decide(membership({"a", "b", "c"}, "......"), start)) == "...xx.");
  }

  TEST_CASE("those that see the same go for lanes of their own") {
    const std::vector<std::string> all{"a", "b", "c"};
    const auto seen = membership(all, "aaa......");
    CHECK(decided("b", seen) == "...xxx...");
    CHECK(decided("c", seen) == "......xxx");
  }
  TEST_CASE("… and where not all are free yet, those named first have them first") {
    const auto seen = membership({"a", "b", "c"}, "aaaaa....");
    CHECK(decided("b", seen) == ".....xxx.");
    CHECK(decided("c", seen) == ".....xx.x");  // one, and two that b may be unable to take
  }
  TEST_CASE("a hundred instances read a hundred times a second, not three hundred") {
    const auto pause = [](unsigned instances, milliseconds standby) {
      Membership seen = membership({}, std::string(100, '.'));
      for (unsigned i = 0; i < instances; ++i) seen.instances.push_back(std::to_string(i));
      LaneAssignment share("0", 100);
      (void)share.decide(seen, start);
      return share.until_next_read(standby);
    };
    CHECK(pause(2, 300ms) == 300ms);
    CHECK(pause(30, 300ms) == 300ms);
    CHECK(pause(50, 300ms) == 500ms);
    CHECK(pause(100, 300ms) == 1s);
    CHECK(pause(1'000, 300ms) == 1s);  // it reports then in any case
    CHECK(pause(1'000, 2s) == 2s);
  }
  TEST_CASE("whoever joins and dies, lanes are even after a few reads and then stay") {
    std::mt19937 random(7);
    for (int story = 0; story < 2'000; ++story) {
      const auto lanes = 2 + random() % 15;
      const auto instances = 1 + random() % 6;
      std::string holders;
      for (std::size_t i = 0; i < lanes; ++i) {
        const auto who = random() % (instances + 1);
        holders += who == instances ? '.' : static_cast<char>('a' + who);
      }
      CAPTURE(holders);
      CAPTURE(instances);
      Meeting meeting(static_cast<unsigned>(instances), holders);
      const auto settle = [&] {
        for (int round = 0; round < 3; ++round) meeting.round();
        CHECK(meeting.even());
        CHECK(meeting.round() == 0);
      };
      settle();
      meeting.join("x");
      settle();
      meeting.dies('a');
      settle();
    }
  }

  TEST_CASE("one that joins takes its share and no lane more has moved") {
    Meeting meeting(3, "aaabbbcc");
    meeting.join("d");
    unsigned moves = 0;
    for (int round = 0; round < 4; ++round) moves += meeting.round();
    CHECK(moves == 2);
    CHECK(meeting.even());
  }
}
