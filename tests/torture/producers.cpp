#include "torture/producers.hpp"

#include <pqxx/pqxx>
#include <random>
#include <utility>

namespace seriatim::testing {

namespace {

constexpr const char* create_table = R"sql(
CREATE TABLE IF NOT EXISTS torture (
    id         bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
    writer     integer NOT NULL,
    payload    jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS torture_created_at ON torture (created_at, id);
)sql";

/// One writer: its connection, its dice, and the shapes of transaction it knows.
class Writer {
 public:
  Writer(const Producers::Options& options, unsigned number)
      : options_(options),
        number_(number),
        random_(options.seed * 1'000 + number),
        connection_(options.url) {}

  void transact() {
    const auto shape = draw(100);
    if (shape < options_.prepare_percent) {
      prepare();
    } else {
      plain(shape < options_.prepare_percent + options_.rollback_percent);
    }
  }

  void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(draw(10))); }

 private:
  unsigned draw(unsigned below) { return std::uniform_int_distribution(0U, below - 1)(random_); }

  void stay_open() {
    const bool is_long = draw(100) < options_.long_percent;
    const auto limit = is_long ? static_cast<unsigned>(options_.open_max.count()) : 20U;
    std::this_thread::sleep_for(std::chrono::milliseconds(draw(limit + 1)));
  }

  template <class Transaction>
  void insert(Transaction& transaction) {
    transaction.exec_params(
        "INSERT INTO torture (writer, payload) VALUES ($1, jsonb_build_object('n', $2::int))",
        number_, ++rows_);
  }

  void plain(bool roll_back) {
    pqxx::work transaction(connection_);
    if (draw(2) == 0) stay_open();  // an id of the transaction long before its first row
    const auto rows = 1 + draw(3);
    for (unsigned i = 0; i < rows; ++i) insert(transaction);
    if (draw(100) < options_.savepoint_percent) savepoint(transaction);
    stay_open();
    if (roll_back) {
      transaction.abort();
    } else {
      transaction.commit();
    }
  }

  /// Rows that are taken back, and rows that stay, after them.
  void savepoint(pqxx::work& transaction) {
    transaction.exec("SAVEPOINT a");
    insert(transaction);
    stay_open();
    transaction.exec(draw(2) == 0 ? "ROLLBACK TO SAVEPOINT a" : "RELEASE SAVEPOINT a");
    insert(transaction);
  }

  void prepare() {
    const auto gid = "torture-" + std::to_string(options_.seed) + '-' + std::to_string(number_) +
                     '-' + std::to_string(++rows_);
    pqxx::nontransaction session(connection_);
    session.exec("BEGIN");
    insert(session);
    stay_open();
    session.exec("PREPARE TRANSACTION " + session.quote(gid));
    stay_open();
    session.exec((draw(5) == 0 ? "ROLLBACK PREPARED " : "COMMIT PREPARED ") + session.quote(gid));
  }

  const Producers::Options& options_;
  unsigned number_;
  int rows_ = 0;
  std::mt19937_64 random_;
  pqxx::connection connection_;
};

}  // namespace

Producers::Producers(Options options) : options_(std::move(options)) {
  pqxx::connection connection(options_.url);
  pqxx::work transaction(connection);
  transaction.exec(create_table);
  transaction.commit();
}

Producers::~Producers() = default;

void Producers::start() {
  for (unsigned i = 0; i < options_.writers; ++i) {
    writers_.emplace_back([this, i](const std::stop_token& stop) { write(stop, i); });
  }
}

void Producers::stop() {
  for (auto& writer : writers_) writer.request_stop();
  writers_.clear();
}

/// A writer whose connection is lost (a test restarts the server) goes on with a new one.
void Producers::write(const std::stop_token& stop, unsigned number) {
  while (!stop.stop_requested()) {
    try {
      Writer writer(options_, number);
      while (!stop.stop_requested()) {
        writer.transact();
        transactions_ += 1;
        writer.rest();
      }
    } catch (const pqxx::failure&) {
      reconnects_ += 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

std::vector<std::string> committed_ids(const std::string& url, const std::string& order_by) {
  pqxx::connection connection(url);
  pqxx::work transaction(connection);
  const std::string order = order_by == "id" ? "id" : "created_at, id";
  std::vector<std::string> ids;
  for (const auto& row : transaction.exec("SELECT id FROM torture ORDER BY " + order)) {
    ids.emplace_back(row[0].c_str());
  }
  return ids;
}

}  // namespace seriatim::testing
