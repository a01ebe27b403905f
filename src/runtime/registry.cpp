#include "seriatim/registry.hpp"

#include <mutex>
#include <utility>

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

void HandlerRegistry::leave_out(std::string name, std::string package) {
  left_out_.insert_or_assign(std::move(name), std::move(package));
}

std::string HandlerRegistry::package_missing_for(const std::string& name) const {
  const auto found = left_out_.find(name);
  return found == left_out_.end() ? std::string() : found->second;
}

}  // namespace seriatim
