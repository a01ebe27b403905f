#include <stdexcept>

#include "contract/source_under_test.hpp"
#include "seriatim/postgres.hpp"
#include "seriatim/source.hpp"
#include "support/postgres_fixture.hpp"

namespace seriatim::testing {

using std::chrono::milliseconds;

namespace {

std::string insert(const std::string& payload) {
  return "INSERT INTO t (payload) VALUES ('" + payload + "') RETURNING id";
}

class PostgresUnderTest final : public SourceUnderTest {
 public:
  explicit PostgresUnderTest(Shape shape) : filtered_(shape.filtered) {
    database_.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at "
        "timestamptz "
        "NOT NULL DEFAULT clock_timestamp(), payload text); CREATE INDEX ON t (created_at, id)");
    SourceConfig config;
    config.table = "t";
    config.order_by = shape.order;
    if (filtered_) config.where = "payload <> '" + std::string(unwanted) + "'";
    config.insert_latency = milliseconds{0};  // a row may be read in the moment it is committed
    source_ = postgres_source(database_.url(), config);
  }

  Source& source() override { return *source_; }
  std::string append(const std::string& payload) override {
    if (filtered_) database_.run(insert(unwanted));
    return database_.value(insert(payload));
  }
  std::unique_ptr<Transaction> begin() override {
    return std::make_unique<Open>(database_.connect("producer"));
  }

  // An operator's acts as the schema defines them, written in plain SQL.
  void pause(const LaneId& lane) override { set(lane, "state = 'paused'", "true"); }
  void hold(const LaneId& lane, bool on) override {
    set(lane, on ? "hold_until = now() + interval '1 hour'" : "hold_until = NULL", "true");
  }
  void resume(const LaneId& lane) override { set(lane, "state = 'running'", "state = 'paused'"); }
  void retry(const LaneId& lane) override {
    set(lane, "state = 'running', next_attempt_at = NULL, crashes = 0, reason = NULL",
        "state IN ('halted', 'retrying')");
  }
  void skip(const LaneId& lane, const std::string& id) override {
    set(lane,
        "(position_at, position_id, sequence, bucket_ids, state, attempts, crashes, reason, "
        "detail, "
        "failed_id) = (SELECT created_at, id::text, sequence + 1, bucket_ids || id::text, "
        "'running', 0, 0, NULL, NULL, NULL FROM t WHERE id = " +
            id + ")",
        "failed_id = '" + id + "'");
  }

  void redrive(const LaneId& lane) override {
    database_.run("UPDATE seriatim.aside SET state = 'due', due_at = now()");
    set(lane, "epoch = epoch + 1", "true");
  }

  void drop_sessions() override {
    const std::string ours = "application_name LIKE 'seriatim/%' AND datname = current_database()";
    database_.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE " + ours);
    if (!database_.becomes_true("SELECT count(*) = 0 FROM pg_stat_activity WHERE " + ours)) {
      throw std::runtime_error("sessions did not end");
    }
  }

 private:
  class Open final : public Transaction {
   public:
    explicit Open(SqlSession session) : session_(std::move(session)) { session_.run("BEGIN"); }
    std::string append(const std::string& payload) override {
      return session_.value(insert(payload));
    }
    void commit() override { session_.run("COMMIT"); }
    ~Open() override { session_.run("ROLLBACK"); }  // waits until the locks are gone

   private:
    SqlSession session_;
  };

  void set(const LaneId& lane, const std::string& assignments, const std::string& condition) {
    const auto changed = database_.run(
        "UPDATE seriatim.cursor SET " + assignments + " WHERE process_name = '" + lane.process +
        "' AND lane = " + std::to_string(lane.lane) + " AND " + condition + " RETURNING 1");
    if (changed.size() != 1) throw std::runtime_error("the act does not apply: " + condition);
  }

  bool filtered_;
  TestDatabase database_;
  std::shared_ptr<Source> source_;
};

}  // namespace

std::unique_ptr<SourceUnderTest> make_postgres_source(Shape shape) {
  return std::make_unique<PostgresUnderTest>(shape);
}

}  // namespace seriatim::testing
