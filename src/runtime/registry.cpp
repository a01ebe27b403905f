#include "seriatim/registry.hpp"

#include <mutex>
#include <utility>

#include "runtime/nearest.hpp"
#include "seriatim/error.hpp"

namespace seriatim {

struct HandlerRegistry::Notes {
  std::mutex mutex;
  NoteWriter writer;
};

HandlerRegistry::HandlerRegistry() : notes_(std::make_shared<Notes>()) {}

void HandlerRegistry::note_to(NoteWriter writer) {
  const std::lock_guard lock(notes_->mutex);
  notes_->writer = std::move(writer);
}

NoteWriter HandlerRegistry::notes() const {
  return [notes = notes_](const HandlerNote& note) {
    const std::lock_guard lock(notes->mutex);
    if (notes->writer) notes->writer(note);
  };
}

void HandlerRegistry::add(HandlerKind kind) {
  auto name = kind.name;
  kinds_.insert_or_assign(std::move(name), std::move(kind));
}

const HandlerKind* HandlerRegistry::find(const std::string& name) const {
  const auto found = kinds_.find(name);
  return found == kinds_.end() ? nullptr : &found->second;
}

std::vector<std::string> HandlerRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds_) names.push_back(name);
  return names;
}

HandlerFactory HandlerRegistry::make(const std::string& kind, const Settings& settings) const {
  const auto* found = find(kind);
  if (found == nullptr) throw ConfigError(why_missing(kind));
  Problems problems;
  Options options(settings.table(kind), problems);
  auto factory = found->configure(options);
  options.finish();
  if (!problems.empty()) throw ConfigError(problems.text());
  return factory;
}

void HandlerRegistry::leave_out(std::string name, std::string package) {
  left_out_.insert_or_assign(std::move(name), std::move(package));
}

std::string HandlerRegistry::why_missing(const std::string& name) const {
  if (const auto found = left_out_.find(name); found != left_out_.end()) {
    return "handler \"" + name + "\" was left out of this program: it needs " + found->second +
           "; install that and build again (./run build does both)";
  }
  const auto text = "no handler \"" + name + "\"; ";
  if (const auto meant = runtime::nearest(name, names())) {
    return text + "did you mean \"" + *meant + "\"?";
  }
  std::string known;
  for (const auto& one : names()) known += (known.empty() ? "\"" : ", \"") + one + '"';
  return text + (known.empty() ? "none is registered" : "there are " + known);
}

}  // namespace seriatim
