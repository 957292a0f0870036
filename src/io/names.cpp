#include "io/names.h"

#include <cctype>

namespace relaygen {

std::string simplified(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

}  // namespace relaygen
