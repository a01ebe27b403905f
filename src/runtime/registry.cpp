#include "seriatim/registry.hpp"

namespace seriatim {

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
