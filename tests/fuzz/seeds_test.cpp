// The checks of the fuzz targets, over the seeds alone.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "fuzz/fuzz_target.hpp"

namespace fs = std::filesystem;

namespace {

/// Ends where its allocation does, so that a sanitizer sees what is read behind it.
std::vector<char> bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("every parser keeps its rules for its seeds") {
  for (const auto& target : seriatim::fuzz::targets()) {
    const auto& parser = target.first;
    const auto& check = target.second;
    CAPTURE(parser);
    std::size_t seeds = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(FUZZ_SEEDS) / parser)) {
      const auto file = entry.path().string();
      CAPTURE(file);
      const auto input = bytes_of(file);
      CHECK_NOTHROW(check({input.data(), input.size()}));
      ++seeds;
    }
    CHECK(seeds >= 2);
  }
}
