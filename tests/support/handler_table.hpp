#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "seriatim/options.hpp"

namespace seriatim::testing {

using Value = Options::Value;
using Values = std::map<std::string, Value, std::less<>>;

inline Value value(auto data) {
  return {data, "seriatim.toml:9"};
}
inline Value text(const char* data) {
  return value(std::string(data));
}
inline Value number(std::int64_t data) {
  return value(data);
}

inline std::shared_ptr<const Options::Table> table_of(Values values) {
  return std::make_shared<Options::Table>(
      Options::Table{std::move(values), "seriatim.toml:8", "process.handler"});
}

template <class Config>
struct Read {
  Config config;
  std::string problems;
};

/// What a handler makes of its table, and all complaints about it. `required` is there unless
/// `values` says otherwise.
template <class Config>
Read<Config> read_table(Config (*read_config)(Options&), Values values, Values required = {}) {
  values.merge(required);
  Problems problems;
  Options options(table_of(std::move(values)), problems);
  Read<Config> out{read_config(options), {}};
  options.finish();
  out.problems = problems.text();
  return out;
}

template <class Config>
bool complains(const Read<Config>& read, std::string_view about) {
  CAPTURE(read.problems);
  return read.problems.find(about) != std::string::npos;
}

}  // namespace seriatim::testing
