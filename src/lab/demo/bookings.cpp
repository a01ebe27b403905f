#include "lab/demo/bookings.hpp"

#include <chrono>
#include <cstdio>
#include <random>
#include <sql/demo.hpp>

#include "postgres/wire/pqxx_compat.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

std::string number_of(std::mt19937& random) {
  return "+4530" + std::to_string(std::uniform_int_distribution(100'000, 999'999)(random));
}

/// Most transactions are short, one in ten stays open for up to a second.
std::chrono::milliseconds open_time(std::mt19937& random) {
  const bool slow = std::uniform_int_distribution(0, 9)(random) == 0;
  return std::chrono::milliseconds(std::uniform_int_distribution(0, slow ? 1'000 : 60)(random));
}

std::string insert(pqxx::transaction_base& transaction, std::int64_t customer,
                   const std::string& phone) {
  const std::string statement(sql::demo::insert_booking);
  return postgres::exec_values(transaction, statement, customer, phone)[0][0].c_str();
}

}  // namespace

Bookings::Bookings(std::string url) : url_(std::move(url)) {
  pqxx::connection connection(url_);
  pqxx::work transaction(connection);
  transaction.exec(std::string(sql::demo::create_bookings));
  transaction.commit();
}

void Bookings::start(unsigned writers) {
  for (unsigned i = 0; i < writers; ++i) {
    writers_.emplace_back([this, i](const std::stop_token& stop) {
      try {
        write(stop, i);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "a writer of bookings stopped: %s\n", error.what());
        broken_ = true;
      }
    });
  }
}

void Bookings::request_stop() {
  for (auto& writer : writers_) writer.request_stop();
}

void Bookings::stop() {
  request_stop();
  writers_.clear();
  if (broken_) throw Error("not every writer of bookings could go on; see above");
}

void Bookings::write(const std::stop_token& stop, unsigned seed) {
  std::mt19937 random(seed);
  pqxx::connection connection(url_);
  while (!stop.stop_requested()) {
    pqxx::work transaction(connection);
    insert(transaction, std::uniform_int_distribution(1, 50)(random), number_of(random));
    std::this_thread::sleep_for(open_time(random));
    if (std::uniform_int_distribution(0, 19)(random) == 0) {
      transaction.abort();
      rolled_back_ += 1;
    } else {
      transaction.commit();
    }
    std::this_thread::sleep_for(open_time(random));
  }
}

std::string Bookings::book(const std::string& phone) {
  pqxx::connection connection(url_);
  pqxx::work transaction(connection);
  auto id = insert(transaction, 1, phone);
  transaction.commit();
  return id;
}

void Bookings::correct_phone(const std::string& id, const std::string& phone) {
  pqxx::connection connection(url_);
  pqxx::work transaction(connection);
  postgres::exec_values(transaction, std::string(sql::demo::correct_phone), id, phone);
  transaction.commit();
}

std::vector<std::string> Bookings::committed_ids() const {
  pqxx::connection connection(url_);
  pqxx::work transaction(connection);
  std::vector<std::string> ids;
  for (const auto& row : transaction.exec(std::string(sql::demo::committed_ids))) {
    ids.emplace_back(row[0].c_str());
  }
  return ids;
}

}  // namespace seriatim::app
