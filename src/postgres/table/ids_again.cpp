#include "postgres/table/ids_again.hpp"

#include "postgres/wire/shell_word.hpp"

namespace seriatim::postgres {

std::string ids_again_text(const Table& table, const std::string& process,
                           const std::string& evidence) {
  return "ids of table " + table.name + " began again: " + evidence +
         ". Rows up to the cursor may not have been delivered. Set a sequence forward, and "
         "`retry`. "
         "Deliver rows from the first one that was not: seriatim rewind " +
         shell_word(process) +
         " --to id:FIRST --reason TEXT --yes. If only times were changed: --to id:NEXT, the row "
         "after "
         "the cursor";
}

}  // namespace seriatim::postgres
