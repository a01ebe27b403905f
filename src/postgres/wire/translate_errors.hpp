#pragma once

#include "postgres/wire/connection.hpp"
#include "postgres/wire/server_error.hpp"

namespace seriatim::postgres {

/// Every word with the server goes through here: what went wrong becomes SessionLost or
/// SourceBroken, and no transaction stays open behind it. For connection*.cpp alone.
template <class F>
auto Connection::translate_errors(F&& work) {
  try {
    return work();
  } catch (...) {
    try {
      if (watch_ && watch_->ended_it()) {
        throw SessionLost(
            "the database did not answer in time, though the network is up: what is "
            "between us and it, or the server itself, has stopped");
      }
      rethrow_translated();
    } catch (const SessionLost&) {
      throw;
    } catch (...) {
      rollback();
      throw;
    }
  }
}

}  // namespace seriatim::postgres
