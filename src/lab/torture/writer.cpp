#include "lab/torture/writer.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "sql/torture.hpp"

namespace seriatim::torture {

using std::chrono::milliseconds;

namespace {

constexpr unsigned keys_min = 40;

void sleep_ms(unsigned ms) {
  std::this_thread::sleep_for(milliseconds(ms));
}

/// A third of the writers commit without waiting for the disk.
bool waits_for_disk(unsigned number) {
  return number % 3 != 1;
}

}  // namespace

struct Writer::Shape {
  const char* name;
  unsigned weight;
  void (Writer::*transaction)();
};

Writer::Writer(Producers& producers, unsigned number, std::uint64_t round, std::uint64_t& rows)
    : producers_(producers),
      stage_(producers.stage_),
      number_(number),
      rows_(rows),
      random_(producers.options_.seed * 1'000'003 + number * 1'009 + round),
      session_(stage_.url(), stage_.prefix() + "writer_" + std::to_string(number),
               waits_for_disk(number)) {}

void Writer::transact() {
  static constexpr std::array<Shape, 11> shapes{
      {{"single", 20, &Writer::single},
       {"long", 5, &Writer::long_open},
       {"savepoint", 12, &Writer::savepoints},
       {"rollback", 8, &Writer::rolled_back},
       {"copy", 8, &Writer::copied},
       {"multi_row", 10, &Writer::many_rows},
       {"several_in_one_message", 12, &Writer::several_in_one_message},
       {"slow_trigger", 5, &Writer::slow_trigger},
       {"update_old", 3, &Writer::update_old},
       {"delete_old", 3, &Writer::delete_old},
       {"two_phase", 14, &Writer::prepared}}};
  draw_table();
  unsigned total = 0;
  for (const auto& shape : shapes) total += shape.weight;
  if (!producers_.options_.two_phase) total -= shapes.back().weight;
  auto ticket = draw(total);
  for (const auto& shape : shapes) {
    if (ticket < shape.weight) {
      producers_.note_shape(shape.name);
      (this->*shape.transaction)();
      break;
    }
    ticket -= shape.weight;
  }
  sleep_ms(draw(20));
}

// --- dice ---------------------------------------------------------------------------------------

unsigned Writer::draw(unsigned below) {
  return std::uniform_int_distribution(0U, below - 1)(random_);
}

std::string Writer::draw_key() {
  return "key-" + std::to_string(draw(std::max(keys_min, producers_.options_.keys)));
}

void Writer::stay_open() {
  sleep_ms(draw(draw(12) == 0 ? 300 : 15));
}

void Writer::draw_table() {
  shelf_ = draw(3);
  const auto leaf = "parts_" + std::to_string(shelf_);
  table_ = std::array<std::string, 4>{"plain", "plain", "parts", leaf}[draw(4)];
}

/// Distinguishes one row from every other that was ever inserted, also from one a crash undid whose
/// id was then drawn again.
std::string Writer::token() {
  return "w" + std::to_string(number_) + '.' + std::to_string(++rows_);
}

std::string Writer::payload() {
  const auto size = draw(50) == 0 ? 4'000U : draw(60);
  return R"({"token": ")" + token() + R"(", "text":  ")" + std::string(size, 'x') + R"("})";
}

// --- pieces of transactions ---------------------------------------------------------------------

std::int64_t Writer::insert(unsigned slow_ms) {
  return session_.number(stage_.on(sql::torture::insert_row, table_),
                         {std::to_string(number_), std::to_string(shelf_), draw_key(), payload(),
                          std::to_string(slow_ms)});
}

void Writer::commit(std::uint64_t rows, std::int64_t id) {
  session_.run("COMMIT");
  producers_.note_commit(table_, id);
  producers_.note_rows(table_, rows);
}

// --- shapes -------------------------------------------------------------------------------------

void Writer::single() {
  begin();
  if (draw(2) == 0) stay_open();  // in a transaction long before its first row
  const auto id = insert();
  stay_open();
  commit(1, id);
}

void Writer::long_open() {
  begin();
  const auto id = insert();
  sleep_ms(draw(draw(6) == 0 ? 2'000 : 500));
  insert();
  commit(2, id);
}

/// Rows that are taken back, rows that stay, and rows after them.
void Writer::savepoints() {
  begin();
  const auto id = insert();
  session_.run("SAVEPOINT a");
  insert();
  stay_open();
  const bool back = draw(2) == 0;
  session_.run(back ? "ROLLBACK TO SAVEPOINT a" : "RELEASE SAVEPOINT a");
  insert();
  commit(back ? 2 : 3, id);
}

void Writer::rolled_back() {
  begin();
  insert();
  stay_open();
  session_.run("ROLLBACK");
}

/// Ended by someone else, perhaps after a restart of the server. The name says what it holds.
void Writer::prepared() {
  begin();
  insert();
  if (draw(3) == 0) stay_open();
  const auto kind = table_ == "plain" ? "plain" : "parts";
  session_.run("PREPARE TRANSACTION " + session_.quoted(stage_.prefix() + kind + '_' + token()));
}

void Writer::copied() {
  std::vector<Session::Params> rows(1 + draw(8));
  for (auto& row : rows) {
    row = {std::to_string(number_), std::to_string(shelf_), draw_key(), payload()};
  }
  begin();
  session_.copy(stage_.qualified(table_), {"writer", "shelf", "key", "payload"}, rows);
  stay_open();
  session_.run("COMMIT");
  producers_.note_rows(table_, rows.size());
}

void Writer::many_rows() {
  const auto count = 2 + draw(12);
  begin();
  const auto id = session_.number(stage_.on(sql::torture::insert_rows, table_),
                                  {std::to_string(number_), std::to_string(shelf_), draw_key(),
                                   token(), std::to_string(count)});
  stay_open();
  commit(count, id);
}

/// PostgreSQL gives all of them one now().
void Writer::several_in_one_message() {
  const auto key = session_.quoted(draw_key());
  session_.run(fill(sql::torture::two_transactions, {{"table", stage_.qualified(table_)},
                                                     {"writer", std::to_string(number_)},
                                                     {"shelf", std::to_string(shelf_)},
                                                     {"key", key},
                                                     {"first", session_.quoted(payload())},
                                                     {"second", session_.quoted(payload())}}));
  producers_.note_rows(table_, 2);
}

void Writer::slow_trigger() {
  begin();
  const auto id = insert(1 + draw(150));
  commit(1, id);
}

void Writer::update_old() {
  begin();
  session_.run(stage_.on(sql::torture::touch_old_rows, table_), {stage_.prefix()});
  stay_open();
  session_.run("COMMIT");
}

void Writer::delete_old() {
  const std::string table = table_ == "plain" ? "plain" : "parts";
  begin();
  session_.run(stage_.on(sql::torture::archive_old_rows, table), {stage_.prefix(), table});
  stay_open();
  session_.run("COMMIT");
}

}  // namespace seriatim::torture
