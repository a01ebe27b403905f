#include "seriatim/options.hpp"

#include "fuzz/fuzz_target.hpp"

namespace {

struct ConfigValue {
  explicit ConfigValue(std::string text) { table->values["value"] = {std::move(text), "x.toml:1"}; }
  std::shared_ptr<seriatim::Options::Table> table = std::make_shared<seriatim::Options::Table>();
  seriatim::Problems problems;
  seriatim::Options options{table, problems};
};

}  // namespace

SERIATIM_FUZZ_TARGET(options) {
  using namespace std::chrono;
  using seriatim::fuzz::require;
  ConfigValue value{std::string(input)};
  const auto wait = value.options.duration("value", milliseconds(-1));
  require((wait == milliseconds(-1)) != value.problems.empty(), "a duration or a problem");
  require(wait <= days(366), "a duration is a year at most");
  if (wait >= 0ms) {
    ConfigValue again(std::to_string(wait.count()) + "ms");
    require(again.options.duration("value", milliseconds(-1)) == wait, "it is the same in ms");
  }
  ConfigValue size{std::string(input)};
  constexpr std::size_t none = 12'345'678'987'654;
  const auto bytes = size.options.bytes("value", none);
  require(bytes <= INT64_MAX, "a size has a bound");
  if (size.problems.empty()) {
    ConfigValue again(std::to_string(bytes));
    require(again.options.bytes("value", none) == bytes, "a size is the same in bytes");
  } else {
    require(bytes == none, "a wrong size is the fallback");
  }
  ConfigValue other{std::string(input)};
  (void)other.options.flag(input, false);
  other.options.finish();  // searches for the nearest of the known keys
  require(other.problems.lines().size() <= 1, "one problem is reported once");
}
