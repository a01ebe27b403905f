// FAULTS 45: the locale and the time zone a program is started in change nothing of what it does.
#include <doctest/doctest.h>

#include <map>
#include <regex>
#include <sstream>

#include "cli/stage.hpp"

using namespace seriatim::testing;

namespace {

using Surroundings = std::map<std::string, std::string>;

/// Rows with all that a locale or a zone could change: fractions, moments, letters beyond ASCII.
struct ZoneStage : Stage {
  ZoneStage() {
    configure(process("kind = \"log\"\nfile = \"" + log.string() + "\"", "",
                      "key = \"aggregate_id\"\npayload = \"to_jsonb(t)\"\n"
                      "where = \"t.created_at > '2026-01-31 00:00'\""));
    database.run(
        "INSERT INTO seriatim.outbox (aggregate_type, aggregate_id, event_type, payload, "
        "created_at)"
        " SELECT 'Größe', 'İ' || n, 'booked', '{\"price\": 1234.5}',"
        "        timestamptz '2026-01-30 22:00 UTC' + n * interval '1 hour 1.5 seconds'"
        " FROM generate_series(1, 5) AS n");
  }

  [[nodiscard]] Ended in(const Surroundings& surroundings,
                         std::vector<std::string> arguments) const {
    auto with = options();
    with.without_environment.insert(with.without_environment.end(),
                                    {"LC_ALL", "LANG", "LANGUAGE", "TZ", "PGTZ"});
    with.environment = surroundings;
    return run(command(std::move(arguments)), with);
  }

  /// What was handed over, without the number of the holder.
  [[nodiscard]] std::string delivered() const {
    std::ifstream in(log);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return std::regex_replace(text, std::regex("\"epoch\":[0-9]+"), "");
  }

  /// All rows handed over anew, and all that people read, errors included.
  std::string story(const Surroundings& surroundings) {
    std::filesystem::remove(log);
    std::ostringstream all;
    const auto note = [&](std::vector<std::string> arguments) {
      auto ended = in(surroundings, std::move(arguments));
      all << ended.code << ' ' << ended.out << '\n';
      return ended;
    };
    note({"check", "p"});
    note({"peek", "p", "--payload"});
    note({"rewind", "p", "--to", "time:2026-01-31 01:00", "--json"});
    note({"why", "p", "1"});
    const auto drained = in(surroundings, {"run", "--drain"});
    CAPTURE(drained.err);
    CHECK(drained.code == 0);
    all << delivered();
    note({"audit", "p"});
    note({"status", "p"});
    all << note({"rewind", "p", "--to", "noon"}).err;
    all << note({"status", "q"}).err;
    note({"rewind", "p", "--to", "start", "--yes", "--reason", "again"});
    return all.str();
  }
};

/// "2 hours ago" is another text at each read: what it is an age of is compared, not the age.
std::string without_epochs(const std::string& text) {
  static const std::regex changing(
      "epoch [0-9]+, changed at \\S+|rows?, [0-9]+ [^ ]+( [0-9]+ [^ ]+)?");
  return std::regex_replace(text, changing, "…");
}

}  // namespace

TEST_SUITE("surroundings") {
  TEST_CASE(
      "locale and time zone of the program change neither what is delivered nor what is reported") {
    ZoneStage stage;
    stage.story({});  // from here on all lanes were there before
    const auto plain = without_epochs(stage.story({}));
    CAPTURE(plain);
    CHECK(contains(plain, "\"id\":\"5\""));
    CHECK(contains(plain, "2026-01-31T00:00:03.000000Z"));
    CHECK(contains(plain, "complete and in order up to 2026-01-31T03:00:07.500000Z"));
    const std::vector<Surroundings> others{
        {{"LC_ALL", "de_DE.UTF-8"}, {"LANGUAGE", "de"}, {"TZ", "America/St_Johns"}},
        {{"LC_ALL", "C.utf8"}, {"TZ", "Asia/Kathmandu"}, {"PGTZ", "Pacific/Chatham"}},
        {{"LC_ALL", "C"}, {"LANG", "tr_TR.UTF-8"}, {"TZ", ":no/such zone"}, {"PGTZ", "EST5EDT"}},
        {{"LANG", "POSIX"}, {"TZ", "AAA+23:59:59BBB"}, {"PGDATESTYLE", "German, DMY"}}};
    for (const auto& other : others) {
      CAPTURE(other.begin()->second);
      CHECK(without_epochs(stage.story(other)) == plain);
    }
  }
}
