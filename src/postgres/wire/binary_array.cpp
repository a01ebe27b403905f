#include "postgres/wire/binary_array.hpp"

#include <algorithm>
#include <array>
#include <concepts>

namespace seriatim::postgres {

namespace {

constexpr std::int32_t text_oid = 25;  // PostgreSQL: catalog/pg_type.dat
constexpr std::int32_t bigint_oid = 20;

void append(std::string& out, std::signed_integral auto value) {
  std::array<char, sizeof value> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(value >> (8 * (bytes.size() - 1 - i)));
  }
  out.append(bytes.data(), bytes.size());
}

void append_header(std::string& out, std::size_t elements, bool nulls, std::int32_t type) {
  append(out, std::int32_t{elements == 0 ? 0 : 1});
  append(out, std::int32_t{nulls ? 1 : 0});
  append(out, type);
  if (elements == 0) return;
  append(out, static_cast<std::int32_t>(elements));
  append(out, std::int32_t{1});
}

std::string binary_of(const std::vector<std::optional<std::string_view>>& values) {
  std::size_t bytes = 20;
  bool nulls = false;
  for (const auto& value : values) {
    bytes += 4 + (value ? value->size() : 0);
    nulls = nulls || !value;
  }
  std::string out;
  out.reserve(bytes);
  append_header(out, values.size(), nulls, text_oid);
  for (const auto& value : values) {
    append(out, value ? static_cast<std::int32_t>(value->size()) : std::int32_t{-1});
    if (value) out += *value;
  }
  return out;
}

std::string binary_of(const std::vector<std::int64_t>& values) {
  std::string out;
  out.reserve(20 + 12 * values.size());
  append_header(out, values.size(), false, bigint_oid);
  for (const auto value : values) {
    append(out, std::int32_t{8});
    append(out, value);
  }
  return out;
}

}  // namespace

std::string binary_array(const Transaction::Column& column) {
  return std::visit([](const auto& values) { return binary_of(values); }, column);
}

}  // namespace seriatim::postgres
