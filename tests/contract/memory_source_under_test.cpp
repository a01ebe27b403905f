#include "contract/source_under_test.hpp"
#include "seriatim/testing/memory_source.hpp"

namespace seriatim::testing {

namespace {

Record row(const std::string& payload) {
  Record record;
  record.payload = payload;
  return record;
}

bool is_wanted(const Record& record) {
  return record.payload != unwanted;
}

class MemoryUnderTest final : public SourceUnderTest {
 public:
  explicit MemoryUnderTest(Shape shape)
      : filtered_(shape.filtered), memory_(shape.order, shape.filtered ? is_wanted : nullptr) {}

  Source& source() override { return memory_; }
  std::string append(const std::string& payload) override {
    if (filtered_) memory_.append(row(unwanted));
    return memory_.append(row(payload));
  }
  std::unique_ptr<Transaction> begin() override { return std::make_unique<Open>(memory_.begin()); }
  void pause(const LaneId& lane) override { memory_.pause(lane); }
  void resume(const LaneId& lane) override { memory_.resume(lane); }
  void hold(const LaneId& lane, bool on) override { memory_.hold(lane, on); }
  void retry(const LaneId& lane) override { memory_.retry(lane); }
  void skip(const LaneId& lane, const std::string& id) override { memory_.skip(lane, id); }
  void redrive(const LaneId& lane) override { memory_.redrive(lane.process); }
  void drop_sessions() override { memory_.drop_sessions(); }

 private:
  class Open final : public Transaction {
   public:
    explicit Open(std::unique_ptr<MemorySource::Transaction> transaction)
        : transaction_(std::move(transaction)) {}
    std::string append(const std::string& payload) override {
      return transaction_->append(row(payload));
    }
    void commit() override { transaction_->commit(); }

   private:
    std::unique_ptr<MemorySource::Transaction> transaction_;
  };

  bool filtered_;
  MemorySource memory_;
};

}  // namespace

std::unique_ptr<SourceUnderTest> make_memory_source(Shape shape) {
  return std::make_unique<MemoryUnderTest>(shape);
}

}  // namespace seriatim::testing
