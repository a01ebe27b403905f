#include "seriatim/version.hpp"

#define SERIATIM_TEXT_OF(number) #number
#define SERIATIM_TEXT(number) SERIATIM_TEXT_OF(number)

namespace seriatim {

std::string_view version() noexcept {
  return SERIATIM_TEXT(SERIATIM_VERSION_MAJOR) "." SERIATIM_TEXT(
      SERIATIM_VERSION_MINOR) "." SERIATIM_TEXT(SERIATIM_VERSION_PATCH);
}

}  // namespace seriatim
