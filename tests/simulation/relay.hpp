#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/lane_driver.hpp"
#include "simulation/fiber.hpp"
#include "simulation/receiver.hpp"
#include "simulation/server.hpp"

namespace seriatim::simulation {

/// A relay process: the code that is shipped (lane driver, lane, session), on fibers, with a store
/// and a reader whose statements are carried out by the simulated server. It may be killed, frozen
/// or stopped whenever it waits.
class Relay {
 public:
  Relay(Stage& stage, Server& server, Receiver& receiver, unsigned number);
  ~Relay();

  void run(bool drain = false);
  void stop();  ///< SIGTERM
  void kill(bool server_notices);
  void freeze(Micros time);
  /// What the sharing of lanes says of this one.
  void want(bool wanted);
  /// What the sharing of lanes sees of the lease.
  void see_lease() { server_.cursors().watch(*watch_); }
  /// Its lanes get no connection.
  void cut_off(bool on) { cut_off_ = on; }
  [[nodiscard]] const std::string& name() const { return name_; }  ///< of this life
  void hint();                                                     ///< NOTIFY
  [[nodiscard]] bool is_running() const { return main_ != nullptr; }
  [[nodiscard]] bool is_frozen() const { return stage_.now() < frozen_until_; }
  /// Comes back by itself when it is killed or stopped.
  void keep_restarting(bool on) { restarting_ = on; }

  /// How the lane was when the process ended in good order.
  [[nodiscard]] LaneState left_as() const { return left_as_; }

  /// The most things done in a second in which no cursor moved.
  [[nodiscard]] unsigned busiest_second() const { return busiest_second_; }

 private:
  using Step = std::function<void()>;
  class Clock;
  class Calls;
  class Lanes;
  class LaneStore;
  class TableReader;
  class Flights;

  // Steps of the process happen later, or never if it is dead; if it is frozen, once it thaws.
  void later(Micros delay, Step step);
  void resume(unsigned life, const Step& step);
  void strike();
  std::int64_t length_of_freeze();
  void die(bool server_notices);
  void end_process();
  void live(bool drain);
  void go_on(const std::weak_ptr<Fiber>& fiber);

  // For the code, on its fiber:
  [[nodiscard]] Fiber& here() const;
  void pass(Micros delay);
  /// A statement happens at the server, whatever becomes of us meanwhile: so it must own what it
  /// uses. Throws SessionLost if the answer is lost.
  template <class Run>
  auto execute(const BackendPtr& backend, Run run) {
    using Answer = decltype(run(*backend));
    auto answer = std::make_shared<std::optional<Answer>>();
    send(backend, [answer, run = std::move(run)](Backend& by) { *answer = run(by); });
    return std::move(**answer);
  }
  void send(const BackendPtr& backend, std::function<void(Backend&)> run);
  /// True if a hint came first.
  bool wait_until(core::Time deadline);
  void count_action();
  [[nodiscard]] core::Time time() const;
  [[nodiscard]] Micros latency() { return stage_.random.between(40, 300); }

  Stage& stage_;
  Server& server_;
  Receiver& receiver_;
  const unsigned number_;
  std::string name_;

  unsigned life_ = 0;            ///< grows with every start and end of the process
  std::shared_ptr<Fiber> main_;  ///< while the process lives
  Fiber* running_ = nullptr;     ///< the one that runs just now
  bool dying_ = false;
  std::weak_ptr<Backend> backend_;  ///< of the newest session
  runtime::LaneDriver* driver_ = nullptr;
  std::stop_source stop_;
  std::shared_ptr<LeaseWatch> watch_;
  std::uint64_t known_epoch_ = 0;  ///< the newest this process has seen
  bool wanted_ = true;
  bool cut_off_ = false;
  bool restarting_ = true;
  LaneState left_as_ = LaneState::stopped;
  Micros frozen_until_ = 0;
  bool waiting_ = false;
  bool hinted_ = false;
  unsigned waits_ = 0;
  std::optional<Cursor> remembered_;  ///< sabotage cursor_not_reread: instead of reading it

  Micros second_ = 0;
  unsigned actions_in_second_ = 0;
  unsigned busiest_second_ = 0;
  std::size_t moves_at_second_ = 0;
};

}  // namespace seriatim::simulation
