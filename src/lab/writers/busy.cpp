#include "lab/writers/busy.hpp"

#include <thread>

namespace seriatim::lab {

namespace {

class BusyWriter : public Writer {
 public:
  BusyWriter(const Busy& busy, unsigned number, std::uint64_t round)
      : busy_(busy), dice_(busy.seed + number + round * 1'009), session_(busy.url, "writer") {}

  void transact() override {
    std::vector<unsigned> weights;
    for (const auto& shape : busy_.shapes) weights.push_back(shape.weight);
    transact(busy_.shapes[std::discrete_distribution<std::size_t>(weights.begin(),
                                                                  weights.end())(dice_)]);
  }

 private:
  void transact(const Shape& shape) {
    session_.run("BEGIN; SELECT now()");
    pause(shape.before);
    for (unsigned i = 0; i < shape.inserts; ++i) insert(shape);
    if (chance(shape.savepoint)) {
      session_.run("SAVEPOINT s");
      insert(shape);
      session_.run("ROLLBACK TO SAVEPOINT s");
    }
    pause(shape.open);
    if (chance(shape.rollback)) {
      session_.run("ROLLBACK");
      busy_.tally.rolled_back += 1;
    } else {
      session_.run("COMMIT");
      busy_.tally.rows += shape.rows * shape.inserts;
    }
    pause(shape.rest);
  }

  void insert(const Shape& shape) {
    session_.run(shape.insert, shape.values ? shape.values(dice_) : Session::Params{});
  }

  bool chance(double share) { return std::bernoulli_distribution(share)(dice_); }

  void pause(const Pause& pause) {
    const auto most = chance(0.1) ? pause.seldom : pause.most;
    std::uniform_int_distribution<std::int64_t> ms(0, most.count());
    std::this_thread::sleep_for(std::chrono::milliseconds(ms(dice_)));
  }

  const Busy& busy_;
  Dice dice_;
  Session session_;
};

}  // namespace

std::unique_ptr<Writer> Busy::operator()(unsigned number, std::uint64_t round) const {
  return std::make_unique<BusyWriter>(*this, number, round);
}

}  // namespace seriatim::lab
