#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

#include "lab/torture/producers.hpp"

namespace seriatim::torture {

/// One writer's connection, its dice, and the shapes of transaction it knows.
class Writer : public lab::Writer {
 public:
  /// `rows` counts what this writer ever inserted: its tokens do not repeat over connections.
  Writer(Producers& producers, unsigned number, std::uint64_t round, std::uint64_t& rows);

  /// Of a shape drawn by weight. Throws SqlFailed.
  void transact() override;

 private:
  struct Shape;

  // Shapes: whole transactions.
  void single();
  void long_open();
  void savepoints();
  void rolled_back();
  void prepared();
  void copied();
  void many_rows();
  void several_in_one_message();
  void slow_trigger();
  void update_old();
  void delete_old();

  unsigned draw(unsigned below);
  void stay_open();
  void draw_table();
  [[nodiscard]] std::string draw_key();
  [[nodiscard]] std::string token();
  [[nodiscard]] std::string payload();
  std::int64_t insert(unsigned slow_ms = 0);
  void begin() { session_.run("BEGIN"); }
  void commit(std::uint64_t rows, std::int64_t id);

  Producers& producers_;
  const Stage& stage_;
  unsigned number_;
  std::uint64_t& rows_;
  std::mt19937_64 random_;
  Session session_;
  std::string table_;  ///< where the transaction in flight inserts: plain, parts or a leaf of parts
  unsigned shelf_ = 0;
};

}  // namespace seriatim::torture
