// Of the window: which row is called next, and rows that wait for a rate limit.
#include <algorithm>

#include "core/window.hpp"

namespace seriatim::core {

void Window::wake(Time now) {
  now_ = now;
  if (failed_from_ != nowhere) take_back(&Window::is_held_up);  // they take up calls of others
  while (!paced_.empty() && paced_.begin()->first.first <= now) {
    auto* row = paced_.begin()->second;
    row->paced = false;
    (row->due ? ready_due_ : ready_).emplace(row->place, row);
    paced_.erase(paced_.begin());
  }
}

std::optional<Time> Window::token_at() const {
  if (!pace_.limits()) return std::nullopt;
  std::optional<Time> first;
  const auto take = [&](Time at) { first = std::min(first.value_or(at), at); };
  if (!paced_.empty()) take(paced_.begin()->first.first);
  const bool waits_to_be_announced =
      open_ < most_open() && open_ >= most_announced() && next_ready() != nullptr;
  if (waits_to_be_announced) take(pace_.more_free_at(open_ - calls_, now_));
  if (calls_ >= limits_.in_flight) return first;  // an answer comes first
  for (const auto& [place, row] : callable_) {
    if (!is_held_up(*row)) take(std::max(pace_.free_at(), pace_.key_free_at(key_of(*row))));
  }
  return first;
}

/// With a rate limit no row waits for its call elsewhere once it has its token, so that calls that
/// took long are not followed by many at once; and due rows leave every other token to others.
Window::Row* Window::next_call(Time now) const {
  if (pace_.limits() && calls_ >= limits_.in_flight) return nullptr;
  const auto first_of = [&](auto from) -> Row* {
    const auto found = std::find_if(from, callable_.end(), [&](const auto& callable) {
      return is_callable(*callable.second, now);
    });
    return found == callable_.end() ? nullptr : found->second;
  };
  const bool others_first = pace_.limits() && due_was_last_;
  auto* other = others_first ? first_of(callable_.lower_bound(first_place)) : nullptr;
  return other ? other : first_of(callable_.begin());
}

bool Window::is_callable(const Row& row, Time now) const {
  return !is_held_up(row) && pace_.is_free(key_of(row), now);
}

/// No more than can be called soon.
std::size_t Window::most_announced() const {
  const auto free = pace_.free_soon(now_);
  return free > most_open() ? most_open() : std::min(most_open(), calls_ + free);
}

}  // namespace seriatim::core
