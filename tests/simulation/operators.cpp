#include "simulation/operators.hpp"

namespace seriatim::simulation {

void Operators::start() {
  const auto mean = stage_.setup.operator_act;
  if (mean == 0) return;
  stage_.scheduler.after(stage_.random.between(1, 2 * mean), [this] {
    if (stage_.faults_over) return;
    act();
    start();
  });
}

void Operators::act_once() {
  if (!server_.is_up() || server_.cursors().is_locked()) {
    return stage_.scheduler.after(millisecond, [this] { act_once(); });
  }
  act();
}

void Operators::act() {
  if (!server_.is_up() || server_.cursors().is_locked()) return;
  const auto row = server_.cursors().row();
  stage_.one_of(2) == 0 ? pause_or_resume(row) : retry_or_skip(row);
}

void Operators::look_after() {
  stage_.scheduler.after(stage_.random.between(100, 500) * millisecond, [this] {
    const auto row = server_.cursors().row();
    if (server_.is_up() && !server_.cursors().is_locked()) {
      if (row.state == Cursor::State::paused) pause_or_resume(row);
      if (row.state == Cursor::State::halted) retry_or_skip(row);
    }
    look_after();
  });
}

void Operators::pause_or_resume(const Cursor& row) {
  const bool paused = row.state == Cursor::State::paused;
  if (row.state == Cursor::State::halted) return;
  stage_.trace(stage_.now(), "operator", [&] { return paused ? "resume" : "pause"; });
  server_.cursors().set_state(paused ? Cursor::State::running : Cursor::State::paused);
}

void Operators::retry_or_skip(const Cursor& row) {
  const bool stands = row.state == Cursor::State::halted || row.state == Cursor::State::retrying;
  if (!stands) return;
  if (!row.row_id || stage_.one_of(2) == 0) return mend_and_retry(row);
  skip(*row.row_id);
}

void Operators::mend_and_retry(const Cursor& row) {
  stage_.trace(stage_.now(), "operator", [] { return "retry"; });
  if (row.row_id && stage_.one_of(2) == 0) receiver_.mend(*row.row_id);
  server_.cursors().set_state(Cursor::State::running);
}

/// Only the row the lane stands at, and only by its name.
void Operators::skip(const std::string& row_id) {
  const auto& cursors = server_.cursors();
  const auto waiting = server_.table().rows_after(cursors.row().position);
  if (waiting.empty() || std::to_string(waiting.front().id) != row_id) return;
  stage_.trace(stage_.now(), "operator", [&] { return "skip " + row_id; });
  server_.cursors().skip(position_of(waiting.front()));
}

}  // namespace seriatim::simulation
