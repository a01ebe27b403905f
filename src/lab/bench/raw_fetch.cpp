#include "lab/bench/raw_fetch.hpp"

#include "lab/bench/clock.hpp"
#include "seriatim/error.hpp"
#include "sql/bench.hpp"

namespace seriatim::bench {

namespace {

/// Every byte is read once, as a handler would.
std::size_t read(const Result& batch) {
  std::size_t bytes = 0;
  for (int row = 0; row < batch.rows(); ++row) {
    for (int column = 0; column < batch.columns(); ++column) bytes += batch.at(row, column).size();
  }
  return bytes;
}

}  // namespace

double raw_fetch(Stage& stage, OrderBy order, std::uint64_t after, std::uint64_t rows) {
  const bool by_id = order == OrderBy::id;
  Database database(stage.url());
  database.prepare("fetch", by_id ? sql::bench::fetch_by_id : sql::bench::fetch_by_created_at);
  auto id = std::to_string(after);
  auto stamp = database.query(sql::bench::stamp_of, {id}).text(0, 0);
  const auto batch_rows = std::to_string(stage.settings().batch_rows);
  std::size_t bytes = 0;
  std::uint64_t count = 0;
  const auto began = now_ns();
  while (count < rows) {
    stage.check_stop();
    const auto batch = database.execute("fetch", by_id ? Database::Params{id, batch_rows}
                                                       : Database::Params{stamp, id, batch_rows});
    if (batch.rows() == 0) throw Error("the bench's table has fewer rows than it wrote");
    bytes += read(batch);
    id = batch.text(batch.rows() - 1, 0);
    stamp = batch.text(batch.rows() - 1, 1);
    count += static_cast<std::uint64_t>(batch.rows());
  }
  const auto took = now_ns() - began;
  if (bytes == 0) throw Error("the bench's rows are empty");
  return per_second(count, took);
}

}  // namespace seriatim::bench
