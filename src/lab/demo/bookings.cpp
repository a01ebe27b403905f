#include "lab/demo/bookings.hpp"

#include <sql/demo.hpp>

namespace seriatim::lab {

namespace {

constexpr unsigned people = 4;

Session::Params someone(Dice& dice) {
  const auto customer = std::uniform_int_distribution(1, 50)(dice);
  const auto number = std::uniform_int_distribution(100'000, 999'999)(dice);
  return {std::to_string(customer), "+4530" + std::to_string(number)};
}

/// Most transactions are short, one in ten stays open for up to a second.
Shape booking() {
  using std::chrono::milliseconds;
  const Pause pause{milliseconds(60), milliseconds(1'000)};
  return {.insert = std::string(sql::demo::insert_booking),
          .values = someone,
          .rollback = 0.05,
          .open = pause,
          .rest = pause};
}

}  // namespace

Bookings::Bookings(const std::string& url)
    : session_(url, "bookings"),
      writers_({.count = people, .open = Busy{url, {booking()}, tally_}}) {
  session_.run(sql::demo::create_bookings);
}

std::string Bookings::book(const std::string& phone) {
  return session_.run(sql::demo::insert_booking, {"1", phone}).at(0).at(0).value();
}

void Bookings::correct_phone(const std::string& id, const std::string& phone) {
  session_.run(sql::demo::correct_phone, {id, phone});
}

std::vector<std::string> Bookings::committed_ids() {
  std::vector<std::string> ids;
  for (const auto& row : session_.run(sql::demo::committed_ids)) ids.push_back(row.at(0).value());
  return ids;
}

}  // namespace seriatim::lab
