#include "seriatim/registry.hpp"

#include <mutex>
#include <utility>

#include "seriatim/error.hpp"

namespace seriatim {

namespace {

std::string no_such_kind(const std::string& kind, const HandlerRegistry& registry) {
  if (const auto package = registry.package_missing_for(kind); !package.empty()) {
    return "handler \"" + kind + "\" was left out of this program: it needs " + package;
  }
  std::string known;
  for (const auto& name : registry.names()) known += (known.empty() ? "" : ", ") + name;
  return "no handler \"" + kind + "\" is registered; " +
         (known.empty() ? "none is" : "there are " + known);
}

}  // namespace

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
  if (found == nullptr) throw ConfigError(no_such_kind(kind, *this));
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

std::string HandlerRegistry::package_missing_for(const std::string& name) const {
  const auto found = left_out_.find(name);
  return found == left_out_.end() ? std::string() : found->second;
}

}  // namespace seriatim
