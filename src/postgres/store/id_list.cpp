#include "postgres/store/id_list.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

namespace seriatim::postgres {

std::vector<std::string> ids_from_json(std::string_view json) {
  std::vector<std::string> ids;
  const auto list = boost::json::parse(json);
  for (const auto& id : list.as_array()) {
    ids.emplace_back(id.as_string());
  }
  return ids;
}

}  // namespace seriatim::postgres
