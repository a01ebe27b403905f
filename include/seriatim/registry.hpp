#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "seriatim/handler.hpp"
#include "seriatim/options.hpp"
#include "seriatim/settings.hpp"

namespace seriatim {

/// What a handler reports in addition to its outcomes, such as a line of a child's standard error.
struct HandlerNote {
  std::string process;
  unsigned lane = 0;
  std::string text;  ///< one line; may hold what a log must redact
};
/// Threads: any; be quick. Throws nothing.
using NoteWriter = std::function<void(const HandlerNote&)>;

/// A kind of handler that configurations can name.
struct HandlerKind {
  std::string name;     ///< `kind = "http"`
  std::string summary;  ///< one line for help texts
  /// Reads its keys from the handler's table, noting problems there; must not connect.
  std::function<HandlerFactory(Options&)> configure;
  /// Takes whole batches: `commit_every` is `batch_rows` unless the configuration sets it.
  bool takes_batches = false;
  /// Says whether it does, if the options decide that; called after `configure`.
  std::function<bool(Options&)> takes_batches_if = nullptr;
};

/// The kinds this program was built with.
class HandlerRegistry {
 public:
  HandlerRegistry();

  void add(HandlerKind kind);
  /// Null when there is no such kind.
  [[nodiscard]] const HandlerKind* find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// What makes the handlers of that kind; the settings are the keys of `[process.handler]`.
  /// Nothing is connected. Throws ConfigError, which names every problem.
  [[nodiscard]] HandlerFactory make(const std::string& kind, const Settings& settings) const;

  /// Notes that a kind is missing because `package` was not found when the program was built.
  void leave_out(std::string name, std::string package);
  /// Why `find` knows no such kind, and what to do: its package is missing, or the name is close to
  /// another.
  [[nodiscard]] std::string why_missing(const std::string& name) const;

  /// Where handlers' notes go: nowhere until this is called.
  void note_to(NoteWriter writer);
  /// A function that a handler keeps. It passes notes to the writer that `note_to` was given last.
  [[nodiscard]] NoteWriter notes() const;

 private:
  struct Notes;

  std::map<std::string, HandlerKind> kinds_;
  std::map<std::string, std::string> left_out_;
  std::shared_ptr<Notes> notes_;
};

}  // namespace seriatim
