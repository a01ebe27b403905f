#include "fuzz/fuzz_target.hpp"
#include "postgres/table/rewind_place.hpp"

SERIATIM_FUZZ_TARGET(row_place) {
  using namespace seriatim::postgres;
  using seriatim::fuzz::require;
  using Kind = RewindPlace::Kind;
  const std::string text(input);
  const auto place = place_from(text);
  const bool named = place.kind == Kind::start || place.kind == Kind::end;
  require(named == (text == "start" || text == "end"), "start and end are names");
  if (named) return;
  require(text.ends_with(place.text), "a place is what was written");
  const auto again = place_from((place.kind == Kind::row ? "id:" : "time:") + place.text);
  require(again.kind == place.kind && again.text == place.text,
          "a place is the same if said fully");
  const auto start = start_place_from(text);
  const bool other = text == "beginning" || text == "now";
  require(other || (start.kind == place.kind && start.text == place.text), "start is read alike");
}
