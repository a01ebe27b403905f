#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/lane.hpp"
#include "simulation/receiver.hpp"
#include "simulation/server.hpp"

namespace seriatim::simulation {

/// A relay process: the real core::Lane, and a driver that carries its actions out against the
/// simulated server. It may be killed, frozen or stopped between any two of its steps.
class Relay {
 public:
  Relay(Stage& stage, Server& server, Receiver& receiver, unsigned number);

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
  [[nodiscard]] bool is_running() const { return lane_.has_value(); }
  [[nodiscard]] bool is_frozen() const { return stage_.now() < frozen_until_; }
  /// Comes back by itself when it is killed or stopped.
  void keep_restarting(bool on) { restarting_ = on; }

  /// How the lane stood when the process ended in good order.
  [[nodiscard]] LaneState left_as() const { return left_as_; }

  /// The most actions asked for in a second in which no cursor moved.
  [[nodiscard]] unsigned busiest_second() const { return busiest_second_; }

 private:
  using Step = std::function<void()>;
  using Statement = std::function<core::Event(const BackendPtr&)>;
  struct Look;
  struct CallInHand;
  using LookPtr = std::shared_ptr<Look>;
  using CallPtr = std::shared_ptr<CallInHand>;

  // The driver: one action in, one event out.
  void tell(core::Event event);
  void perform(const core::OpenSession&);
  void perform(const core::ClaimLane&);
  void perform(const core::LookAtCursor&);
  void perform(const core::PollSource&);
  void perform(const core::StartBatch&);
  void perform(const core::CallHandler&);
  void perform(const core::Settle&);
  void perform(const core::ReleaseLane&);
  void perform(const core::CloseSession&);
  void perform(const core::WaitUntil&);
  void perform(const core::Finish&);

  // Steps of our process happen later, or never when it is dead; when it is frozen, once it thaws.
  void later(Micros delay, Step step);
  void resume(unsigned life, const Step& step);
  void strike();
  std::int64_t length_of_freeze();
  void die(bool server_notices);
  void end_process();

  // Statements happen at the server, whatever becomes of us meanwhile.
  void execute(Statement statement);
  void reply(unsigned life, core::Event event);
  void load_parked(core::Event claimed);
  void session_ended();
  void wake(bool early);

  // A poll is three statements, and the second reads in two parts: others act in between. Where
  // late rows are delivered, first of all comes what was started, or what is late.
  void at_server(Micros delay, const LookPtr& look, Step step);
  void read_due(const LookPtr& look);
  void hand_over_again(const LookPtr& look, const std::vector<AsideStore::Row>& batch);
  void look_on(const LookPtr& look);
  void look_for_late_rows(const LookPtr& look);
  void find_late_rows(const LookPtr& look, Micros took);
  void go_before(Round& round, Round late, bool all, unsigned rows_max) const;
  void answer(const LookPtr& look);
  void choose(const Look& look);
  void add(Round& round, const Table::Row& row, const Look& look) const;
  void read_mark(const LookPtr& look);
  [[nodiscard]] bool clock_went_back(const Look& look) const;
  void read_locks(const LookPtr& look);
  void read_ahead(const std::optional<core::PollSource>& then);
  void take_ahead(const LookPtr& look);
  void answer_ahead(Look& look);
  [[nodiscard]] std::size_t rows_ahead() const;
  void read_rows(const LookPtr& look);
  Round settled_of(const std::vector<Table::Row>& rows, const Look& look) const;
  void ask_behind(Backend& session, const Position& cursor) const;
  bool take_behind(const LookPtr& look);
  void forget_rows();

  void begin_call(const CallPtr& call);
  [[nodiscard]] bool knows_loss() const;
  void send_row(const CallPtr& call);
  void row_answered(const CallPtr& call, const Receiver::Answer& answer);
  void advance_early(const CallPtr& call);

  void count_action();
  [[nodiscard]] core::Time time() const;
  [[nodiscard]] const char* who() const { return name_.c_str(); }
  [[nodiscard]] Micros latency() { return stage_.random.between(40, 300); }

  Stage& stage_;
  Server& server_;
  Receiver& receiver_;
  const unsigned number_;
  std::string name_;

  unsigned life_ = 0;  ///< grows with every start and end of the process
  std::optional<core::Lane> lane_;
  BackendPtr backend_;
  std::shared_ptr<LeaseWatch> watch_;
  std::uint64_t known_epoch_ = 0;  ///< the newest this process has seen
  bool stopping_ = false;
  bool wanted_ = true;
  bool cut_off_ = false;
  bool restarting_ = true;
  LaneState left_as_ = LaneState::stopped;
  Micros frozen_until_ = 0;
  bool waiting_ = false;
  unsigned waits_ = 0;
  std::optional<Cursor> remembered_;  ///< sabotage cursor_not_reread: instead of reading it

  Micros second_ = 0;
  unsigned actions_in_second_ = 0;
  unsigned busiest_second_ = 0;
  std::size_t moves_at_second_ = 0;
};

}  // namespace seriatim::simulation
